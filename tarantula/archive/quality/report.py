"""The tables of the 2001 report, for any item: states, types, sizes, servers (figures 4.3, 4.4, 4.5 and 4.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from tarantula.core.states import COLLECTED_STATES, DocumentState, state_meaning
from tarantula.freshness.report import FreshnessReport, freshness_report
from tarantula.models import Document, Item, Server
from tarantula.store.listings import IS_COLLECTED

UNKNOWN_TYPE = "unknown"
KB = 1024
MAX_SIZE_POWER = 40
"""Sizes are told apart up to two to this many KB."""
SERVERS_PER_QUERY = 10_000
"""Servers whose names are asked for in one statement."""


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
class ReportTotals:
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
class ItemReport:
    """The tables of one item."""

    urn: str
    publication: str
    state: str
    validation: str
    started_at: str | None
    finished_at: str | None
    totals: ReportTotals
    states: list[StateCount]
    types: list[TypeCount]
    sizes: list[SizeCount]
    servers: list[ServerCount]
    belief: FreshnessReport | None = None
    """How fresh it is believed to be, and how that belief did, if it is a refresh item and that was asked for."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return asdict(self)


def make_report(session: Session, item: Item, servers: int | None = None, belief: bool = False) -> ItemReport:
    """Count an item's documents; *servers* limits that table to the busiest. What is believed takes a little longer."""
    tally = _tally(session, item.id)
    collected = [row for row in tally if row.state in COLLECTED_STATES]
    busiest, number_of_servers = _servers(session, item.id, servers)
    return ItemReport(
        urn=item.urn,
        publication=item.publication.name,
        state=item.state,
        validation=item.validation,
        started_at=item.started_at.isoformat() if item.started_at else None,
        finished_at=item.finished_at.isoformat() if item.finished_at else None,
        totals=ReportTotals(
            documents=sum(row.documents for row in tally),
            collected=sum(row.documents for row in collected),
            waiting=sum(row.documents for row in tally if row.state == DocumentState.WAITING),
            links=sum(row.links for row in collected),
            bytes=sum(row.bytes for row in collected),
            servers=number_of_servers,
        ),
        states=_states(tally),
        types=_types(collected),
        sizes=_sizes(collected),
        servers=busiest,
        belief=freshness_report(session, item) if belief else None,
    )


class _Tally(NamedTuple):
    """Documents that are alike in all that the first three tables tell."""

    state: int
    type: str | None
    power: int | None
    """Of two, in KB, that its size is not larger than."""
    documents: int
    bytes: int
    links: int


def _tally(session: Session, item_id: int) -> list[_Tally]:
    """Count an item's documents in one pass; there are few kinds of them, however many there are."""
    powers = ((Document.size <= KB << power, power) for power in range(MAX_SIZE_POWER))
    power = case((Document.size.is_(None), None), *powers, else_=MAX_SIZE_POWER).label("power")
    rows = session.execute(
        select(Document.state, Document.type, power, func.count(), _sum(Document.size), _sum(Document.links))
        .where(Document.item_id == item_id)
        .group_by(Document.state, Document.type, power)
    )
    return [
        _Tally(state, mime, power, number, int(size), int(links)) for state, mime, power, number, size, links in rows
    ]


def _states(tally: list[_Tally]) -> list[StateCount]:
    counts: Counter[int] = Counter()
    for row in tally:
        counts[row.state] += row.documents
    return state_counts(counts)


def state_counts(counts: Counter[int]) -> list[StateCount]:
    """Return how many documents are in each state, and their shares, largest number first."""
    rows = [
        StateCount(state, state_meaning(state), number, _percent(number, counts)) for state, number in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.documents, row.state))


def _types(collected: list[_Tally]) -> list[TypeCount]:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for row in collected:
        counts[row.type or UNKNOWN_TYPE] += row.documents
        sizes[row.type or UNKNOWN_TYPE] += row.bytes
    rows = [TypeCount(mime, number, _percent(number, counts), sizes[mime]) for mime, number in counts.items()]
    return sorted(rows, key=lambda row: (-row.documents, row.type))


def _sizes(collected: list[_Tally]) -> list[SizeCount]:
    counts: Counter[int] = Counter()
    for row in collected:
        if row.power is not None:
            counts[row.power] += row.documents
    powers = range(min(counts), max(counts) + 1) if counts else range(0)
    return [
        SizeCount(1 << power - 1 if power else 0, 1 << power, counts[power], _percent(counts[power], counts))
        for power in powers
    ]


def _servers(session: Session, item_id: int, limit: int | None) -> tuple[list[ServerCount], int]:
    rows = session.execute(
        select(Document.server_id, func.count(), _sum(Document.size))
        .where(Document.item_id == item_id, IS_COLLECTED)
        .group_by(Document.server_id)
    ).all()
    busiest = sorted(rows, key=lambda row: (-row[1], row[0]))[:limit]
    names = _names(session, [server for server, _, _ in busiest])
    counts = Counter({server: number for server, number, _ in rows})
    return [
        ServerCount(names[server], number, _percent(number, counts), int(size)) for server, number, size in busiest
    ], len(rows)


def _names(session: Session, servers: Sequence[int]) -> dict[int, str]:
    names: dict[int, str] = {}
    for start in range(0, len(servers), SERVERS_PER_QUERY):
        chunk = servers[start : start + SERVERS_PER_QUERY]
        names.update(session.execute(select(Server.id, Server.name).where(Server.id.in_(chunk))).all())
    return names


def _sum(column: InstrumentedAttribute[int | None]) -> ColumnElement[int]:
    return func.coalesce(func.sum(column), 0)


def _percent(part: int, counts: Counter[Any]) -> float:
    return round(100 * part / counts.total(), 1)
