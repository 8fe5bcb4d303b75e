"""``tarantula items`` and ``tarantula documents``: list items, and the documents of one."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.filesize import decimal

from tarantula.cli.terminal import Json, Urn, console, local_time, table, write_json
from tarantula.core.states import SHORTAGE_MEANINGS, ItemState
from tarantula.services import documents as document_service
from tarantula.services import items as item_service
from tarantula.services.context import local_context
from tarantula.store.listings import DocumentRow, ItemRow

NUMBER_COLUMNS = ("documents", "collected", "waiting", "size")


def items(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A publication; default all.")] = None,
    as_json: Json = False,
    attention: Annotated[bool, typer.Option("--attention", help="Only items that need attention.")] = False,
) -> None:
    """List items, one row each."""
    with local_context() as context:
        rows = item_service.list_all_items(context, name)
    if attention:
        rows = [row for row in rows if row.attention]
    if as_json:
        write_json([row.as_dict() for row in rows])
        return
    columns = ["item", "state", "validation", "started", "finished", *NUMBER_COLUMNS, "files", "reason"]
    attention_column = ["attention"] if any(row.attention for row in rows) else []
    drawn = table(*columns, *attention_column, numbers=NUMBER_COLUMNS, whole="item")
    for row in rows:
        drawn.add_row(
            row.urn,
            row.state + "".join(f", paused: {SHORTAGE_MEANINGS[why]}" for why in row.paused_for),
            row.validation,
            local_time(row.started_at),
            local_time(row.finished_at),
            f"{row.documents:,}",
            f"{row.collected:,}",
            f"{row.waiting:,}",
            decimal(row.bytes),
            _files(row),
            row.reason or "",
            *(" ".join(row.attention) for _ in attention_column),
        )
    console().print(drawn)


def _files(row: ItemRow) -> str:
    """Return whether the files of an item were read back, and are whole."""
    if row.read_back is None:
        return ("damaged" if row.damaged else "verified") if row.verified_at else ""
    amount = f"{decimal(row.read_back.done)} of {decimal(row.read_back.total)}"
    return f"verifying: {amount}" if row.state == ItemState.CONVERTING else f"not verified: {amount} read back"


def documents(
    urn: Urn, as_jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.")] = False
) -> None:
    """List the documents of an item, one row each."""
    format_row = _json_line if as_jsonl else _line
    with local_context() as context:
        for row in document_service.iterate_documents(context, urn):
            print(format_row(row))


def _json_line(row: DocumentRow) -> str:
    return json.dumps(row.as_dict(), ensure_ascii=False)


def _line(row: DocumentRow) -> str:
    size = "" if row.size is None else f"{row.size:,}"
    withheld = f" ({row.withheld})" if row.withheld else ""
    return f"{row.state:>4} {row.depth:>3} {size:>13}  {row.type or '':<24} {row.url}{withheld}"
