"""What became of a URL that somebody suggested."""

from __future__ import annotations

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.archive.replay.pages_part_walk import find_document
from tarantula.core.states import COLLECTED_STATES, is_final, state_meaning
from tarantula.store.listings import find_item


class SuggestionStatus(BaseModel):
    """A URL that was suggested, as far as it is."""

    url: str
    urn: str
    document: int
    state: int
    meaning: str
    reason: str
    is_final: bool
    """Whether it is done with."""
    is_collected: bool


def suggestion_status(session: Session, urn: str, document: int) -> SuggestionStatus:
    """Return how far a document is that somebody suggested."""
    found = find_document(session, find_item(session, urn), document)
    return SuggestionStatus(
        url=found.url,
        urn=urn,
        document=found.id,
        state=found.state,
        meaning=state_meaning(found.state),
        reason=found.reason or "",
        is_final=is_final(found.state),
        is_collected=found.state in COLLECTED_STATES,
    )
