"""How many documents an item has, of what state, size and server.

Everything is counted when somebody begins to look, and anew from time to time; in between, what was done with since the
last look is added. A document is committed a while after it was collected, so each look goes back a little.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.finding import ends_of
from tarantula.models import Document, Item
from tarantula.states import DocumentState, is_final
from tarantula.watch.due import Due

LATE = timedelta(seconds=5)
"""By how much a commit may be late for a document to be added at once; it is counted with all others anyway."""
HISTORY = timedelta(seconds=120)
"""How far back the speed is known."""


class Done(NamedTuple):
    """A document that was done with."""

    id: int
    collected_at: datetime
    state: int
    server_id: int
    size: int | None


class Tally:
    """The counts of one item."""

    def __init__(self, item_id: int) -> None:
        self._item_id = item_id
        self._counting, self._looking_for_waiting = Due(), Due()
        self._added: dict[tuple[int, datetime], None] = {}
        self._newest: datetime | None = None
        self.states: Counter[int] = Counter()
        self.servers: Counter[int] = Counter()
        """How many documents of each server were done with."""
        self.seconds: Counter[int] = Counter()
        """How many documents were done with in each second since 1970."""
        self.bytes = 0
        self.done = 0

    def look(self, session: Session, item: Item, now: datetime) -> list[Done]:
        """Bring the counts up to date; return what was done with since the last look."""
        is_first = self._newest is None
        news = self._news(session, now)
        if is_first or self._counting.is_now():
            with self._counting.doing():
                self._count(session, item)
        else:
            self._add(news)
            self._count_waiting(session)
        for done in news:
            self.seconds[int(done.collected_at.timestamp())] += 1
        for second in [one for one in self.seconds if one < (now - HISTORY).timestamp()]:
            del self.seconds[second]
        return news

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self.states[DocumentState.WAITING]

    def _news(self, session: Session, now: datetime) -> list[Done]:
        since = now - HISTORY if self._newest is None else self._newest - LATE
        rows = session.execute(
            select(Document.id, Document.collected_at, Document.state, Document.server_id, Document.size)
            .where(Document.item_id == self._item_id, Document.collected_at > since)
            .order_by(Document.collected_at)
        )
        seen = [Done._make(row) for row in rows]
        news = [one for one in seen if is_final(one.state) and (one.id, one.collected_at) not in self._added]
        self._newest = max((one.collected_at for one in seen), default=self._newest or now)
        late = self._newest - LATE
        # What a look can find again must be known again.
        self._added = dict.fromkeys(
            (one.id, one.collected_at) for one in seen if is_final(one.state) and one.collected_at > late
        )
        return news

    def _add(self, news: list[Done]) -> None:
        for one in news:
            self.states[one.state] += 1
            self.servers[one.server_id] += 1
            self.bytes += one.size or 0
            self.done += 1

    def _count(self, session: Session, item: Item) -> None:
        first, last = ends_of(session, item)
        states = session.execute(
            select(Document.state, func.count())
            # The ids lead to the rows, in the order in which they lie.
            .where(Document.item_id + 0 == self._item_id, Document.id.between(first, last))
            .group_by(Document.state)
        )
        self.states = Counter(dict(states.all()))
        servers = session.execute(
            select(
                Document.server_id,
                func.count().label("documents"),
                func.coalesce(func.sum(Document.size), 0).label("bytes"),
            )
            .where(
                Document.item_id == self._item_id,
                Document.collected_at.is_not(None),
                Document.state.not_in((DocumentState.WAITING, DocumentState.COLLECTING)),
            )
            .group_by(Document.server_id)
        ).all()
        self.servers = Counter({row.server_id: row.documents for row in servers})
        self.bytes = sum(int(row.bytes) for row in servers)
        self.done = self.servers.total()

    def _count_waiting(self, session: Session) -> None:
        """Count what waits and what is under way, which have indexes of their own."""
        if not self._looking_for_waiting.is_now():
            return
        with self._looking_for_waiting.doing():
            for state in (DocumentState.WAITING, DocumentState.COLLECTING):
                number = select(func.count()).where(Document.item_id == self._item_id, Document.state == state)
                self.states[state] = session.scalar(number) or 0
