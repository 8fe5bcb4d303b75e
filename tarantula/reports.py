"""The tables of the 2001 report, for any item: states, types, sizes, servers (figures 4.3, 4.4, 4.5 and 4.7)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from tarantula.listings import IS_COLLECTED
from tarantula.models import Document, Item, Server
from tarantula.states import DocumentState, meaning

UNKNOWN = "unknown"
KB = 1024
LARGEST = 40
"""Sizes are told apart up to two to this many KB."""


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many documents are in a state."""

    state: int
    meaning: str
    documents: int
    percent: float


@dataclass(frozen=True, slots=True)
class TypeCount:
    """How many documents of a type were collected."""

    type: str
    documents: int
    percent: float
    bytes: int


@dataclass(frozen=True, slots=True)
class SizeCount:
    """How many of the collected documents are larger than *from_kb* and not larger than *to_kb*."""

    from_kb: int
    to_kb: int
    documents: int
    percent: float


@dataclass(frozen=True, slots=True)
class ServerCount:
    """How many documents were collected from a server."""

    server: str
    documents: int
    percent: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums below the tables."""

    documents: int
    """Every URL of the item, in any state."""
    collected: int
    """Those that a server gave: 200 and its like."""
    waiting: int
    links: int
    bytes: int
    servers: int
    """Those that at least one document was collected from."""


@dataclass(frozen=True, slots=True)
class Report:
    """The tables of one item."""

    urn: str
    publication: str
    state: str
    started_at: str | None
    finished_at: str | None
    totals: Totals
    states: list[StateCount]
    types: list[TypeCount]
    sizes: list[SizeCount]
    servers: list[ServerCount]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return asdict(self)


def report(session: Session, item: Item, servers: int | None = None) -> Report:
    """Count an item's documents; *servers* limits that table to the busiest."""
    states, types = _states(session, item.id), _types(session, item.id)
    return Report(
        urn=item.urn,
        publication=item.publication.name,
        state=item.state,
        started_at=item.started_at.isoformat() if item.started_at else None,
        finished_at=item.finished_at.isoformat() if item.finished_at else None,
        totals=_totals(session, item.id, states, types),
        states=states,
        types=types,
        sizes=_sizes(session, item.id),
        servers=_servers(session, item.id, servers),
    )


def _collected(item_id: int) -> ColumnElement[bool]:
    return (Document.item_id == item_id) & IS_COLLECTED


def _states(session: Session, item_id: int) -> list[StateCount]:
    number = func.count()
    rows = session.execute(
        select(Document.state, number)
        .where(Document.item_id == item_id)
        .group_by(Document.state)
        .order_by(number.desc(), Document.state)
    ).all()
    total = sum(count for _, count in rows)
    return [StateCount(state, meaning(state), count, _percent(count, total)) for state, count in rows]


def _types(session: Session, item_id: int) -> list[TypeCount]:
    rows = session.execute(
        select(Document.type, func.count(), _bytes()).where(_collected(item_id)).group_by(Document.type)
    ).all()
    total = sum(count for _, count, _ in rows)
    counts = [TypeCount(mime or UNKNOWN, count, _percent(count, total), int(size)) for mime, count, size in rows]
    return sorted(counts, key=lambda row: (-row.documents, row.type))


def _sizes(session: Session, item_id: int) -> list[SizeCount]:
    bucket = case(*((Document.size <= KB << power, power) for power in range(LARGEST)), else_=LARGEST).label("bucket")
    rows = session.execute(
        select(bucket, func.count()).where(_collected(item_id), Document.size.is_not(None)).group_by(bucket)
    )
    counts: dict[int, int] = dict(rows.all())
    if not counts:
        return []
    total = sum(counts.values())
    return [
        SizeCount(1 << power - 1 if power else 0, 1 << power, number, _percent(number, total))
        for power in range(min(counts), max(counts) + 1)
        for number in [counts.get(power, 0)]
    ]


def _servers(session: Session, item_id: int, limit: int | None) -> list[ServerCount]:
    per_server = (
        select(Document.server_id, func.count().label("documents"), _bytes().label("bytes"))
        .where(_collected(item_id))
        .group_by(Document.server_id)
        .subquery()
    )
    total = session.scalar(select(func.sum(per_server.c.documents))) or 0
    rows = session.execute(
        select(Server.name, per_server.c.documents, per_server.c.bytes)
        .join(per_server, per_server.c.server_id == Server.id)
        .order_by(per_server.c.documents.desc(), Server.id)
        .limit(limit)
    )
    return [ServerCount(name, count, _percent(count, int(total)), int(size)) for name, count, size in rows]


def _totals(session: Session, item_id: int, states: list[StateCount], types: list[TypeCount]) -> Totals:
    links, servers = session.execute(
        select(func.sum(Document.links), func.count(Document.server_id.distinct())).where(_collected(item_id))
    ).one()
    return Totals(
        documents=sum(row.documents for row in states),
        collected=sum(row.documents for row in types),
        waiting=sum(row.documents for row in states if row.state == DocumentState.WAITING),
        links=int(links or 0),
        bytes=sum(row.bytes for row in types),
        servers=servers,
    )


def _bytes() -> ColumnElement[int]:
    return func.coalesce(func.sum(Document.size), 0)


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1)
