"""``tarantula item``: what is done to one item."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.crawl import Collectors, collect
from tarantula.cli.export import export
from tarantula.cli.nouns import group
from tarantula.db import open_database
from tarantula.listings import find_item

app = group("item")
app.command()(export)


@app.command()
def resume(urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")], collectors: Collectors = 1) -> None:
    """Go on with an item that was interrupted, where it was."""
    with open_database() as database, database.reading() as session:
        name = find_item(session, urn).publication.name
    collect(name, urn, collectors)
