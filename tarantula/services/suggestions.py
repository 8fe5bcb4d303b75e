"""Suggested URLs: collect one at once, and show what became of it."""

from __future__ import annotations

from datetime import UTC, datetime

from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import check_can_begin
from tarantula.lifecycle.suggested_urls import SuggestionStatus, accept_suggestion, check_suggestion, suggestion_status
from tarantula.services import machines
from tarantula.services.context import ServiceContext

__all__ = ["SuggestionStatus", "get_suggestion", "suggest"]

MAX_SUBJECT_LENGTH = 300
"""Characters of a URL in the audit log."""


def suggest(context: ServiceContext, url: str) -> SuggestionStatus:
    """Collect a URL under the publication for suggestions, if it is in its scope; start a process if needed."""
    needed = context.writing_role
    context.person.check(needed)
    accepted_url = check_suggestion(context.installation, context.database, url)
    name = context.installation.suggestions
    check_can_begin(context.installation, name)
    begun = dict[str, str]()
    with context.changing("suggest", accepted_url[:MAX_SUBJECT_LENGTH], needed, begun=begun) as session:
        taken = accept_suggestion(session, name, accepted_url, datetime.now(UTC))
        begun["urn"] = taken.urn
    if taken.needs_process:
        machines.start(context, taken.urn, ItemState.WAITING)
    return get_suggestion(context, taken.urn, taken.document)


def get_suggestion(context: ServiceContext, urn: str, document: int) -> SuggestionStatus:
    """Return the status of a suggestion."""
    with context.reading() as session:
        return suggestion_status(session, urn, document)
