"""Two items side by side."""

from __future__ import annotations

from collections import deque
from itertools import islice

from pydantic import BaseModel, ConfigDict

from tarantula.archive.diff.items import Comparison, Summary
from tarantula.services.context import Desk
from tarantula.services.pagination import Page, checked_limit, read_cursor, write_cursor
from tarantula.store.listings import find_item


class DifferenceRow(BaseModel):
    """One URL in two items."""

    model_config = ConfigDict(from_attributes=True)

    url: str
    change: str
    """New, changed, gone or same."""
    state_before: int | None
    state_after: int | None
    type: str | None
    size_before: int | None
    size_after: int | None
    moved_from: str | None
    """The URL, now gone, that had the bytes of a new one."""


class Differences(Page[DifferenceRow]):
    """What is new, changed and gone between two items, in figures and by URL."""

    summary: Summary


def differences(
    desk: Desk, before: str, after: str, *, same: bool = False, limit: int = 50, place: str | None = None
) -> Differences:
    """Compare two items; on large ones it takes seconds."""
    began = read_cursor(place) or 0
    with desk.reading() as session:
        comparison = Comparison(session, find_item(session, before), find_item(session, after))
        rows = iter(comparison.differences(same))
        deque(islice(rows, began), maxlen=0)
        found = list(islice(rows, checked_limit(limit) + 1))
        summary = comparison.summary()
    return Differences(
        rows=[DifferenceRow.model_validate(row) for row in found[:limit]],
        next=write_cursor(began + limit) if len(found) > limit else None,
        summary=summary,
    )
