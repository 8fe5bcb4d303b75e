"""Items, as the API and the pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.core.states import (
    ACTIVE_ITEM_STATES,
    COLLECTED_STATES,
    EXTENSIBLE_ITEM_STATES,
    REMOVABLE_ITEM_STATES,
    DocumentState,
    ItemState,
)
from tarantula.store.listings import DocumentCounts, ItemRow
from tarantula.tables.publications import Document, Item


class CollectorRow(BaseModel):
    """A process that is at work on an item."""

    host: str
    pid: int


class ItemDetail(ItemRow):
    """An item, who is at work on it, and what can be done to it."""

    base_url: str
    description: str
    stop_wanted_at: datetime | None
    collectors: list[CollectorRow]
    verbs: list[str]
    """Those of stop, resume, extend, convert and remove that its state allows."""


def allowed_verbs(state: ItemState) -> list[str]:
    """Return what can be done to an item of that state."""
    allowed = {
        "stop": state in ACTIVE_ITEM_STATES,
        "resume": state != ItemState.ARCHIVED,
        "extend": state in EXTENSIBLE_ITEM_STATES,
        "convert": state in REMOVABLE_ITEM_STATES,
        "remove": state in REMOVABLE_ITEM_STATES,
    }
    return [verb for verb, is_allowed in allowed.items() if is_allowed]


def document_counts(session: Session, items: Iterable[Item]) -> dict[int, DocumentCounts]:
    """Return the counts of items by their ids: of those that ended as stored then, of the others as of now."""
    counts: dict[int, DocumentCounts] = {}
    for item in items:
        if item.indicators is not None and ItemState(item.state) not in ACTIVE_ITEM_STATES:
            counts[item.id] = DocumentCounts(**{field: item.indicators[field] for field in DocumentCounts.model_fields})
        else:
            counts[item.id] = count_documents(session, item.id)
    return counts


def count_documents(session: Session, item_id: int) -> DocumentCounts:
    """Count an item's documents."""
    counted = DocumentCounts()
    rows = session.execute(
        select(Document.state, func.count(), func.sum(Document.size))
        .where(Document.item_id == item_id)
        .group_by(Document.state)
    )
    for state, number, size in rows:
        counted.documents += number
        if state in COLLECTED_STATES:
            counted.collected += number
            counted.bytes += int(size or 0)
        elif state == DocumentState.WAITING:
            counted.waiting += number
    return counted
