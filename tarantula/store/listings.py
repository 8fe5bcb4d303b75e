"""Listings of items and documents, one row each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session, aliased, joinedload

from tarantula.core.errors import NotFoundError
from tarantula.core.messages import did_you_mean
from tarantula.core.reasons import reason_fields
from tarantula.core.states import COLLECTED_STATES, DocumentState, ItemState, Validation
from tarantula.models import Document, Item, Publication, Server
from tarantula.publications.attention import RuleEffect, fired_sentence, parse_rule

ROWS_PER_FETCH = 1000

IS_COLLECTED = Document.state.between(COLLECTED_STATES.start, COLLECTED_STATES.stop - 1)
IS_REDIRECT = Document.state.between(300, 399)


class DocumentCounts(BaseModel):
    """Number and total size of an item's documents."""

    documents: int = 0
    collected: int = 0
    waiting: int = 0
    bytes: int = 0


class ItemRow(BaseModel):
    """An item with its progress."""

    urn: str
    publication: str
    state: str
    validation: str
    planned_at: datetime
    deadline: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    documents: int
    collected: int
    waiting: int
    bytes: int
    crashes: int
    complete: bool
    attention: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON; the keys are a stable interface."""
        return {key: _plain(value) for key, value in self}


class DocumentRow(NamedTuple):
    """A document, with the URL of the document that first linked to it."""

    url: str
    server: str
    depth: int
    state: int
    reason: str | None
    type: str | None
    size: int | None
    digest: str | None
    links: int | None
    via: str | None
    collected_at: datetime | None

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON; the keys are a stable interface."""
        return {key: _plain(value) for key, value in self._asdict().items()}


def find_item(session: Session, urn: str) -> Item:
    """Return the item named *urn*; raise NotFoundError if there is none."""
    item = session.scalar(select(Item).where(Item.urn == urn)) if urn.isascii() else None
    if item is None:
        near = did_you_mean(urn, session.scalars(select(Item.urn)))
        raise NotFoundError(f"There is no item {urn!r}.{near} `tarantula items` shows them.")
    return item


def list_items(session: Session, publication: Publication | None = None) -> list[ItemRow]:
    """Return the items of one publication or of all, oldest first."""
    chosen = select(Item.id)
    if publication is not None:
        chosen = chosen.where(Item.publication_id == publication.id)
    counts = (
        select(
            Document.item_id,
            func.count().label("documents"),
            func.count(case((IS_COLLECTED, 1))).label("collected"),
            func.count(case((Document.state == DocumentState.WAITING, 1))).label("waiting"),
            func.coalesce(func.sum(case((IS_COLLECTED, Document.size))), 0).label("bytes"),
        )
        .where(Document.item_id.in_(chosen))
        .group_by(Document.item_id)
    )
    counted = {row.item_id: DocumentCounts(**row._mapping) for row in session.execute(counts)}
    rows = session.scalars(
        select(Item).options(joinedload(Item.publication)).where(Item.id.in_(chosen)).order_by(Item.planned_at, Item.id)
    )
    return [item_row(item, counted.get(item.id, DocumentCounts())) for item in rows]


def item_row(item: Item, counts: DocumentCounts) -> ItemRow:
    return ItemRow(
        urn=item.urn,
        publication=item.publication.name,
        state=item.state,
        validation=item.validation,
        planned_at=item.planned_at,
        deadline=item.deadline,
        started_at=item.started_at,
        finished_at=item.finished_at,
        **reason_fields(item.reason),
        crashes=item.crashes,
        complete=is_complete(item.state, fired_effects(item)),
        attention=attention_reasons(item),
        **counts.model_dump(),
    )


def attention_reasons(item: Item) -> list[str]:
    """Return why an item needs attention, one sentence per fired rule; empty after a decision."""
    if item.validation != Validation.PENDING:
        return []
    return [fired_sentence(parse_rule(fired["rule"]), fired["value"]) for fired in item.attention or ()]


def is_complete(state: str, effects: Iterable[str]) -> bool:
    """Whether an item is complete: archived, and no rule with the effect ``incomplete`` fired."""
    return state == ItemState.ARCHIVED and RuleEffect.INCOMPLETE not in effects


def fired_effects(item: Item) -> list[str]:
    """Return the effects of the rules that fired when an item ended."""
    return [fired["effect"] for fired in item.attention or ()]


def list_documents(session: Session, item: Item) -> Iterator[DocumentRow]:
    """Yield an item's documents in order of discovery, with constant memory."""
    via = aliased(Document)
    rows = session.execute(
        select(
            Document.url,
            Server.name,
            Document.depth,
            Document.state,
            Document.reason,
            Document.type,
            Document.size,
            Document.digest,
            Document.links,
            via.url,
            Document.collected_at,
        )
        .join(Server, Server.id == Document.server_id)
        .outerjoin(via, via.id == Document.via_id)
        .where(Document.item_id == item.id)
        .order_by(Document.id),
        execution_options={"yield_per": ROWS_PER_FETCH},
    )
    for row in rows:
        yield DocumentRow(*row)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
