"""Snapshots of a running item: counts, speed, busiest servers, latest documents and log lines. Texts are made where it
is shown.
"""

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
from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState
from tarantula.models import Collector, Document, Item, Server
from tarantula.progress.counts import HISTORY_SECONDS, UNFINISHED_STATES, DutyCycle, ItemCounts
from tarantula.publications import servers
from tarantula.publications.config import PublicationConfig
from tarantula.store.listings import find_item
from tarantula.store.liveness import database_time, live_collectors


class StateCount(BaseModel):
    """How many documents are in a state."""

    state: int
    documents: int


class ServerProgress(BaseModel):
    """A server that is busy, or left alone for a while."""

    server: str
    done: int
    waiting: int
    pause: float
    """Seconds between two visits."""
    backoff: float
    """How many of them because it was in trouble."""
    wait: float
    """Seconds for which it must still be left alone; what is short is not told."""


class RecentDocument(BaseModel):
    """A document that was done with lately."""

    id: int
    url: str
    state: int
    type: str | None
    size: int | None


class SpeedHistory(BaseModel):
    """How many documents were done with in each of the last seconds."""

    last: int
    """Which second the last number is of, since 1970."""
    documents: list[int]


class ItemSnapshot(BaseModel):
    """An item at one moment."""

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
    """All that are known of."""
    done: int
    """Those whose turn came."""
    waiting: int
    under_way: int
    refused: int
    """Those that a rule refused before their turn came."""
    bytes: int
    per_second: float
    """Documents, over the last ten seconds."""
    seconds_left: int | None
    """Until nothing waits, if it goes on as in the last minute and nothing more is found; nothing if nobody knows."""
    collectors: int
    states: list[StateCount]
    servers: list[ServerProgress]
    last: list[RecentDocument]
    """The latest first."""
    speed: SpeedHistory
    log: list[str]


BUSIEST_SERVERS = 8
MAX_TROUBLED_SERVERS = 8
MIN_SHOWN_WAIT_SECONDS = 1.0
"""Seconds; a shorter wait is the usual pause."""


class ServerList:
    """Knows which servers to show."""

    def __init__(self, item: Item) -> None:
        self._item_id = item.id
        self._publication_id = item.publication_id
        self._delay = PublicationConfig.model_validate(item.configuration).delay
        self._waiting: dict[int, int] = {}
        self._alone: list[int] = []
        self._counting = DutyCycle(at_least=4.0)

    def look(self, session: Session, tally: ItemCounts) -> list[ServerProgress]:
        """Return the busiest servers, then those that are left alone for a while."""
        busiest = [server for server, _ in tally.servers.most_common(BUSIEST_SERVERS)]
        if self._counting.is_now():
            with self._counting.doing():
                self._alone = self._left_alone(session)
                self._waiting = self._count_waiting(session, {*busiest, *self._alone})
        shown = list(dict.fromkeys([*busiest, *self._alone, *self._in_trouble(session)]))
        found = {row.id: row for row in session.scalars(select(Server).where(Server.id.in_(shown)))}
        delays = servers.effective_server_settings(session.connection(), self._publication_id)
        now = database_time(session.connection())
        rows = []
        for row in (found[identity] for identity in shown if identity in found):
            own = delays[row.name].delay if row.name in delays else None
            wait = (row.not_before - now).total_seconds() if row.not_before is not None else 0.0
            rows.append(
                ServerProgress(
                    server=row.name,
                    done=tally.servers[row.id],
                    waiting=self._waiting.get(row.id, 0),
                    pause=row.pause if row.pause is not None else self._delay if own is None else own,
                    backoff=row.backoff or 0.0,
                    wait=round(wait) if wait > MIN_SHOWN_WAIT_SECONDS else 0.0,
                )
            )
        return rows

    def _in_trouble(self, session: Session) -> Iterable[int]:
        """Return servers on lease to the item's collectors that have too much to do, or are not reached."""
        mine = select(Collector.id).where(Collector.item_id == self._item_id)
        return session.scalars(
            select(Server.id)
            .where(Server.collector_id.in_(mine), Server.backoff > 0)
            .order_by(Server.backoff.desc())
            .limit(MAX_TROUBLED_SERVERS)
        )

    def _left_alone(self, session: Session) -> list[int]:
        """Return servers at which documents wait, and which nobody may visit for a while."""
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
"""Documents that are shown."""
LOG_LINES = 20
"""Of the log."""
RECENT, LONGER = 10, 60
"""Seconds over which the speed is measured, for itself and for how long the rest takes."""


class ItemWatch:
    """Sees one item; to be used by one thread at a time."""

    def __init__(self, installation: Config, database: Database, urn: str) -> None:
        self._database = database
        self._urn = urn
        self._directory: Path = installation.items / urn
        with database.reading() as session:
            item = find_item(session, urn)
            self._item_id = item.id
            self._tally = ItemCounts(item.id)
            self._busiest = ServerList(item)
        self._looking_around = DutyCycle(at_least=1.0, at_most=5.0)
        self._servers: list[ServerProgress] = []
        self._collectors = 0

    def look(self) -> ItemSnapshot:
        """Return what is seen now."""
        with self._database.reading() as session:
            now = datetime.now(UTC)
            item = session.get(Item, self._item_id) or find_item(session, self._urn)
            self._tally.look(session, item, now)
            if self._looking_around.is_now():
                with self._looking_around.doing():
                    self._servers = self._busiest.look(session, self._tally)
                    self._collectors = sum(
                        worker.item_id == item.id for worker in live_collectors(session.connection())
                    )
            return self._sight(session, item, now)

    def _sight(self, session: Session, item: Item, now: datetime) -> ItemSnapshot:
        tally = self._tally
        states = +tally.states
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
            done=tally.done,
            waiting=tally.waiting,
            under_way=under_way,
            refused=max(states.total() - tally.done - tally.waiting - under_way, 0),
            bytes=tally.bytes,
            per_second=round(self._per_second(now, RECENT), 1),
            seconds_left=self._seconds_left(now) if is_alive else None,
            collectors=self._collectors,
            states=[StateCount(state=state, documents=number) for state, number in states.most_common()],
            servers=self._servers,
            last=_last(session, item.id),
            speed=self._speed(now),
            log=read_log_tail(self._directory, LOG_LINES),
        )

    def _per_second(self, now: datetime, seconds: int) -> float:
        end = int(now.timestamp())
        return sum(self._tally.seconds[second] for second in range(end - seconds, end)) / seconds

    def _seconds_left(self, now: datetime) -> int | None:
        speed = self._per_second(now, LONGER)
        return round(self._tally.waiting / speed) if speed else None

    def _speed(self, now: datetime) -> SpeedHistory:
        # The present second is not over.
        last = int(now.timestamp()) - 1
        begin = last - HISTORY_SECONDS + 1
        return SpeedHistory(last=last, documents=[self._tally.seconds[second] for second in range(begin, last + 1)])


_LATEST = (
    select(Document.id, Document.url, Document.state, Document.type, Document.size)
    .where(
        Document.item_id == bindparam("item"),
        Document.collected_at.is_not(None),
        Document.state.not_in(UNFINISHED_STATES),
    )
    .order_by(Document.collected_at.desc())
    .limit(RECENT_DOCUMENTS)
)


def _last(session: Session, item_id: int) -> list[RecentDocument]:
    return [RecentDocument.model_construct(**row._mapping) for row in session.execute(_LATEST, {"item": item_id})]


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
