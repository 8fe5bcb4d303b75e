"""Looks at one item, again and again."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.config import Config
from tarantula.db import Database
from tarantula.life.workers import living
from tarantula.listings import find_item
from tarantula.log_tails import tail
from tarantula.models import Document, Item
from tarantula.states import ALIVE, DocumentState, ItemState
from tarantula.watch.busiest import Busiest
from tarantula.watch.sight import SeenDocument, SeenState, Sight, Speed
from tarantula.watch.tally import HISTORY, Done, Tally

LAST = 15
"""Documents that are shown."""
LINES = 20
"""Of the log."""
RECENT, LONGER = 10, 60
"""Seconds over which the speed is measured, for itself and for how long the rest takes."""


class Watch:
    """Sees one item; to be used by one thread at a time."""

    def __init__(self, installation: Config, database: Database, urn: str) -> None:
        self._database = database
        self._urn = urn
        self._directory: Path = installation.items / urn
        with database.reading() as session:
            item = find_item(session, urn)
            self._tally = Tally(item.id)
            self._busiest = Busiest(item)
        self._last: deque[SeenDocument] = deque(maxlen=LAST)

    def look(self) -> Sight:
        """Return what is seen now."""
        with self._database.reading() as session:
            now = datetime.now(UTC)
            item = find_item(session, self._urn)
            news = self._tally.look(session, item, now)
            self._last.extendleft(_documents(session, news[-LAST:]))
            return self._sight(session, item, now)

    def _sight(self, session: Session, item: Item, now: datetime) -> Sight:
        tally = self._tally
        states = +tally.states
        is_alive = ItemState(item.state) in ALIVE
        under_way = states[DocumentState.COLLECTING]
        return Sight(
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
            collectors=sum(worker.item_id == item.id for worker in living(session.connection())) if is_alive else 0,
            states=[SeenState(state=state, documents=number) for state, number in states.most_common()],
            servers=self._busiest.look(session, tally),
            last=list(self._last),
            speed=self._speed(now),
            log=tail(self._directory, LINES),
        )

    def _per_second(self, now: datetime, seconds: int) -> float:
        end = int(now.timestamp())
        return sum(self._tally.seconds[second] for second in range(end - seconds, end)) / seconds

    def _seconds_left(self, now: datetime) -> int | None:
        speed = self._per_second(now, LONGER)
        return round(self._tally.waiting / speed) if speed else None

    def _speed(self, now: datetime) -> Speed:
        # The present second is not over.
        last = int(now.timestamp()) - 1
        begin = last - int(HISTORY.total_seconds()) + 1
        return Speed(last=last, documents=[self._tally.seconds[second] for second in range(begin, last + 1)])


def _documents(session: Session, news: list[Done]) -> list[SeenDocument]:
    rows = session.execute(
        select(Document.id, Document.url, Document.state, Document.type, Document.size).where(
            Document.id.in_([one.id for one in news])
        )
    )
    found = {row.id: SeenDocument(**row._mapping) for row in rows}
    return [found[one.id] for one in news if one.id in found]
