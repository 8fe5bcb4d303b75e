"""``tarantula servers``."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.terminal import console, table, write_json
from tarantula.core.database import open_database
from tarantula.publications.servers import servers_of_item
from tarantula.scope.servers_part_server_settings import ServerSettings
from tarantula.store.listings import find_item

NUMBER_COLUMNS = ("documents", "collected", "waiting", "refused")


def list_servers(
    urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")],
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Show every server that an item met, accepted or not, one row each."""
    with open_database() as database, database.reading() as session:
        rows = servers_of_item(session, find_item(session, urn))
    if as_json:
        write_json([row.as_dict() for row in rows])
        return
    drawn = table("server", *NUMBER_COLUMNS, "settings", numbers=NUMBER_COLUMNS, whole="server")
    for row in rows:
        numbers = (f"{number:,}" for number in (row.documents, row.collected, row.waiting, row.refused))
        drawn.add_row(row.server, *numbers, settings_text(row.settings))
    console().print(drawn)


def settings_text(settings: ServerSettings) -> str:
    """Write the settings that a server has of its own."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in settings.model_dump(exclude_none=True).items())


def _shown(value: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"
