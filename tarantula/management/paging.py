"""Long lists, a page at a time."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")

ROWS = 50
"""On a page, unless told."""
MOST = 1000
"""On a page, at most."""


class Page(BaseModel, Generic[T]):
    """Some rows of a list, and where it goes on."""

    rows: list[T]
    next: str | None = None
    """What to ask for to get the rows that follow; nothing at the end."""
