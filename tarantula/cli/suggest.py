"""``tarantula suggest``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from tarantula.cli.terminal import write_json
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.lifecycle.coordinator import check_can_begin
from tarantula.lifecycle.processes import LocalProcessStarter
from tarantula.lifecycle.suggestions import (
    AcceptedSuggestion,
    SuggestionStatus,
    accept_suggestion,
    check_suggestion,
    suggestion_status,
)
from tarantula.store.listings import find_item

POLL_SECONDS = 0.2
"""Seconds between two looks at what became of it."""


def suggest(
    url: Annotated[str, typer.Argument(metavar="URL", help="What should be collected.")],
    wait: Annotated[bool, typer.Option("--wait", help="Until it is collected, or cannot be.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Have a URL collected, under the publication for suggestions."""
    installation = Config()
    with open_database(installation) as database:
        taken = _take(installation, database, url)
        found = _awaited(database, taken) if wait else _became(database, taken)
    if as_json:
        write_json(found.model_dump())
    elif found.is_final and not found.is_collected:
        raise TarantulaError(f"{found.url} could not be collected: {found.reason}")
    else:
        print(f"{found.url} {'is' if found.is_final else 'will be'} collected in {found.urn}.")


def _take(installation: Config, database: Database, url: str) -> AcceptedSuggestion:
    wanted = check_suggestion(installation, database, url)
    check_can_begin(installation, installation.suggestions)
    with database.session() as session:
        taken = accept_suggestion(session, installation.suggestions, wanted, datetime.now(UTC))
    if taken.needs_process:
        LocalProcessStarter(installation).start(taken.publication, taken.urn, ItemState.WAITING)
    return taken


def _awaited(database: Database, taken: AcceptedSuggestion) -> SuggestionStatus:
    """Look until it is done with; an item that ends without it says why."""
    while not (found := _became(database, taken)).is_final:
        with database.reading() as session:
            item = find_item(session, taken.urn)
        if item.state not in ACTIVE_ITEM_STATES:
            raise TarantulaError(f"{taken.urn} has ended without it. {item.reason or ''}".strip())
        time.sleep(POLL_SECONDS)
    return found


def _became(database: Database, taken: AcceptedSuggestion) -> SuggestionStatus:
    with database.reading() as session:
        return suggestion_status(session, taken.urn, taken.document)
