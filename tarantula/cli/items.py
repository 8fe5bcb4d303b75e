"""``tarantula items``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.filesize import decimal

from tarantula.cli.terminal import console, local_time, table, write_json
from tarantula.core.database import open_database
from tarantula.publications import registry
from tarantula.store import listings


def items(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A publication; all unless told.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    attention: Annotated[bool, typer.Option("--attention", help="Only those that somebody should look at.")] = False,
) -> None:
    """Show the items that were collected, one row each."""
    with open_database() as database, database.reading() as session:
        rows = listings.list_items(session, registry.get_publication(session, name) if name is not None else None)
    if attention:
        rows = [row for row in rows if row.attention]
    if as_json:
        write_json([row.as_dict() for row in rows])
        return
    numbers = ("documents", "collected", "waiting", "size")
    columns = ["item", "state", "validation", "started", "finished", *numbers, "reason"]
    asked_for = ["attention"] if any(row.attention for row in rows) else []
    drawn = table(*columns, *asked_for, numbers=numbers, whole="item")
    for row in rows:
        drawn.add_row(
            row.urn,
            row.state,
            row.validation,
            local_time(row.started_at),
            local_time(row.finished_at),
            f"{row.documents:,}",
            f"{row.collected:,}",
            f"{row.waiting:,}",
            decimal(row.bytes),
            row.reason or "",
            *(" ".join(row.attention) for _ in asked_for),
        )
    console().print(drawn)
