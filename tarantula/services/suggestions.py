"""URLs that people suggest: collected at once, and watched until they can be found."""

from __future__ import annotations

from datetime import UTC, datetime

from tarantula.accounts.roles import Role
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import check_can_begin
from tarantula.lifecycle.suggestions import SuggestionStatus, accept_suggestion, check_suggestion, suggestion_status
from tarantula.services import processes
from tarantula.services.context import ServiceContext

__all__ = ["SuggestionStatus", "get_suggestion", "suggest"]

MAX_SUBJECT_LENGTH = 300
"""Letters of a URL that the audit log keeps."""


def suggest(context: ServiceContext, url: str) -> SuggestionStatus:
    """Have a URL collected under the publication for suggestions, if its rules take it."""
    # Readers may; but a token of that role is there to look, and writes nothing.
    needed = Role.READER if context.person.token is None else Role.CURATOR
    context.person.check(needed)
    wanted = check_suggestion(context.installation, context.database, url)
    name = context.installation.suggestions
    check_can_begin(context.installation, name)
    begun = dict[str, str]()
    with context.changing("suggest", wanted[:MAX_SUBJECT_LENGTH], needed, begun=begun) as session:
        taken = accept_suggestion(session, name, wanted, datetime.now(UTC))
        begun["urn"] = taken.urn
    if taken.is_left_alone:
        processes.start(context, name, taken.urn, ItemState.WAITING)
    return get_suggestion(context, taken.urn, taken.document)


def get_suggestion(context: ServiceContext, urn: str, document: int) -> SuggestionStatus:
    """Return how far a suggestion is."""
    with context.reading() as session:
        return suggestion_status(session, urn, document)
