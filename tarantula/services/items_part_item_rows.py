"""Items, as the API and the pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.core.states import ALIVE, COLLECTED, EXTENSIBLE, REMOVABLE, DocumentState, ItemState
from tarantula.store.listings import Counts, ItemRow
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


def verbs_of(state: ItemState) -> list[str]:
    """Return what can be done to an item of that state."""
    allowed = {
        "stop": state in ALIVE,
        "resume": state != ItemState.ARCHIVED,
        "extend": state in EXTENSIBLE,
        "convert": state in REMOVABLE,
        "remove": state in REMOVABLE,
    }
    return [verb for verb, is_allowed in allowed.items() if is_allowed]


def counts_of(session: Session, items: Iterable[Item]) -> dict[int, Counts]:
    """Return the counts of items by their ids: of those that ended as stored then, of the others as of now."""
    counts: dict[int, Counts] = {}
    for item in items:
        if item.indicators is not None and ItemState(item.state) not in ALIVE:
            counts[item.id] = Counts(**{field: item.indicators[field] for field in Counts.model_fields})
        else:
            counts[item.id] = count(session, item.id)
    return counts


def count(session: Session, item_id: int) -> Counts:
    """Count an item's documents."""
    counted = Counts()
    rows = session.execute(
        select(Document.state, func.count(), func.sum(Document.size))
        .where(Document.item_id == item_id)
        .group_by(Document.state)
    )
    for state, number, size in rows:
        counted.documents += number
        if state in COLLECTED:
            counted.collected += number
            counted.bytes += int(size or 0)
        elif state == DocumentState.WAITING:
            counted.waiting += number
    return counted
