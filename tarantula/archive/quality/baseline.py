"""An item held against the items of its publication before it."""

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
"""How many earlier items say what is usual."""
MAX_VANISHED_NAMES = 100
"""How many vanished servers are named."""
MAX_REDIRECTS = 20


@dataclass(frozen=True, slots=True)
class Vanished:
    """What the item before had and this one has not."""

    number: int
    of: int
    """How many the item before had."""
    names: list[str]

    @property
    def percent(self) -> float:
        """How many of a hundred."""
        return percent(self.number, self.of)


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """What is usual, and how far an item is from it."""

    items: list[str]
    """Newest first; the first is the one whose servers, types and base document are compared."""
    documents: float
    """The median of the documents that they collected."""
    bytes: float
    documents_change: float | None
    """In percent; none where nothing was collected before."""
    bytes_change: float | None
    servers: Vanished
    types: Vanished


@dataclass(frozen=True, slots=True)
class BaseDocument:
    """The base document, or what it is redirected to."""

    url: str
    state: int
    digest: str | None
    changed: bool | None
    """Whether its bytes are others than in the item before; none where that cannot be told."""

    @property
    def missing(self) -> bool:
        """Whether it was not collected."""
        return self.state not in COLLECTED_STATES


ServerTypePairs = set[tuple[int, str | None]]
"""The servers and types of collected documents."""


def previous_items(session: Session, item: Item) -> list[Item]:
    """Return the last items before this one that are good to compare with, newest first."""
    earlier = or_(Item.planned_at < item.planned_at, and_(Item.planned_at == item.planned_at, Item.id < item.id))
    whole = or_(Item.state == ItemState.ARCHIVED, Item.validation == Validation.VALID)
    chosen = (
        select(Item)
        .where(Item.publication_id == item.publication_id, earlier, whole, Item.validation != Validation.REJECTED)
        .order_by(Item.planned_at.desc(), Item.id.desc())
        .limit(MAX_BASELINE_ITEMS)
    )
    return list(session.scalars(chosen))


def compare_with_baseline(
    session: Session, earlier: list[Item], collected: int, size: int, kinds: ServerTypePairs
) -> BaselineComparison:
    """Hold the sums and kinds of an item against those of the items before it."""
    last = _kinds(session, earlier[0])
    kinds_before = set(last)
    totals = [_sum(last), *(_totals(session, item) for item in earlier[1:])]
    documents = float(median(number for number, _ in totals))
    usual_size = float(median(size for _, size in totals))
    servers = {server for server, _ in kinds_before} - {server for server, _ in kinds}
    types = {mime or "unknown" for _, mime in kinds_before} - {mime or "unknown" for _, mime in kinds}
    return BaselineComparison(
        items=[item.urn for item in earlier],
        documents=documents,
        bytes=usual_size,
        documents_change=_change(documents, collected),
        bytes_change=_change(usual_size, size),
        servers=Vanished(len(servers), len({one for one, _ in kinds_before}), _names(session, servers)),
        types=Vanished(
            len(types), len({mime or "unknown" for _, mime in kinds_before}), sorted(types)[:MAX_VANISHED_NAMES]
        ),
    )


def base_document(session: Session, item: Item, earlier: Item | None) -> BaseDocument:
    """Return the base document of an item, held against that of an earlier one."""
    base = _base(session, item)
    before = _base(session, earlier) if earlier is not None else None
    known = before is not None and before.digest is not None and base.digest is not None
    changed = base.digest != before.digest if known and before is not None else None
    return BaseDocument(base.url, base.state, base.digest, changed)


def percent(part: float, whole: float) -> float:
    """Return how many of a hundred; nothing of nothing is nothing."""
    return 100 * part / whole if whole else 0.0


def _base(session: Session, item: Item) -> Document:
    document = _document(session, item, key_of(item.configuration["base_url"])) or _first(session, item)
    seen = set[bytes]()
    while True:
        seen.add(document.key)
        onward = session.scalar(
            select(LinkRow.target)
            .join(Document, and_(Document.item_id == item.id, Document.key == LinkRow.target))
            .where(LinkRow.document_id == document.id, LinkRow.kind == LinkKind.REDIRECT)
            .limit(1)
        )
        if document.state not in range(300, 400) or onward is None or onward in seen or len(seen) > MAX_REDIRECTS:
            return document
        document = _document(session, item, onward) or document


def _document(session: Session, item: Item, key: bytes) -> Document | None:
    return session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key))


def _first(session: Session, item: Item) -> Document:
    """Return the document with which an item began that did not begin with its base document."""
    return session.scalars(select(Document).where(Document.item_id == item.id).order_by(Document.id).limit(1)).one()


def _totals(session: Session, item: Item) -> tuple[int, int]:
    if item.indicators is not None:
        return item.indicators["collected"], item.indicators["bytes"]
    return _sum(_kinds(session, item))


def _kinds(session: Session, item: Item) -> dict[tuple[int, str | None], tuple[int, int]]:
    """Return how many documents of each kind were collected, and their bytes."""
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


def _change(usual: float, now: float) -> float | None:
    return round(100 * (now - usual) / usual, 1) if usual else None
