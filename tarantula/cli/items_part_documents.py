"""``tarantula documents``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tarantula.core.database import open_database
from tarantula.store import listings


def documents(
    urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")],
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.")] = False,
) -> None:
    """Show an item's documents, one row each."""
    show = _json_line if as_jsonl else _line
    with open_database() as database, database.reading() as session:
        for row in listings.list_documents(session, listings.find_item(session, urn)):
            print(show(row))


def _json_line(row: listings.DocumentRow) -> str:
    return json.dumps(row.as_dict(), ensure_ascii=False)


def _line(row: listings.DocumentRow) -> str:
    size = "" if row.size is None else f"{row.size:,}"
    return f"{row.state:>4} {row.depth:>3} {size:>13}  {row.type or '':<24} {row.url}"
