"""Comparison of an item with the previous items of its publication."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from tarantula.core.states import COLLECTED_STATES, ItemState, Validation
from tarantula.core.urls import key_of
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item, LinkRow, Server
from tarantula.store.listings import IS_COLLECTED

MAX_BASELINE_ITEMS = 5
"""Number of previous items that form the baseline."""
MAX_VANISHED_NAMES = 100
"""Maximum number of vanished servers or types listed."""
MAX_REDIRECTS = 20


@dataclass(frozen=True, slots=True)
class Vanished:
    """Servers or types of the previous item that this one lacks."""

    number: int
    of: int
    """How many the previous item had."""
    names: list[str]

    @property
    def percent(self) -> float:
        """Vanished share in percent."""
        return percent(self.number, self.of)


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """Medians of the previous items, and the difference of this one."""

    items: list[str]
    """Newest first; servers, types and base document are compared with the first."""
    documents: float
    """Median number of collected documents."""
    bytes: float
    documents_change: float | None
    """In percent; None if nothing was collected before."""
    bytes_change: float | None
    servers: Vanished
    types: Vanished


@dataclass(frozen=True, slots=True)
class BaseDocument:
    """The base document, or the target of its redirect."""

    url: str
    state: int
    digest: str | None
    changed: bool | None
    """Whether its bytes differ from the previous item; None if unknown."""

    @property
    def missing(self) -> bool:
        """Whether it was not collected."""
        return self.state not in COLLECTED_STATES


ServerTypePairs = set[tuple[int, str | None]]
"""Servers and types of collected documents."""


def previous_items(session: Session, item: Item) -> list[Item]:
    """Return the previous items suitable for comparison, newest first: archived or valid, and not rejected."""
    earlier = or_(Item.planned_at < item.planned_at, and_(Item.planned_at == item.planned_at, Item.id < item.id))
    whole = or_(Item.state == ItemState.ARCHIVED, Item.validation == Validation.VALID)
    chosen = (
        select(Item)
        .where(Item.publication_id == item.publication_id, earlier, whole, Item.validation != Validation.REJECTED)
        .where(Item.state != ItemState.REMOVING)
        .order_by(Item.planned_at.desc(), Item.id.desc())
        .limit(MAX_BASELINE_ITEMS)
    )
    return list(session.scalars(chosen))


def compare_with_baseline(
    session: Session, earlier: list[Item], collected: int, size: int, kinds: ServerTypePairs
) -> BaselineComparison:
    """Compare the totals, servers and types of an item with previous items."""
    last = _counts_by_kind(session, earlier[0])
    previous_kinds = set(last)
    totals = [_sum(last), *(_totals(session, item) for item in earlier[1:])]
    documents = float(median(number for number, _ in totals))
    median_bytes = float(median(size for _, size in totals))
    servers = {server for server, _ in previous_kinds} - {server for server, _ in kinds}
    types = {mime or "unknown" for _, mime in previous_kinds} - {mime or "unknown" for _, mime in kinds}
    return BaselineComparison(
        items=[item.urn for item in earlier],
        documents=documents,
        bytes=median_bytes,
        documents_change=_change(documents, collected),
        bytes_change=_change(median_bytes, size),
        servers=Vanished(len(servers), len({one for one, _ in previous_kinds}), _names(session, servers)),
        types=Vanished(
            len(types), len({mime or "unknown" for _, mime in previous_kinds}), sorted(types)[:MAX_VANISHED_NAMES]
        ),
    )


def base_document(session: Session, item: Item, earlier: Item | None) -> BaseDocument:
    """Return the base document of an item, compared with that of an earlier one."""
    base = _base(session, item)
    before = _base(session, earlier) if earlier is not None else None
    known = before is not None and before.digest is not None and base.digest is not None
    changed = base.digest != before.digest if known and before is not None else None
    return BaseDocument(base.url, base.state, base.digest, changed)


def percent(part: float, whole: float) -> float:
    """Return a percentage; 0 if *whole* is 0."""
    return 100 * part / whole if whole else 0.0


def base_row(session: Session, item: Item) -> Document | None:
    """Return the base document of an item, or the target of its redirect; ``None`` if the item began elsewhere."""
    document = _document(session, item, key_of(item.configuration["base_url"]))
    return _redirected(session, item, document) if document is not None else None


def _base(session: Session, item: Item) -> Document:
    return base_row(session, item) or _redirected(session, item, _first(session, item))


def _redirected(session: Session, item: Item, document: Document) -> Document:
    seen = set[bytes]()
    while True:
        seen.add(document.key)
        target = session.scalar(
            select(LinkRow.target)
            .join(Document, and_(Document.item_id == item.id, Document.key == LinkRow.target))
            .where(LinkRow.document_id == document.id, LinkRow.kind == LinkKind.REDIRECT)
            .limit(1)
        )
        if document.state not in range(300, 400) or target is None or target in seen or len(seen) > MAX_REDIRECTS:
            return document
        document = _document(session, item, target) or document


def _document(session: Session, item: Item, key: bytes) -> Document | None:
    return session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key))


def _first(session: Session, item: Item) -> Document:
    """Return the first document of an item that did not start with its base document."""
    return session.scalars(select(Document).where(Document.item_id == item.id).order_by(Document.id).limit(1)).one()


def _totals(session: Session, item: Item) -> tuple[int, int]:
    if item.indicators is not None:
        return item.indicators["collected"], item.indicators["bytes"]
    return _sum(_counts_by_kind(session, item))


def _counts_by_kind(session: Session, item: Item) -> dict[tuple[int, str | None], tuple[int, int]]:
    """Return number and bytes of collected documents by server and type."""
    rows = session.execute(
        select(Document.server_id, Document.type, func.count(), func.sum(Document.size))
        .where(Document.item_id == item.id, IS_COLLECTED)
        .group_by(Document.server_id, Document.type)
    )
    return {(server, mime): (number, int(size or 0)) for server, mime, number, size in rows}


def _sum(kinds: Mapping[Any, tuple[int, int]]) -> tuple[int, int]:
    return sum(number for number, _ in kinds.values()), sum(size for _, size in kinds.values())


def _names(session: Session, servers: Iterable[int]) -> list[str]:
    chosen = sorted(servers)[:MAX_VANISHED_NAMES]
    return sorted(session.scalars(select(Server.name).where(Server.id.in_(chosen))))


def _change(median: float, now: float) -> float | None:
    return round(100 * (now - median) / median, 1) if median else None
