"""Snapshots of a running item: counts, speed, busiest servers, latest documents and log lines."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import bindparam, exists, func, or_, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import reason_fields
from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState, Shortage
from tarantula.models import Collector, Document, Item, Server
from tarantula.progress.counts import HISTORY_SECONDS, UNFINISHED_STATES, DutyCycle, ItemCounts
from tarantula.publications.config import PublicationConfig
from tarantula.store import server_settings
from tarantula.store.listings import find_item
from tarantula.store.liveness import LiveCollector, database_time, live_collectors, pauses
from tarantula.store.warc_files import ReadBack, read_back


class StateCount(BaseModel):
    """Number of documents in a state."""

    state: int
    documents: int


class ServerProgress(BaseModel):
    """A busy server, or one that may not be visited yet."""

    server: str
    done: int
    waiting: int
    pause: float
    """Seconds between two visits."""
    backoff: float
    """Part of the pause that is backoff, in seconds."""
    wait: float
    """Seconds until the next visit is allowed; 0 if that is less than `MIN_SHOWN_WAIT_SECONDS`."""


class RecentDocument(BaseModel):
    """A recently finished document."""

    id: int
    url: str
    state: int
    type: str | None
    size: int | None


class SpeedHistory(BaseModel):
    """Finished documents in each of the last seconds."""

    last: int
    """Second of the last number, since 1970."""
    documents: list[int]


class ItemSnapshot(BaseModel):
    """Progress of an item at one time."""

    urn: str
    state: str
    reason: str | None
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    is_alive: bool
    stop_wanted: bool
    started_at: datetime | None
    deadline: datetime | None
    documents: int
    """Number of known documents."""
    done: int
    """Number of finished documents."""
    waiting: int
    under_way: int
    refused: int
    """Number of URLs refused by a rule before they were requested."""
    bytes: int
    per_second: float
    """Documents a second, over the last ten seconds."""
    seconds_left: int | None
    """Estimated time until no document waits, at the speed of the last minute; ``None`` if unknown."""
    collectors: int
    paused_for: list[Shortage]
    """Why collectors of the item pause; empty if none does."""
    states: list[StateCount]
    servers: list[ServerProgress]
    last: list[RecentDocument]
    """Latest first."""
    speed: SpeedHistory
    log: list[str]
    verified_at: datetime | None
    """When all its files had been read back."""
    read_back: ReadBack | None
    """How much of it was read back, if it is not verified; ``None`` while it is collected."""


BUSIEST_SERVERS = 8
MAX_TROUBLED_SERVERS = 8
MIN_SHOWN_WAIT_SECONDS = 1.0
"""A shorter wait is the usual pause and not shown."""


class ServerList:
    """The servers of an item that are worth showing."""

    def __init__(self, item: Item) -> None:
        self._item_id = item.id
        self._publication_id = item.publication_id
        self._delay = PublicationConfig.model_validate(item.configuration).delay
        self._waiting: dict[int, int] = {}
        self._waiting_servers: list[int] = []
        self._count_cycle = DutyCycle(at_least=4.0)

    def update(self, session: Session, counts: ItemCounts) -> list[ServerProgress]:
        """Return the busiest servers, then those that may not be visited yet or are in backoff."""
        busiest = [server for server, _ in counts.servers.most_common(BUSIEST_SERVERS)]
        if self._count_cycle.is_due():
            with self._count_cycle.measured():
                self._waiting_servers = self._find_waiting_servers(session)
                self._waiting = self._count_waiting(session, {*busiest, *self._waiting_servers})
        shown = list(dict.fromkeys([*busiest, *self._waiting_servers, *self._find_backoff_servers(session)]))
        found = {row.id: row for row in session.scalars(select(Server).where(Server.id.in_(shown)))}
        delays = server_settings.effective_server_settings(session.connection(), self._publication_id)
        now = database_time(session.connection())
        rows = []
        for row in (found[identity] for identity in shown if identity in found):
            own = delays[row.name].delay if row.name in delays else None
            wait = (row.not_before - now).total_seconds() if row.not_before is not None else 0.0
            rows.append(
                ServerProgress(
                    server=row.name,
                    done=counts.servers[row.id],
                    waiting=self._waiting.get(row.id, 0),
                    pause=row.pause if row.pause is not None else self._delay if own is None else own,
                    backoff=row.backoff or 0.0,
                    wait=round(wait) if wait > MIN_SHOWN_WAIT_SECONDS else 0.0,
                )
            )
        return rows

    def _find_backoff_servers(self, session: Session) -> Iterable[int]:
        """Return servers in backoff, among those leased to the collectors of the item."""
        mine = select(Collector.id).where(Collector.item_id == self._item_id)
        return session.scalars(
            select(Server.id)
            .where(Server.collector_id.in_(mine), Server.backoff > 0)
            .order_by(Server.backoff.desc())
            .limit(MAX_TROUBLED_SERVERS)
        )

    def _find_waiting_servers(self, session: Session) -> list[int]:
        """Return servers with waiting documents that may not be visited yet."""
        waiting = exists().where(
            Document.item_id == self._item_id,
            Document.server_id == Server.id,
            Document.state == DocumentState.WAITING,
        )
        later = Server.not_before > database_time(session.connection())
        return list(
            session.scalars(
                select(Server.id)
                .where(later, or_(Server.collector_id.is_(None), Server.backoff > 0), waiting)
                .order_by(Server.not_before.desc())
                .limit(MAX_TROUBLED_SERVERS)
            )
        )

    def _count_waiting(self, session: Session, shown: set[int]) -> dict[int, int]:
        rows = session.execute(
            select(Document.server_id, func.count())
            .where(
                Document.item_id == self._item_id,
                Document.server_id.in_(shown),
                Document.state == DocumentState.WAITING,
            )
            .group_by(Document.server_id)
        )
        return dict(rows.all())


RECENT_DOCUMENTS = 15
"""Number of documents in a snapshot."""
LOG_LINES = 20
"""Log lines in a snapshot."""
SPEED_SECONDS, ESTIMATE_SECONDS = 10, 60
"""Periods over which the speed is measured, for display and for the estimated time left."""


class ItemWatch:
    """Makes snapshots of one item. Not thread-safe."""

    def __init__(self, installation: Config, database: Database, urn: str) -> None:
        self._database = database
        self._urn = urn
        self._directory: Path = installation.items / urn
        with database.reading() as session:
            item = find_item(session, urn)
            self._item_id = item.id
            self._counts = ItemCounts(item.id)
            self._server_list = ServerList(item)
        self._server_cycle = DutyCycle(at_least=1.0, at_most=5.0)
        self._servers: list[ServerProgress] = []
        self._collectors: list[LiveCollector] = []

    def snapshot(self) -> ItemSnapshot:
        """Return the present snapshot."""
        with self._database.reading() as session:
            now = datetime.now(UTC)
            item = session.get(Item, self._item_id) or find_item(session, self._urn)
            self._counts.update(session, item, now)
            if self._server_cycle.is_due():
                with self._server_cycle.measured():
                    self._servers = self._server_list.update(session, self._counts)
                    self._collectors = [
                        worker for worker in live_collectors(session.connection()) if worker.item_id == item.id
                    ]
            return self._snapshot(session, item, now)

    def _snapshot(self, session: Session, item: Item, now: datetime) -> ItemSnapshot:
        counts = self._counts
        states = +counts.states
        is_alive = ItemState(item.state) in ACTIVE_ITEM_STATES
        under_way = states[DocumentState.COLLECTING]
        return ItemSnapshot(
            urn=item.urn,
            state=item.state,
            **reason_fields(item.reason),
            is_alive=is_alive,
            stop_wanted=item.stop_wanted_at is not None,
            started_at=item.started_at,
            deadline=item.deadline,
            documents=states.total(),
            done=counts.done,
            waiting=counts.waiting,
            under_way=under_way,
            refused=max(states.total() - counts.done - counts.waiting - under_way, 0),
            bytes=counts.bytes,
            per_second=round(self._per_second(now, SPEED_SECONDS), 1),
            seconds_left=self._seconds_left(now) if is_alive else None,
            collectors=len(self._collectors),
            paused_for=pauses(self._collectors).get(item.id, []),
            states=[StateCount(state=state, documents=number) for state, number in states.most_common()],
            servers=self._servers,
            last=_latest_documents(session, item.id),
            speed=self._speed(now),
            log=read_log_tail(self._directory, LOG_LINES),
            verified_at=item.verified_at,
            read_back=read_back(session, [item]).get(item.id),
        )

    def _per_second(self, now: datetime, seconds: int) -> float:
        end = int(now.timestamp())
        return sum(self._counts.seconds[second] for second in range(end - seconds, end)) / seconds

    def _seconds_left(self, now: datetime) -> int | None:
        speed = self._per_second(now, ESTIMATE_SECONDS)
        return round(self._counts.waiting / speed) if speed else None

    def _speed(self, now: datetime) -> SpeedHistory:
        # The present second is not complete.
        last = int(now.timestamp()) - 1
        begin = last - HISTORY_SECONDS + 1
        return SpeedHistory(last=last, documents=[self._counts.seconds[second] for second in range(begin, last + 1)])


_LATEST_DOCUMENTS = (
    select(Document.id, Document.url, Document.state, Document.type, Document.size)
    .where(
        Document.item_id == bindparam("item"),
        Document.collected_at.is_not(None),
        Document.state.not_in(UNFINISHED_STATES),
    )
    .order_by(Document.collected_at.desc())
    .limit(RECENT_DOCUMENTS)
)


def _latest_documents(session: Session, item_id: int) -> list[RecentDocument]:
    return [
        RecentDocument.model_construct(**row._mapping) for row in session.execute(_LATEST_DOCUMENTS, {"item": item_id})
    ]


LOG_TAIL_BYTES = 1 << 16
"""Bytes read from the end of a log."""


def read_log_tail(directory: Path, lines: int) -> list[str]:
    """Return the last lines of the most recent log in a directory."""
    logs = [(path.stat().st_mtime, path) for path in directory.glob("*.log")]
    if not logs:
        return []
    with max(logs)[1].open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - LOG_TAIL_BYTES, 0))
        found = file.read(LOG_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    return (found if size <= LOG_TAIL_BYTES else found[1:])[-lines:]
