"""Listings of items and documents, one row each."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session, aliased, joinedload

from tarantula.core.errors import ConflictError, NotFoundError
from tarantula.core.messages import did_you_mean
from tarantula.core.reasons import Reason, reason_fields
from tarantula.core.states import (
    ACTIVE_ITEM_STATES,
    COLLECTED_STATES,
    DocumentState,
    ItemState,
    Shortage,
    Validation,
)
from tarantula.models import Document, Item, Publication, Server
from tarantula.publications.attention import FIXITY_REASONS, RuleEffect
from tarantula.store.liveness import live_collectors, pauses
from tarantula.store.warc_files import ReadBack, read_back
from tarantula.store.withholding import WithheldMark, withheld_mark

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
    """English sentences of `attention_reasons`."""
    attention_reasons: list[dict[str, Any]]
    verified_at: datetime | None
    """When all its files had been read back."""
    read_back: ReadBack | None
    """How much of it was read back, if it is not verified; None while it is collected."""
    damaged: bool
    """Whether its last check found a body or a file missing or damaged."""
    paused_for: list[Shortage]
    """Why collectors of the item pause; empty if none does."""

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
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    type: str | None
    size: int | None
    digest: str | None
    links: int | None
    via: str | None
    collected_at: datetime | None
    withheld: WithheldMark | None = None
    """Whether its URL is withheld: then its body is not shown."""

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON; the keys are a stable interface."""
        return {key: _plain(value) for key, value in self._asdict().items()}


def find_item(session: Session, urn: str, *, removing: bool = False) -> Item:
    """Return the item named *urn*; raise NotFoundError if there is none.

    An item that is being removed is refused, unless *removing* is set.
    """
    item = session.scalar(select(Item).where(Item.urn == urn)) if urn.isascii() else None
    if item is None:
        near = did_you_mean(urn, session.scalars(select(Item.urn)))
        raise NotFoundError("There is no item {urn!r}.{hint} `tarantula items` shows them.", urn=urn, hint=near)
    if item.state == ItemState.REMOVING and not removing:
        raise ConflictError(
            "Item {urn} is being removed. If its removal was interrupted, `tarantula item remove {urn}` completes it.",
            urn=urn,
        )
    return item


def list_items(session: Session, publication: Publication | None = None) -> list[ItemRow]:
    """Return the items of one publication or of all, oldest first."""
    chosen = select(Item).options(joinedload(Item.publication)).order_by(Item.planned_at, Item.id)
    if publication is not None:
        chosen = chosen.where(Item.publication_id == publication.id)
    return item_rows(session, session.scalars(chosen).all())


def document_counts(session: Session, items: Iterable[Item]) -> dict[int, DocumentCounts]:
    """Return the document counts by item id: the stored ones for ended items, counted now for the others.

    Of an item that is being removed these are the documents that are left.
    """
    stored = {
        item.id: DocumentCounts(**{field: item.indicators[field] for field in DocumentCounts.model_fields})
        for item in items
        if item.indicators is not None and ItemState(item.state) not in {*ACTIVE_ITEM_STATES, ItemState.REMOVING}
    }
    uncounted = [item.id for item in items if item.id not in stored]
    counts = (
        select(
            Document.item_id,
            func.count().label("documents"),
            func.count(case((IS_COLLECTED, 1))).label("collected"),
            func.count(case((Document.state == DocumentState.WAITING, 1))).label("waiting"),
            func.coalesce(func.sum(case((IS_COLLECTED, Document.size))), 0).label("bytes"),
        )
        .where(Document.item_id.in_(uncounted))
        .group_by(Document.item_id)
    )
    counted = {row.item_id: DocumentCounts(**row._mapping) for row in session.execute(counts)} if uncounted else {}
    return {number: DocumentCounts() for number in uncounted} | counted | stored


def item_rows(session: Session, items: Sequence[Item]) -> list[ItemRow]:
    """Return items with their progress."""
    counts, unverified = document_counts(session, items), read_back(session, items)
    is_any_active = any(ItemState(item.state) in ACTIVE_ITEM_STATES for item in items)
    paused = pauses(live_collectors(session.connection())) if is_any_active else {}
    return [_item_row(item, counts[item.id], unverified.get(item.id), paused.get(item.id, [])) for item in items]


def _item_row(item: Item, counts: DocumentCounts, unverified: ReadBack | None, paused_for: list[Shortage]) -> ItemRow:
    indicators = item.indicators or {}
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
        complete=is_complete(item, fired_effects(item)),
        **attention_fields(item),
        **counts.model_dump(),
        verified_at=item.verified_at,
        read_back=unverified,
        damaged=bool(indicators.get("missing_bodies") or indicators.get("damaged_files")),
        paused_for=paused_for,
    )


def attention_reasons(item: Item) -> list[Reason]:
    """Return why an item needs attention: one reason per fired rule; after a decision, damage that was found since."""
    if item.validation == Validation.PENDING:
        return fired_reasons(item)
    if item.later_damage is None:
        return []
    damage = [one for one in fired_reasons(item) if one.code in FIXITY_REASONS]
    return [Reason.from_data(item.later_damage), *damage]


def is_undecided() -> ColumnElement[bool]:
    """Return the condition that an item waits for a decision, or was damaged after one."""
    return or_(Item.validation == Validation.PENDING, Item.later_damage.is_not(None))


def fired_reasons(item: Item, effects: Container[str] = tuple(RuleEffect)) -> list[Reason]:
    """Return the reasons of the rules with certain effects that fired when an item ended."""
    fired = [one for one in item.attention or () if one["effect"] in effects]
    return [Reason(one["reason_code"], one["reason_parameters"]) for one in fired]


def attention_fields(item: Item) -> dict[str, Any]:
    """Return the fields `attention` (English sentences) and `attention_reasons` of a row in JSON."""
    reasons = attention_reasons(item)
    return {"attention": list(map(str, reasons)), "attention_reasons": [reason.as_data() for reason in reasons]}


def is_complete(item: Item, effects: Iterable[str]) -> bool:
    """Whether an item is complete: archived, its files read back, and no rule with the effect ``incomplete`` fired."""
    is_verified = item.state == ItemState.ARCHIVED and item.verified_at is not None
    return is_verified and RuleEffect.INCOMPLETE not in effects


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
            Document.reason_code,
            Document.reason_parameters,
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
    for url, server, depth, state, code, parameters, *others in rows:
        reason = Reason(code, parameters or {}) if code is not None else None
        row = DocumentRow(url, server, depth, state, *reason_fields(reason).values(), *others)
        yield row._replace(withheld=withheld_mark(session, url))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return value.isoformat() if isinstance(value, datetime) else value
