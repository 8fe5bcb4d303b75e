"""``tarantula server`` and ``tarantula servers``: settings of one server, and the servers of an item."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.publications import registry, servers
from tarantula.publications.servers import servers_of_item
from tarantula.scope.servers import ServerSettings
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


app = noun_group("server")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The server, with its port if that is not the default.")]
WithinPublication = Annotated[
    str | None, typer.Option("--publication", metavar="NAME", help="Only within this publication; in all unless told.")
]


@app.command("set")
def put(
    name: Name,
    publication: WithinPublication = None,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Links from the base document to its farthest one.")
    ] = None,
    documents: Annotated[int | None, typer.Option("--documents", help="Documents of it in one item.")] = None,
    delay: Annotated[float | None, typer.Option("--delay", help="Seconds between two visits to it.")] = None,
    excluded: Annotated[bool | None, typer.Option("--exclude/--no-exclude", help="Whether it is left out.")] = None,
) -> None:
    """Decide something for one server; what is not told stays as it is."""
    typed = {"depth": depth, "documents": documents, "delay": delay, "excluded": excluded}
    changes = {field: value for field, value in typed.items() if value is not None}
    if not changes:
        raise TarantulaError("Nothing was decided: give --depth, --documents, --delay or --exclude.")
    server = servers.server_name(name)
    with open_database() as database, database.session() as session:
        within = registry.get_publication(session, publication) if publication is not None else None
        settings = servers.put_server_settings(session, server, within, changes)
    print(f"{server}{_where(publication)}: {settings_text(settings)}.")


@app.command()
def show(name: Name, as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False) -> None:
    """Show what was decided for one server."""
    with open_database() as database, database.reading() as session:
        rows = servers.stored_server_settings(session, servers.server_name(name))
    if as_json:
        write_json([{"publication": within, **settings.model_dump()} for within, settings in rows])
        return
    drawn = table("publication", "settings")
    for within, settings in rows:
        drawn.add_row(within or "(all)", settings_text(settings))
    console().print(drawn)


@app.command()
def clear(name: Name, publication: WithinPublication = None) -> None:
    """Forget what was decided for one server."""
    server = servers.server_name(name)
    with open_database() as database, database.session() as session:
        within = registry.get_publication(session, publication) if publication is not None else None
        found = servers.clear_server_settings(session, server, within)
    if not found:
        raise TarantulaError(f"Nothing was decided for {server}{_where(publication)}.")
    print(f"What was decided for {server}{_where(publication)} is forgotten.")


@app.command()
def accept(urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")], name: Name) -> None:
    """Take a server into an item, also while it is collected; its refused documents wait."""
    server = servers.server_name(name)
    with open_database() as database, database.session() as session:
        number = servers.accept_server(session, find_item(session, urn), server)
    print(f"{server} is accepted in {urn}; {number:,} of its documents, refused before, wait now.")


def _where(publication: str | None) -> str:
    return f" in {publication}" if publication is not None else ""
