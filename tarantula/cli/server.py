"""``tarantula server`` and ``tarantula servers``: settings of one server, and the servers of an item."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, Urn, console, table, write_json, yes_or_no
from tarantula.core.errors import TarantulaError
from tarantula.scope.servers import ServerSettings
from tarantula.services import servers
from tarantula.services.context import local_context

app = noun_group("server")

NUMBER_COLUMNS = ("documents", "collected", "waiting", "refused")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The server, with its port if that is not the default.")]
WithinPublication = Annotated[
    str | None, typer.Option("--publication", metavar="NAME", help="Only within this publication; default all.")
]


@app.command("set")
def put(
    name: Name,
    publication: WithinPublication = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Maximum link depth on this server.")] = None,
    documents: Annotated[int | None, typer.Option("--documents", help="Maximum documents in one item.")] = None,
    delay: Annotated[float | None, typer.Option("--delay", help="Seconds between two requests to it.")] = None,
    excluded: Annotated[bool | None, typer.Option("--exclude/--no-exclude", help="Whether it is excluded.")] = None,
) -> None:
    """Change settings of one server; settings that are left out stay as they are."""
    typed = {"depth": depth, "documents": documents, "delay": delay, "excluded": excluded}
    changes = {field: value for field, value in typed.items() if value is not None}
    if not changes:
        raise TarantulaError("There is nothing to change: give --depth, --documents, --delay or --exclude.")
    with local_context() as context:
        settings = servers.set_server(context, name, publication, **changes)
    print(f"{servers.subject(name, publication)}: {settings_text(settings)}.")


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show the settings of one server."""
    with local_context() as context:
        rows = servers.get_server_settings(context, name)
    if as_json:
        write_json([{"publication": within, **settings.model_dump()} for within, settings in rows])
        return
    drawn = table("publication", "settings")
    for within, settings in rows:
        drawn.add_row(within or "(all)", settings_text(settings))
    console().print(drawn)


@app.command()
def clear(name: Name, publication: WithinPublication = None) -> None:
    """Delete the settings of one server."""
    with local_context() as context:
        servers.clear_server(context, name, publication)
    print(f"The settings of {servers.subject(name, publication)} are deleted.")


@app.command()
def accept(urn: Urn, name: Name) -> None:
    """Accept a server in an item, also while it is collected; its refused documents are queued."""
    with local_context() as context:
        number = servers.accept_server(context, urn, name)
    print(f"{servers.subject(name)} is accepted in {urn}; {number:,} of its documents, refused before, are queued.")


def list_servers(urn: Urn, as_json: Json = False) -> None:
    """List every server of an item, accepted or not, one row each."""
    with local_context() as context:
        rows = servers.list_servers(context, urn)
    if as_json:
        write_json([row.model_dump() for row in rows])
        return
    drawn = table("server", *NUMBER_COLUMNS, "settings", numbers=NUMBER_COLUMNS, whole="server")
    for row in rows:
        numbers = (f"{number:,}" for number in (row.documents, row.collected, row.waiting, row.refused))
        drawn.add_row(row.server, *numbers, settings_text(row.settings))
    console().print(drawn)


def settings_text(settings: ServerSettings) -> str:
    """Format the settings of a server, as ``depth 3, delay 0.5``."""
    return ", ".join(f"{name} {_value_text(value)}" for name, value in settings.model_dump(exclude_none=True).items())


def _value_text(value: float) -> str:
    if isinstance(value, bool):
        return yes_or_no(value)
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"
