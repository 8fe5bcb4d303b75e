"""Commit groups: work that an event loop hands to a writer thread, committed in one transaction.

All work that arrives while one group is written becomes the next group, so groups are small under light load and
large under heavy load. The thread also sends the heartbeat of its process's leases.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tarantula.core.errors import TarantulaError
from tarantula.fetch.exchange import Exchange
from tarantula.items import FrontierEntry, PreviousCapture
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome
from tarantula.store.errors import is_database_away, is_lost_race, storage_error
from tarantula.store.leases import HEARTBEAT_SECONDS, LEASE_SAFE_SECONDS, Lease

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1.0
"""Seconds between two tries at a database that is away."""
MAX_RACE_RETRIES = 20
"""How often a group is tried again because another process wrote the same rows."""


class GroupProtocol(Protocol):
    """Everything that arrived while the last group was being written."""

    last: bool

    def add(self, work: Any) -> None:
        """Sort a piece of work into its place; ``None`` says that it is the last."""

    def waiters(self) -> list[Future[Any]]:
        """Return everyone who waits for this group."""


G = TypeVar("G", bound=GroupProtocol)
N = TypeVar("N")


class GroupCommitThread(ABC, Generic[G, N]):
    """Takes work from the event loop, and answers there."""

    def __init__(self, engine: Engine, loop: AbstractEventLoop, name: str) -> None:
        self._engine = engine
        self._loop = loop
        self._work: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._closing = Event()
        self._beaten = monotonic()
        self.failure: TarantulaError | None = None
        self.groups = 0

    @abstractmethod
    def _new_group(self) -> G:
        """Return an empty group."""

    @abstractmethod
    def _write_rows(self, connection: Connection, group: G, beat: bool) -> N:
        """Write a group's rows in a transaction; return what that brought about."""

    @abstractmethod
    def _deliver(self, group: G, news: N) -> None:
        """Tell those who wait, on the event loop."""

    def _prepare(self, group: G) -> None:
        """Do what comes before the transaction."""

    @abstractmethod
    def _undoing(self) -> AbstractContextManager[None]:
        """Forget what was learned in a transaction that failed, its commit among it."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self) -> None:
        """Write what is left, and end."""
        self._closing.set()
        self._work.put(None)
        self._thread.join()

    @property
    def has_leases(self) -> bool:
        """Whether others surely know that this collector is alive: if not, its servers may be theirs already."""
        return monotonic() - self._beaten < LEASE_SAFE_SECONDS

    def _ask(self, work: object) -> Future[Any]:
        future: Future[Any] = self._loop.create_future()
        self._work.put((work, future))
        return future

    def _run(self) -> None:
        last = False
        while not last:
            group = self._next_group()
            self._write(group)
            last = group.last

    def _next_group(self) -> G:
        group = self._new_group()
        try:
            group.add(self._work.get(timeout=HEARTBEAT_SECONDS))
            while not self._work.empty():
                group.add(self._work.get())
        except Empty:
            pass
        return group

    def _write(self, group: G) -> None:
        try:
            if self.failure is not None:
                raise self.failure
            self._prepare(group)
            news = self._commit(group)
        except Exception as error:
            # Whatever it is, those who wait must hear of it: a writer that died in silence would stop everything.
            if self.failure is None:
                self.failure = storage_error(error)
                logger.error("%s", self.failure)
            self._call(_fail, group.waiters(), self.failure)
        else:
            self.groups += 1
            self._call(self._deliver, group, news)

    def _commit(self, group: G) -> N:
        """Write a group's rows in one transaction, however long the database is away."""
        was_away = False
        races = 0
        while True:
            began = monotonic()
            beat = began - self._beaten >= HEARTBEAT_SECONDS
            try:
                with self._undoing(), self._engine.begin() as connection:
                    news = self._write_rows(connection, group, beat)
            except SQLAlchemyError as error:
                if is_lost_race(error) and races < MAX_RACE_RETRIES:
                    races += 1
                    continue
                if not is_database_away(error) or self._closing.wait(DATABASE_RETRY_SECONDS):
                    raise
                if not was_away:
                    logger.warning("The database is away (%s); waiting for it.", storage_error(error))
                was_away = True
                continue
            if was_away:
                logger.warning("The database is back; going on.")
            if beat:
                self._beaten = began
            return news

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def resolve_future(future: Future[Any], value: object) -> None:
    """Answer somebody who waits, unless that one has gone."""
    if not future.done():
        future.set_result(value)


def _fail(futures: list[Future[Any]], failure: TarantulaError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(failure)


@dataclass(slots=True)
class FinishedDocument:
    """A document that is done with, or to be tried again."""

    outcome: DocumentOutcome
    depth: int = 0
    """The depth from which its links were judged."""
    exchange: Exchange | None = None
    rendered: bytes | None = None
    found: Sequence[DiscoveredUrl] = ()
    links: Mapping[bytes, int] = field(default_factory=dict)
    """The keys of the URLs that it names, with the kinds of the links."""
    server: str = ""
    wait: float = 0.0
    """Seconds for which its server must then be left alone."""
    earlier: PreviousCapture | None = None
    """What an earlier item kept of it, if its body may be left there."""

    def kept_before(self, digest: str) -> PreviousCapture | None:
        """Return the earlier capture whose body has this digest and means the same, if there is one."""
        earlier, outcome = self.earlier, self.outcome
        if earlier is None or self.rendered is not None or digest != earlier.digest:
            return None
        if self.exchange is not None and self.exchange.not_modified is not None:
            return earlier
        if not outcome.size:
            return None
        # The same bytes may be unpacked or read differently now.
        now = (outcome.size, outcome.type, outcome.charset)
        return earlier if now == (earlier.size, earlier.type, earlier.charset) else None


class RefillRequest(NamedTuple):
    """A wish for the next waiting documents of a server."""

    server: str
    held: Set[int]
    limit: int


class LeaseReturn(NamedTuple):
    """Servers to let go of, with the seconds for which each must still be left alone."""

    waits: dict[str, float]
    shy: bool
    """Whether others come first."""


class LeaseRequest(NamedTuple):
    """A wish for servers that have work."""


@dataclass(slots=True)
class CommitGroup:
    """Everything that arrived while the last group was being written."""

    started: list[int] = field(default_factory=list)
    finished: list[FinishedDocument] = field(default_factory=list)
    found: list[DiscoveredUrl] = field(default_factory=list)
    refills: list[tuple[RefillRequest, Future[list[FrontierEntry]]]] = field(default_factory=list)
    given_back: list[LeaseReturn] = field(default_factory=list)
    seeks: list[Future[bool]] = field(default_factory=list)
    futures: list[Future[None]] = field(default_factory=list)
    last: bool = False

    def add(self, work: Any) -> None:
        """Sort a piece of work into its place."""
        match work:
            case int():
                self.started.append(work)
            case LeaseReturn():
                self.given_back.append(work)
            case (FinishedDocument() as finished, future):
                self.finished.append(finished)
                self.futures.append(future)
            case (RefillRequest() as refill, future):
                self.refills.append((refill, future))
            case (LeaseRequest(), future):
                self.seeks.append(future)
            case (found, future):
                self.found.extend(found)
                self.futures.append(future)
            case None:
                self.last = True

    def waiters(self) -> list[Future[Any]]:
        """Return everyone who waits for this group."""
        return [*self.futures, *(future for _, future in self.refills), *self.seeks]


class LeasedServer(NamedTuple):
    """A server that was taken on lease, with the first of its waiting documents."""

    lease: Lease
    entries: list[FrontierEntry]


@dataclass(slots=True)
class CommitResult:
    """What a group brought about."""

    waiting: list[FrontierEntry] = field(default_factory=list)
    """Documents that wait now, at servers that were on lease before."""
    nearer: list[FrontierEntry] = field(default_factory=list)
    """Documents that wait nearer than before."""
    opened: list[LeasedServer] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Servers that others have taken."""
    contested: list[str] = field(default_factory=list)
    """Servers that others wait for, or that are more than a fair share."""
    refilled: list[list[FrontierEntry]] = field(default_factory=list)
    """For each refill that was asked for, in that order."""
    work_left: bool = True
    """Whether some document of the item waits or is under way, anywhere."""

    def entries(self) -> Iterator[FrontierEntry]:
        """Yield every document that may be handed out because of it."""
        return chain(self.waiting, *(opened.entries for opened in self.opened), *self.refilled)
