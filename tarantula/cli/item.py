"""``tarantula item``: what is done to one item."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from tarantula.archive.mirror.conversion import convert_item
from tarantula.cli.crawl import Collectors, collect, complete
from tarantula.cli.entry_point import EXIT_INTERRUPTED
from tarantula.cli.item_part_decide import reject, show, validate
from tarantula.cli.item_part_export import export
from tarantula.cli.nouns import noun_group
from tarantula.cli.report import show_report
from tarantula.cli.terminal import local_time, progress_bar, write_json
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.control import extend_item, stop_item
from tarantula.lifecycle.coordinator import reopen_item
from tarantula.lifecycle.removal_part_removal import check_removable, remove_item
from tarantula.store.listings import find_item

app = noun_group("item")

STOP_TIMEOUT_SECONDS = 10.0
"""Seconds for which a stop is waited for."""

Urn = Annotated[str, typer.Argument(metavar="URN", help="The item.")]


@app.command()
def stop(urn: Urn) -> None:
    """Stop an item, wherever its collectors are; it can be resumed."""
    with open_database() as database:
        stopped = stop_item(database, urn, datetime.now(UTC)) or _wait_for_stop(database, urn)
    print(f"{urn} is interrupted." if stopped else f"{urn} stops when its collectors hear of it.")


@app.command()
def resume(urn: Urn, collectors: Collectors = 1) -> None:
    """Go on with an item that was interrupted, where it was."""
    with open_database() as database:
        name, state = reopen_item(database, urn)
    if state != ItemState.CONVERTING:
        collect(name, urn, collectors)
        return
    complete(urn)
    show_report(urn)


@app.command()
def extend(
    urn: Urn,
    until: Annotated[str, typer.Argument(metavar="TIME", help="How much longer, as 2d, or until when.")],
) -> None:
    """Give an item more time, also while it is collected."""
    with open_database() as database:
        deadline = extend_item(Config(), database, urn, until, datetime.now(UTC))
        with database.reading() as session:
            state = find_item(session, urn).state
    print(f"{urn} has time until {local_time(deadline)}.")
    if state == ItemState.INTERRUPTED:
        print(f"Go on with `tarantula item resume {urn}`.")


@app.command()
def convert(
    urn: Urn,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Make a copy of an item that can be browsed without a server, or make it anew."""
    installation = Config()
    try:
        with open_database(installation) as database, progress_bar(f"Converting {urn}") as progress:
            made = convert_item(installation, database, urn, progress)
    except KeyboardInterrupt:
        typer.echo(f"Item {urn} is not converted yet. `tarantula item convert {urn}` goes on.", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if as_json:
        write_json(made.as_dict())
        return
    for skipped in made.skipped:
        typer.echo(f"Skipped {skipped.url}: {skipped.reason}", err=True)
    typer.echo(f"{made.documents:,} documents, {made.changed:,} with other links, in {made.seconds:.1f} s.")
    typer.echo(f"Open {(made.path / 'index.html').as_uri()}")


@app.command()
def remove(urn: Urn, yes: Annotated[bool, typer.Option("--yes", help="Do not ask once more.")] = False) -> None:
    """Remove an item for good, with everything that was collected."""
    with open_database() as database:
        with database.reading() as session:
            check_removable(find_item(session, urn))
        if not yes and typer.prompt(f"Everything that was collected will be lost. Type {urn} to remove it") != urn:
            raise TarantulaError(f"That is not {urn}: nothing was removed.")
        lost = remove_item(Config(), database, urn)
    for sentence in lost:
        print(f"A later item loses a body: {sentence}", file=sys.stderr)
    print(f"{urn} is removed.")


for verb in (show, validate, reject, export):
    app.command()(verb)


def _wait_for_stop(database: Database, urn: str) -> bool:
    give_up = time.monotonic() + STOP_TIMEOUT_SECONDS
    while time.monotonic() < give_up:
        with database.reading() as session:
            if find_item(session, urn).state == ItemState.INTERRUPTED:
                return True
        time.sleep(0.1)
    return False
