"""Differences between two items, a page of rows at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from tarantula.archive.diff.items import DiffSummary, DocumentDifference, ItemComparison, difference_at
from tarantula.archive.diff.pages import TextDiff, compare_documents
from tarantula.services.context import ResultPage, ServiceContext, checked_limit, read_cursor, write_cursor
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


class TextComparison:
    """Two items, with the text of their documents."""

    def __init__(self, context: ServiceContext, session: Session, before: str, after: str) -> None:
        self._items, self._session = context.installation.items, session
        self._earlier, self._later = find_item(session, before), find_item(session, after)

    def documents(self) -> ItemComparison:
        """Compare the documents of the items; takes seconds on large items."""
        return ItemComparison(self._session, self._earlier, self._later)

    def text(self, url: str) -> tuple[DocumentDifference, TextDiff]:
        """Compare one document, and its lines."""
        difference, earlier, later = difference_at(self._session, self._earlier, self._later, url)
        found = compare_documents(self._session, self._items, earlier, later)
        self._session.expunge_all()
        return difference, found


@contextmanager
def comparing_texts(context: ServiceContext, before: str, after: str) -> Iterator[TextComparison]:
    """Open the comparison from item *before* to item *after*."""
    with context.reading() as session:
        yield TextComparison(context, session, before, after)


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
