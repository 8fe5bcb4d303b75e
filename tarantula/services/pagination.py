"""Pages of long lists: limits, cursors, and the envelope of rows that the API returns."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Generic, TypeVar

from pydantic import BaseModel

from tarantula.core.errors import TarantulaError

T = TypeVar("T")

MAX_PAGE_ROWS = 500
_MAX_PLACE = 2**63 - 1


class ResultPage(BaseModel, Generic[T]):
    """Some rows of a list."""

    rows: list[T]
    next: str | None = None
    """Cursor of the next page; ``None`` on the last page."""
    searched: float = 1.0
    """Share of the list that was searched so far, from 0 to 1: a page can be short or empty without being the last."""


def checked_limit(limit: int) -> int:
    """Return *limit* if a page can have so many rows; otherwise raise."""
    if not 1 <= limit <= MAX_PAGE_ROWS:
        raise TarantulaError("A page has from 1 to {limit} rows, not {given}.", limit=MAX_PAGE_ROWS, given=limit)
    return limit


def write_cursor(place: int) -> str:
    """Return the opaque cursor of a place in a list; its format may change."""
    return urlsafe_b64encode(str(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> int | None:
    """Return the place of a cursor; ``None`` for the first page."""
    if cursor is None:
        return None
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        text = ""
    if not text.isdigit() or not text.isascii() or len(text) > 19 or int(text) > _MAX_PLACE:
        raise TarantulaError(
            "{cursor!r} is not a cursor. Use the `next` of the page before, unchanged.", cursor=cursor[:40]
        )
    return int(text)
