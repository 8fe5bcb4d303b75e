"""What a server says of a document before its body."""

from __future__ import annotations

from typing import NamedTuple


class CandidateResponse(NamedTuple):
    """What the rules know when the headers have come."""

    url: str
    media_type: str | None
    """As `tarantula.fetch.media_types.media_type` reads it; ``None`` when the header says nothing usable."""
    length: int | None
    status: int = 200

    @property
    def is_success(self) -> bool:
        """Whether this is the document itself: error pages and redirects are kept whatever their type."""
        return 200 <= self.status < 300
