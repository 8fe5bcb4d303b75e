"""Report of an item: tables of states, types, sizes and servers (figures 4.3, 4.4, 4.5 and 4.7 of the 2001 report)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from tarantula.core.states import COLLECTED_STATES, DocumentState, state_meaning
from tarantula.models import Document, Item, Server, WarcFile, WarcFileState
from tarantula.store.listings import IS_COLLECTED

UNKNOWN_TYPE = "unknown"
KB = 1024
MAX_SIZE_POWER = 40
"""Sizes are classified up to two to this power, in KB."""
SERVERS_PER_QUERY = 10_000
"""Maximum number of servers per query of names."""


@dataclass(frozen=True, slots=True)
class StateCount:
    """Number of documents in a state."""

    state: int
    meaning: str
    documents: int
    percent: float


@dataclass(frozen=True, slots=True)
class TypeCount:
    """Number of collected documents of a type."""

    type: str
    documents: int
    percent: float
    bytes: int


@dataclass(frozen=True, slots=True)
class SizeCount:
    """Number of collected documents larger than *from_kb* and at most *to_kb*."""

    from_kb: int
    to_kb: int
    documents: int
    percent: float


@dataclass(frozen=True, slots=True)
class ServerCount:
    """Number of documents collected from a server."""

    server: str
    documents: int
    percent: float
    bytes: int


@dataclass(frozen=True, slots=True)
class ReportTotals:
    """Totals of an item."""

    documents: int
    """All URLs of the item, in any state."""
    collected: int
    """Documents with a status from 200 to 299."""
    waiting: int
    links: int
    bytes: int
    servers: int
    """Servers from which at least one document was collected."""


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Fixity of the WARC files of an item."""

    files: int
    verified: int
    """Read back, and nothing was wrong."""
    missing: int
    damaged: int
    unchecked: int
    """Not read back yet."""
    bytes: int
    oldest_check: str | None
    """When the file that was read back longest ago was read."""
    lost_bodies: int | None
    """Documents without a readable body; None before a file was read back."""


@dataclass(frozen=True, slots=True)
class ItemReport:
    """Report of one item."""

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
    files: FileCounts
    belief: Any = None
    """`tarantula.freshness.report.FreshnessReport` of a refresh item, if the caller adds it."""

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON; the keys are a stable interface."""
        return asdict(self)


def make_report(session: Session, item: Item, servers: int | None = None) -> ItemReport:
    """Count an item's documents; *servers* limits the table of servers to the busiest."""
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
        files=count_files(session, item),
    )


def count_files(session: Session, item: Item) -> FileCounts:
    """Count the WARC files of an item by state."""
    states: Counter[str] = Counter()
    unchecked, size, oldest = 0, 0, None
    for file in session.scalars(select(WarcFile).where(WarcFile.item_id == item.id)):
        states[file.state] += 1
        size += file.size or 0
        if file.checked_at is None:
            unchecked += 1
        else:
            oldest = min(oldest or file.checked_at, file.checked_at)
    return FileCounts(
        files=states.total(),
        verified=states[WarcFileState.VERIFIED],
        missing=states[WarcFileState.MISSING],
        damaged=states[WarcFileState.DAMAGED],
        unchecked=unchecked,
        bytes=size,
        oldest_check=oldest.isoformat() if oldest else None,
        lost_bodies=item.indicators.get("missing_bodies") if item.indicators is not None and oldest else None,
    )


class _Tally(NamedTuple):
    """Number, bytes and links of documents with the same state, type and size class."""

    state: int
    type: str | None
    power: int | None
    """Exponent of the size class: the size is at most two to this power, in KB."""
    documents: int
    bytes: int
    links: int


def _tally(session: Session, item_id: int) -> list[_Tally]:
    """Count an item's documents in one query; the number of groups is small."""
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
    """Return number and share of documents per state, largest number first."""
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
