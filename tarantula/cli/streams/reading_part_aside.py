"""``tarantula stream aside``: what was put aside, and what is decided of it."""

from __future__ import annotations

import getpass
from enum import StrEnum
from typing import Annotated

import typer

from tarantula.cli.streams.source_options_part_shown import local_second
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.streams.ingest import put_aside


class ReviewAction(StrEnum):
    """What can be done."""

    LIST = "list"
    ACCEPT = "accept"
    DISMISS = "dismiss"


def aside(
    act: Annotated[ReviewAction, typer.Argument(help="What is done.")] = ReviewAction.LIST,
    which: Annotated[str, typer.Argument(metavar="WHICH", help="A source to list, or the number to decide on.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    by: Annotated[str | None, typer.Option("--by", help="Who decides; the login name unless told.")] = None,
) -> None:
    """Show texts that may not be the value that was meant, and say of one that it is, or is not."""
    if act is ReviewAction.LIST:
        _show(which or None, as_json)
        return
    from tarantula.streams.ingest import decisions

    if not which.isdigit():
        raise TarantulaError(f"Name the number of what was put aside, as `tarantula stream aside {act} 3`.")
    who = by or getpass.getuser()
    with open_database() as database, database.session() as session:
        if act is ReviewAction.ACCEPT:
            value = decisions.accept_text(session, int(which), who)
            print(f"{value.text} is the value. Where it was found is where it is looked for from now on.")
        else:
            decisions.dismiss_text(session, int(which), who)
            print(f"Number {which} is not shown any more.")


def _show(name: str | None, as_json: bool) -> None:
    with open_database() as database, database.reading() as session:
        rows = put_aside.pending_texts(session, name)
    if as_json:
        write_json(
            [
                {
                    "number": row.id,
                    "source": source,
                    "field": row.field,
                    "row": row.row,
                    "read": row.read,
                    "why": row.why,
                    "times": row.times,
                    "at": row.at,
                }
                for source, row in rows
            ]
        )
        return
    drawn = table("number", "source", "field", "row", "read", "times", "last", "why", numbers=("number", "times"))
    for source, row in rows:
        text = row.read if len(row.read) <= 80 else f"{row.read[:79]}…"
        drawn.add_row(str(row.id), source, row.field, row.row, text, str(row.times), local_second(row.at), row.why)
    console().print(drawn)
