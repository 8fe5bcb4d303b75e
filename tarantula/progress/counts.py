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
"""Seconds of pause for each second that the work took."""


class DutyCycle:
    """Limits how often some work is done, so that it takes a small share of the time.

    The pause in seconds is at least *at_least*. A limit *at_most* is for work that is slow only when the database is
    busy.
    """

    def __init__(self, at_least: float = 0.0, at_most: float = inf) -> None:
        self._at_least = at_least
        self._at_most = at_most
        self._next = 0.0

    def is_due(self) -> bool:
        """Whether the pause is over."""
        return monotonic() >= self._next

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the time of the work within the context, and set the next time."""
        began = monotonic()
        yield
        took = monotonic() - began
        self._next = began + took + min(max(took * PAUSE_FACTOR, self._at_least), self._at_most)


MAX_COMMIT_DELAY_SECONDS = 3
"""Delay of a commit up to which a document is counted at the next poll."""
FULL_COUNT_SECONDS, UNFINISHED_COUNT_SECONDS = 4.0, 0.9
"""Least interval between two full counts, and between two counts of unfinished documents."""
HISTORY_SECONDS = 120
"""Length of the speed history."""
UNFINISHED_STATES = (DocumentState.WAITING, DocumentState.COLLECTING)

_TOTAL_SIZE: ColumnElement[int] = func.coalesce(func.sum(Document.size), 0)
_IS_FINISHED = (Document.item_id == bindparam("item"), Document.state.not_in(UNFINISHED_STATES))


class CountedGroup(NamedTuple):
    """Documents of one server that got the same state in the same second."""

    second: int
    state: int
    server_id: int
    documents: int
    bytes: int


class DocumentCounts:
    """Counts of finished documents."""

    def __init__(self) -> None:
        self.states: Counter[int] = Counter()
        self.servers: Counter[int] = Counter()
        self.bytes = 0

    def add(self, group: CountedGroup, sign: int = 1) -> None:
        """Add a group of documents, or subtract it if *sign* is -1."""
        self.states[group.state] += sign * group.documents
        self.servers[group.server_id] += sign * group.documents
        self.bytes += sign * group.bytes


class ItemCounts:
    """Counts of the documents of one item."""

    def __init__(self, item_id: int) -> None:
        self._item_id = item_id
        self._full_count, self._unfinished_count = DutyCycle(FULL_COUNT_SECONDS), DutyCycle(UNFINISHED_COUNT_SECONDS)
        self._known = DocumentCounts()
        self._known_until = 0
        self._recent_groups: list[CountedGroup] = []
        self._recent: dict[str, Any] = {}
        self.seconds: Counter[int] = Counter()
        """Finished documents by second since 1970."""
        self.states: Counter[int] = Counter()
        self.servers: Counter[int] = Counter()
        """Finished documents by server id."""
        self.bytes = 0
        self.done = 0

    def update(self, session: Session, item: Item, now: datetime) -> None:
        """Update the counts."""
        is_first = not self._known_until
        self._known_until = self._known_until or int(now.timestamp()) - HISTORY_SECONDS
        self._recent_groups = self._done_since(session, self._known_until)
        self._update_seconds(int(now.timestamp()))
        if is_first or self._full_count.is_due():
            with self._full_count.measured():
                self._count(session, item)
        elif self._unfinished_count.is_due():
            with self._unfinished_count.measured():
                self._count_unfinished(session)
        self._sum_up()

    @property
    def waiting(self) -> int:
        """Number of waiting documents."""
        return self.states[DocumentState.WAITING]

    def _sum_up(self) -> None:
        """Add the recent groups to the known counts, then move groups that are final to the known counts."""
        self.states = self._known.states.copy()
        self.servers = self._known.servers.copy()
        self.bytes = self._known.bytes
        for group in self._recent_groups:
            self.states[group.state] += group.documents
            self.servers[group.server_id] += group.documents
            self.bytes += group.bytes
        self.done = self.servers.total()
        until = max((group.second for group in self._recent_groups), default=0) - MAX_COMMIT_DELAY_SECONDS
        if until > self._known_until:
            for group in self._recent_groups:
                if group.second < until:
                    self._known.add(group)
            self._known_until = until

    def _update_seconds(self, now: int) -> None:
        for second in [one for one in self.seconds if one >= self._known_until or one < now - HISTORY_SECONDS]:
            del self.seconds[second]
        for group in self._recent_groups:
            self.seconds[group.second] += group.documents

    def _done_since(self, session: Session, second: int) -> list[CountedGroup]:
        database = session.get_bind().dialect.name
        if database not in self._recent:
            self._recent[database] = _done_since(database)
        since = datetime.fromtimestamp(second, UTC)
        rows = session.execute(self._recent[database], {"item": self._item_id, "since": since})
        return [CountedGroup(*map(int, row)) for row in rows]

    def _count(self, session: Session, item: Item) -> None:
        """Count everything; the known counts are the total without the recent groups."""
        first, last = document_id_range(session, item)
        states = session.execute(
            select(Document.state, func.count())
            # With `+ 0` the range of ids is used instead of an index: rows are read in storage order.
            .where(Document.item_id + 0 == self._item_id, Document.id.between(first, last))
            .group_by(Document.state)
        )
        servers = session.execute(
            select(Document.server_id, func.count(), _TOTAL_SIZE)
            .where(*_IS_FINISHED, Document.collected_at.is_not(None))
            .group_by(Document.server_id),
            {"item": self._item_id},
        ).all()
        self._known.states = Counter(dict(states.all()))
        self._known.servers = Counter({server: number for server, number, _ in servers})
        self._known.bytes = sum(int(size) for _, _, size in servers)
        for group in self._recent_groups:
            self._known.add(group, -1)

    def _count_unfinished(self, session: Session) -> None:
        """Count waiting documents and those in progress, from their partial indexes."""
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
        select(second, Document.state, Document.server_id, func.count(), _TOTAL_SIZE)
        .where(*_IS_FINISHED, at >= bindparam("since", type_=UtcDateTime()))
        .group_by(second, Document.state, Document.server_id)
    )
