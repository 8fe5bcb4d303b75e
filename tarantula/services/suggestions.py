"""URLs that people suggest: collected at once, and watched until they can be found."""

from __future__ import annotations

from datetime import UTC, datetime

from tarantula.accounts.roles import Role
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import check_can_begin
from tarantula.lifecycle.suggestions import checked_suggestion, take_suggestion
from tarantula.lifecycle.suggestions_part_suggested import Suggestion, what_became
from tarantula.services import processes
from tarantula.services.context import Desk

__all__ = ["Suggestion", "shown", "suggest"]

LONGEST_SUBJECT = 300
"""Letters of a URL that the audit log keeps."""


def suggest(desk: Desk, url: str) -> Suggestion:
    """Have a URL collected under the publication for suggestions, if its rules take it."""
    # Readers may; but a token of that role is there to look, and writes nothing.
    needed = Role.READER if desk.person.token is None else Role.CURATOR
    desk.person.check(needed)
    wanted = checked_suggestion(desk.installation, desk.database, url)
    name = desk.installation.suggestions
    check_can_begin(desk.installation, name)
    begun = dict[str, str]()
    with desk.changing("suggest", wanted[:LONGEST_SUBJECT], needed, begun=begun) as session:
        taken = take_suggestion(session, name, wanted, datetime.now(UTC))
        begun["urn"] = taken.urn
    if taken.is_left_alone:
        processes.start(desk, name, taken.urn, ItemState.WAITING)
    return shown(desk, taken.urn, taken.document)


def shown(desk: Desk, urn: str, document: int) -> Suggestion:
    """Return how far a suggestion is."""
    with desk.reading() as session:
        return what_became(session, urn, document)
