"""Differences between two items, a page of rows at a time."""

from __future__ import annotations

from collections import deque
from itertools import islice

from pydantic import BaseModel, ConfigDict

from tarantula.archive.diff.items import DiffSummary, ItemComparison
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.store.listings import find_item
from tarantula.store.withholding import WithheldMark


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
    """URL in the earlier item, now gone, with the same body as this new one."""
    withheld: WithheldMark | None


class ItemDifferences(ResultPage[DifferenceRow]):
    """Differences between two items: counts, and one row a URL."""

    summary: DiffSummary


def compare_items(
    context: ServiceContext, before: str, after: str, *, same: bool = False, limit: int = 50, place: str | None = None
) -> ItemDifferences:
    """Return the differences from item *before* to item *after*; takes seconds on large items."""
    offset = read_cursor(place) or 0
    with context.reading() as session:
        comparison = ItemComparison(session, find_item(session, before), find_item(session, after))
        rows = iter(comparison.differences(same))
        deque(islice(rows, offset), maxlen=0)
        found = list(islice(rows, checked_limit(limit) + 1))
        summary = comparison.summary()
    return ItemDifferences(
        rows=[DifferenceRow.model_validate(row) for row in found[:limit]],
        next=write_cursor(offset + limit) if len(found) > limit else None,
        summary=summary,
    )
