"""``tarantula item``: what is done to one item."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.archive.mirror import convert_item
from tarantula.cli.crawl import Collectors, collect
from tarantula.cli.nouns import group
from tarantula.cli.screen import counting, write_json
from tarantula.config import Config
from tarantula.db import open_database
from tarantula.listings import find_item

app = group("item")


@app.command()
def resume(urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")], collectors: Collectors = 1) -> None:
    """Go on with an item that was interrupted, where it was."""
    with open_database() as database, database.reading() as session:
        name = find_item(session, urn).publication.name
    collect(name, urn, collectors)


@app.command()
def convert(
    urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")],
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Make a copy of an item that can be browsed without a server, or make it anew."""
    installation = Config()
    with open_database(installation) as database, counting(f"Converting {urn}") as progress:
        made = convert_item(installation, database, urn, progress)
    if as_json:
        write_json(made.as_dict())
        return
    for skipped in made.skipped:
        typer.echo(f"Skipped {skipped.url}: {skipped.reason}", err=True)
    typer.echo(f"{made.documents:,} documents, {made.changed:,} with other links, in {made.seconds:.1f} s.")
    typer.echo(f"Open {(made.path / 'index.html').as_uri()}")
