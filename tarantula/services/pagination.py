"""Long lists, some rows at a time: each page says where the next one begins."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Generic, TypeVar

from pydantic import BaseModel

from tarantula.core.errors import TarantulaError

T = TypeVar("T")

MAX_PAGE_ROWS = 500
"""Rows of one page."""
_LARGEST = 2**63 - 1


class ResultPage(BaseModel, Generic[T]):
    """Some rows of a list."""

    rows: list[T]
    next: str | None = None
    """What to ask with for those that follow; nothing if there are none."""
    searched: float = 1.0
    """How much of the list was looked at so far, from 0 to 1: a page may be short, or empty, and not be the last."""


def checked_limit(limit: int) -> int:
    """Return how many rows a page has, or say how many it may have."""
    if not 1 <= limit <= MAX_PAGE_ROWS:
        raise TarantulaError(f"A page has from 1 to {MAX_PAGE_ROWS} rows, not {limit}.")
    return limit


def write_cursor(place: int) -> str:
    """Return what the next page is asked with; what it is made of may change."""
    return urlsafe_b64encode(str(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> int | None:
    """Return where a page begins; nothing for the first one."""
    if cursor is None:
        return None
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        text = ""
    if not text.isdigit() or not text.isascii() or len(text) > 19 or int(text) > _LARGEST:
        raise TarantulaError(f"No page goes on at {cursor[:40]!r}. Use what the page before said, as it is.")
    return int(text)
