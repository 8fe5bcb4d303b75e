"""``tarantula suggest``: have one URL collected."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tarantula.cli.terminal import Json, write_json
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES
from tarantula.lifecycle.suggested_urls import SuggestionStatus
from tarantula.services import items, suggestions
from tarantula.services.context import ServiceContext, local_context

POLL_SECONDS = 0.2


def suggest(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL to collect.")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is collected or has failed.")] = False,
    as_json: Json = False,
) -> None:
    """Collect a URL under the publication for suggestions."""
    with local_context() as context:
        status = suggestions.suggest(context, url)
        if wait:
            status = _wait_for_end(context, status)
    if as_json:
        write_json(status.model_dump())
    elif status.is_final and not status.is_collected:
        raise TarantulaError("{url} could not be collected: {reason}", url=status.url, reason=status.reason)
    else:
        print(f"{status.url} {'is' if status.is_final else 'will be'} collected in {status.urn}.")


def _wait_for_end(context: ServiceContext, status: SuggestionStatus) -> SuggestionStatus:
    """Poll until the document has its final state; raise if its item ends without it."""
    while not status.is_final:
        # The item's state is read first: a document that its last collector finished is seen after it.
        state = items.item_state(context, status.urn)
        status = suggestions.get_suggestion(context, status.urn, status.document)
        if not status.is_final and state not in ACTIVE_ITEM_STATES:
            reason = items.get_item(context, status.urn).reason or ""
            raise TarantulaError(f"{status.urn} has ended without it. {reason}".strip())
        time.sleep(POLL_SECONDS)
    return status
