"""Looks at one item, again and again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState
from tarantula.lifecycle.processes import live_collectors
from tarantula.lifecycle.processes_part_log_tails import read_log_tail
from tarantula.progress.counts import HISTORY_SECONDS, UNFINISHED_STATES, ItemCounts
from tarantula.progress.counts_part_due import DutyCycle
from tarantula.progress.snapshot_part_busiest import ServerList
from tarantula.progress.snapshot_part_sight import (
    ItemSnapshot,
    RecentDocument,
    ServerProgress,
    SpeedHistory,
    StateCount,
)
from tarantula.store.listings import find_item
from tarantula.tables.publications import Document, Item

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
            reason=item.reason,
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
