"""Review list of an item: the documents to check first, most serious reason first, a few per reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, select
from sqlalchemy.orm import Session, aliased

from tarantula.archive.quality.baseline import previous_items
from tarantula.archive.quality.indicators import IS_FAILURE, Indicators
from tarantula.archive.replay.pages import IS_PAGE
from tarantula.core.reasons import Reason, as_reason, reason_fields
from tarantula.core.states import COLLECTED_STATES
from tarantula.core.urls import key_of
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item

MAX_PER_REASON = 20
"""Maximum number of documents per reason."""


class ReviewReason(StrEnum):
    """Why a document should be checked."""

    BASE_MISSING = "base-missing"
    BASE_CHANGED = "base-changed"
    INCOMPLETE = "incomplete"
    """A page with a missing requisite."""
    FAILED = "failed"
    """A page that could not be collected."""
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """A document to check."""

    kind: ReviewReason
    urn: str
    """The item that in_item the document: the previous one if the document is gone."""
    document_id: int
    url: str
    reason: str = ""
    """English sentence of the reason."""
    reason_code: str | None = None
    reason_parameters: dict[str, Any] | None = None


def make_review_list(session: Session, item: Item, indicators: Indicators) -> list[ReviewEntry]:
    """Return the documents to check, most serious reason first."""
    earlier = previous_items(session, item)
    found = [*_base(session, item, indicators), *_incomplete(session, item, indicators), *_failed(session, item)]
    if earlier:
        found += _compare(session, item, earlier[0])
    return found


def _base(session: Session, item: Item, indicators: Indicators) -> Iterator[ReviewEntry]:
    base = indicators.base
    kind = ReviewReason.BASE_MISSING if base.missing else ReviewReason.BASE_CHANGED if base.changed else None
    document = _document_at(session, item, base.url) if kind else None
    if kind and document is not None:
        yield _entry(kind, item, document, document.reason)


def _incomplete(session: Session, item: Item, indicators: Indicators) -> Iterator[ReviewEntry]:
    """Yield the pages that first linked to missing requisites."""
    for missing in indicators.requisites.examples:
        document = _document_at(session, item, missing.url)
        page = session.get(Document, document.via_id) if document is not None and document.via_id else None
        if page is not None:
            why = Reason(missing.reason_code, missing.reason_parameters or {}) if missing.reason_code else missing.state
            reason = Reason.of("missing_requisite", url=missing.url, reason=why)
            yield _entry(ReviewReason.INCOMPLETE, item, page, reason)


def _failed(session: Session, item: Item) -> Iterator[ReviewEntry]:
    is_navigation = Document.kind == int(LinkKind.NAVIGATION)
    chosen = select(Document).where(Document.item_id == item.id, IS_FAILURE, is_navigation)
    for document in session.scalars(chosen.order_by(Document.id).limit(MAX_PER_REASON)):
        yield _entry(ReviewReason.FAILED, item, document, document.reason or as_reason(str(document.state)))


def _compare(session: Session, item: Item, before: Item) -> Iterator[ReviewEntry]:
    other = aliased(Document)
    in_previous = and_(other.item_id == before.id, other.key == Document.key, other.state.between(*_collected()))
    in_item = and_(other.item_id == item.id, other.key == Document.key, other.state.between(*_collected()))
    differs = select(Document).join(other, in_previous).where(Document.item_id == item.id, IS_PAGE)
    yield from _entries(session, ReviewReason.CHANGED, item, differs.where(other.digest != Document.digest))
    yield from _entries(session, ReviewReason.NEW, item, _pages_without(item, other, in_previous))
    yield from _entries(session, ReviewReason.GONE, before, _pages_without(before, other, in_item))


def _pages_without(item: Item, other: type[Document], same: ColumnElement[bool]) -> Select[Document]:
    """Select the pages of an item that the other item does not have."""
    return select(Document).outerjoin(other, same).where(Document.item_id == item.id, IS_PAGE, other.id.is_(None))


def _entries(session: Session, kind: ReviewReason, item: Item, chosen: Select[Document]) -> Iterator[ReviewEntry]:
    for document in session.scalars(chosen.order_by(Document.id).limit(MAX_PER_REASON)):
        yield ReviewEntry(kind, item.urn, document.id, document.url)


def _entry(kind: ReviewReason, item: Item, document: Document, reason: Reason | None) -> ReviewEntry:
    fields = reason_fields(reason) if reason is not None else {}
    return ReviewEntry(kind, item.urn, document.id, document.url, **fields)


def _document_at(session: Session, item: Item, url: str) -> Document | None:
    return session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key_of(url)))


def _collected() -> tuple[int, int]:
    return COLLECTED_STATES.start, COLLECTED_STATES.stop - 1
