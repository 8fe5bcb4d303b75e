"""Count the documents of an item by state, size and server.

Everything is counted when watching begins, and again from time to time. In between, documents of the last seconds are
counted at each poll and older ones are taken as known: a commit that comes later than that waits for the next full
count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, bindparam, cast, func, select
from sqlalchemy.orm import Session

from tarantula.core.states import DocumentState
from tarantula.models import Document, Item, UtcDateTime
from tarantula.store.document_query import document_id_range

PAUSE_FACTOR = 100
"""What took a second is done again after as many seconds."""


class DutyCycle:
    """Knows when something is to be done again; *at_least* so many seconds later.

    *at_most* is for what is quick by itself, and takes long only when others are busy.
    """

    def __init__(self, at_least: float = 0.0, at_most: float = inf) -> None:
        self._at_least = at_least
        self._at_most = at_most
        self._next = 0.0

    def is_now(self) -> bool:
        """Whether its time has come."""
        return monotonic() >= self._next

    @contextmanager
    def doing(self) -> Iterator[None]:
        """Do it, and see how long it takes."""
        began = monotonic()
        yield
        took = monotonic() - began
        self._next = began + took + min(max(took * PAUSE_FACTOR, self._at_least), self._at_most)


MAX_COMMIT_DELAY_SECONDS = 3
"""By how many seconds a commit may be late for a document to be counted at once."""
WHOLE, PART = 4.0, 0.9
"""Seconds between two counts of everything, and of what waits and is under way, at least."""
HISTORY_SECONDS = 120
"""Seconds of which the speed is known."""
UNFINISHED_STATES = (DocumentState.WAITING, DocumentState.COLLECTING)

_SIZE: ColumnElement[int] = func.coalesce(func.sum(Document.size), 0)
_DONE = (Document.item_id == bindparam("item"), Document.state.not_in(UNFINISHED_STATES))


class CountedGroup(NamedTuple):
    """Documents of one server that came to the same state in the same second."""

    second: int
    state: int
    server_id: int
    documents: int
    bytes: int


class DocumentCounts:
    """Of documents that were done with."""

    def __init__(self) -> None:
        self.states: Counter[int] = Counter()
        self.servers: Counter[int] = Counter()
        self.bytes = 0

    def add(self, group: CountedGroup, sign: int = 1) -> None:
        """Count some documents, or take them back."""
        self.states[group.state] += sign * group.documents
        self.servers[group.server_id] += sign * group.documents
        self.bytes += sign * group.bytes


class ItemCounts:
    """The counts of one item."""

    def __init__(self, item_id: int) -> None:
        self._item_id = item_id
        self._counting, self._counting_undone = DutyCycle(WHOLE), DutyCycle(PART)
        self._known = DocumentCounts()
        self._known_until = 0
        self._lately: list[CountedGroup] = []
        self._recent: dict[str, Any] = {}
        self.seconds: Counter[int] = Counter()
        """How many documents were done with in each second since 1970."""
        self.states: Counter[int] = Counter()
        self.servers: Counter[int] = Counter()
        """How many documents of each server were done with."""
        self.bytes = 0
        self.done = 0

    def look(self, session: Session, item: Item, now: datetime) -> None:
        """Bring the counts up to date."""
        is_first = not self._known_until
        self._known_until = self._known_until or int(now.timestamp()) - HISTORY_SECONDS
        self._lately = self._done_since(session, self._known_until)
        self._keep_seconds(int(now.timestamp()))
        if is_first or self._counting.is_now():
            with self._counting.doing():
                self._count(session, item)
        elif self._counting_undone.is_now():
            with self._counting_undone.doing():
                self._count_undone(session)
        self._sum_up()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self.states[DocumentState.WAITING]

    def _sum_up(self) -> None:
        """Put together what is known and what came lately, then take as known what is not so late any more."""
        self.states = self._known.states.copy()
        self.servers = self._known.servers.copy()
        self.bytes = self._known.bytes
        for group in self._lately:
            self.states[group.state] += group.documents
            self.servers[group.server_id] += group.documents
            self.bytes += group.bytes
        self.done = self.servers.total()
        until = max((group.second for group in self._lately), default=0) - MAX_COMMIT_DELAY_SECONDS
        if until > self._known_until:
            for group in self._lately:
                if group.second < until:
                    self._known.add(group)
            self._known_until = until

    def _keep_seconds(self, now: int) -> None:
        for second in [one for one in self.seconds if one >= self._known_until or one < now - HISTORY_SECONDS]:
            del self.seconds[second]
        for group in self._lately:
            self.seconds[group.second] += group.documents

    def _done_since(self, session: Session, second: int) -> list[CountedGroup]:
        database = session.get_bind().dialect.name
        if database not in self._recent:
            self._recent[database] = _done_since(database)
        since = datetime.fromtimestamp(second, UTC)
        rows = session.execute(self._recent[database], {"item": self._item_id, "since": since})
        return [CountedGroup(*map(int, row)) for row in rows]

    def _count(self, session: Session, item: Item) -> None:
        """Count everything: what is known is the whole without what came lately."""
        first, last = document_id_range(session, item)
        states = session.execute(
            select(Document.state, func.count())
            # The ids lead to the rows, in the order in which they lie.
            .where(Document.item_id + 0 == self._item_id, Document.id.between(first, last))
            .group_by(Document.state)
        )
        servers = session.execute(
            select(Document.server_id, func.count(), _SIZE)
            .where(*_DONE, Document.collected_at.is_not(None))
            .group_by(Document.server_id),
            {"item": self._item_id},
        ).all()
        self._known.states = Counter(dict(states.all()))
        self._known.servers = Counter({server: number for server, number, _ in servers})
        self._known.bytes = sum(int(size) for _, _, size in servers)
        for group in self._lately:
            self._known.add(group, -1)

    def _count_undone(self, session: Session) -> None:
        """Count what waits and what is under way, which have indexes of their own."""
        for state in UNFINISHED_STATES:
            number = select(func.count()).where(Document.item_id == self._item_id, Document.state == state)
            self._known.states[state] = session.scalar(number) or 0


def _done_since(database: str) -> Any:
    at = Document.collected_at
    epoch: ColumnElement[Any] = (
        func.strftime("%s", at) if database == "sqlite" else func.floor(func.extract("epoch", at))
    )
    second = cast(epoch, Integer).label("second")
    return (
        select(second, Document.state, Document.server_id, func.count(), _SIZE)
        .where(*_DONE, at >= bindparam("since", type_=UtcDateTime()))
        .group_by(second, Document.state, Document.server_id)
    )
