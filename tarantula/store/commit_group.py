"""Commit groups: work that an event loop hands to a writer thread, committed in one transaction.

All work that arrives while one group is written becomes the next group, so groups are small under light load and
large under heavy load. The thread also sends the heartbeat of its process's leases.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tarantula.core.errors import TarantulaError
from tarantula.core.states import Shortage
from tarantula.fetch.exchange import Exchange
from tarantula.frontier.queues import FrontierEntry, PreviousCapture
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome
from tarantula.store.errors import is_database_away, is_disk_full, is_lost_race, storage_error
from tarantula.store.leases import HEARTBEAT_SECONDS, LEASE_SAFE_SECONDS, Lease

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1.0
"""Interval of attempts to reach an unavailable database, or to write to a full disk."""
CLOSING_SECONDS = 5.0
"""Time for which a process that ends waits for the database; what is not stored by then is collected again."""
CLOSING_RETRY_SECONDS = 0.2
"""Interval of attempts to reach the database meanwhile."""
STALLED_SECONDS = 2.0
"""Time for which a group is written before no more requests are made: others may have to repeat them."""
MIN_SHARED_BYTES = 512
"""Smallest body that is not stored again: a revisit record instead of a shorter one saves nothing."""
MAX_RACE_RETRIES = 20
"""How often a group is retried because another process wrote the same rows."""


class GroupProtocol(Protocol):
    """Work that is committed together."""

    last: bool

    def add(self, work: Any) -> None:
        """Add one piece of work; None marks the last group."""

    def waiters(self) -> list[Future[Any]]:
        """Return the futures that wait for this group."""


GroupT = TypeVar("GroupT", bound=GroupProtocol)
ResultT = TypeVar("ResultT")


class GroupCommitThread(ABC, Generic[GroupT, ResultT]):
    """Writer thread: takes work from the event loop, commits it in groups and resolves futures on the loop."""

    def __init__(self, engine: Engine, loop: AbstractEventLoop, name: str) -> None:
        self._engine = engine
        self._loop = loop
        self._work: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._closing = Event()
        self._closing_at = 0.0
        self._last_heartbeat = monotonic()
        self._busy_since: float | None = None
        self._waits_for: Shortage | None = None
        self.shortage: Shortage | None = None
        """What this machine lacks for requests; set by the downloader."""
        self.failure: TarantulaError | None = None
        self.groups = 0

    @abstractmethod
    def _new_group(self) -> GroupT:
        """Return an empty group."""

    @abstractmethod
    def _write_rows(self, connection: Connection, group: GroupT, beat: bool) -> ResultT:
        """Write a group's rows within a transaction and return the result for `_deliver`."""

    @abstractmethod
    def _deliver(self, group: GroupT, result: ResultT) -> None:
        """Resolve the group's futures; called on the event loop."""

    def _prepare(self, group: GroupT) -> None:
        """Do the work that precedes the transaction."""

    @abstractmethod
    def _restoring(self) -> AbstractContextManager[None]:
        """Return a context that restores in-memory state if the transaction or its commit fails."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop_waiting(self) -> None:
        """Wait no longer for space on a disk, and only a few seconds for the database: the process ends."""
        if not self._closing.is_set():
            self._closing_at = monotonic()
            self._closing.set()

    def close(self) -> None:
        """Write the remaining work and join the thread."""
        self.stop_waiting()
        self._work.put(None)
        self._thread.join()

    @property
    def has_leases(self) -> bool:
        """Whether the last heartbeat is recent enough that no other collector can have taken over the leases.

        Also false while the database or a full disk delays the current group.
        """
        now, busy_since = monotonic(), self._busy_since
        is_stalled = busy_since is not None and now - busy_since > STALLED_SECONDS
        return not is_stalled and now - self._last_heartbeat < LEASE_SAFE_SECONDS

    @property
    def paused_for(self) -> str | None:
        """Why fewer or no requests are made at present, as in the row of the collector."""
        return self._waits_for or self.shortage

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

    def _next_group(self) -> GroupT:
        group = self._new_group()
        try:
            group.add(self._work.get(timeout=HEARTBEAT_SECONDS))
            while not self._work.empty():
                group.add(self._work.get())
        except Empty:
            pass
        return group

    def _write(self, group: GroupT) -> None:
        self._busy_since = monotonic()
        try:
            if self.failure is not None:
                raise self.failure
            self._prepare(group)
            result = self._commit(group)
        except Exception as error:
            # Any error must reach the waiting futures: a writer that died silently would block the collector.
            if self.failure is None:
                self.failure = storage_error(error)
                logger.error("%s", self.failure)
            self._call(_fail, group.waiters(), self.failure)
        else:
            self.groups += 1
            self._call(self._deliver, group, result)
            if self._waits_for is not None:
                self._waits_for = None
                logger.warning("Documents can be written again; continuing.")
        finally:
            self._busy_since = None

    def _commit(self, group: GroupT) -> ResultT:
        """Write a group's rows in one transaction; wait while the database is unavailable."""
        races = 0
        while True:
            began = monotonic()
            beat = began - self._last_heartbeat >= HEARTBEAT_SECONDS
            try:
                with self._restoring(), self._engine.begin() as connection:
                    result = self._write_rows(connection, group, beat)
            except SQLAlchemyError as error:
                if is_lost_race(error) and races < MAX_RACE_RETRIES:
                    races += 1
                    continue
                if is_disk_full(error) and self._wait_for_space(storage_error(error)):
                    continue
                if not is_database_away(error) or not self._wait_for_database():
                    raise
                continue
            if beat:
                self._last_heartbeat = began
            return result

    def _wait_for_database(self) -> bool:
        """Wait a moment after the database was found unavailable; return whether to try again."""
        if not self._closing.wait(DATABASE_RETRY_SECONDS):
            return True
        sleep(CLOSING_RETRY_SECONDS)
        return monotonic() < self._closing_at + CLOSING_SECONDS

    def _wait_for_space(self, error: TarantulaError) -> bool:
        """Wait a moment after a disk was found full; return whether to try again. The heartbeat continues."""
        if self._waits_for is None:
            self._waits_for = getattr(error, "shortage", Shortage.DISK)
            logger.warning("%s Requests pause meanwhile; no document is lost.", error)
        if self._closing.wait(DATABASE_RETRY_SECONDS):
            return False
        with suppress(SQLAlchemyError):
            group, began = self._new_group(), monotonic()
            with self._restoring(), self._engine.begin() as connection:
                result = self._write_rows(connection, group, True)
            self._last_heartbeat = began
            self._call(self._deliver, group, result)
        return True

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def resolve_future(future: Future[Any], value: object) -> None:
    """Resolve a future unless it is already done or cancelled."""
    if not future.done():
        future.set_result(value)


def _fail(futures: list[Future[Any]], failure: TarantulaError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(failure)


@dataclass(slots=True)
class FinishedDocument:
    """A document that is finished, or to be retried, with its response."""

    outcome: DocumentOutcome
    depth: int = 0
    """The depth with which its links were judged."""
    exchange: Exchange | None = None
    rendered: bytes | None = None
    found: Sequence[DiscoveredUrl] = ()
    links: Mapping[bytes, int] = field(default_factory=dict)
    """Keys of the linked URLs, with the link kinds."""
    server: str = ""
    wait: float = 0.0
    """Seconds for which no request may be sent to its server."""
    earlier: PreviousCapture | None = None
    """The previous capture, if its body need not be stored again."""

    def may_share_body(self) -> bool:
        """Whether an equal body of another document may stand for this one's.

        The body of a rendered page is stored with the page, that of a redirect is shown with its target.
        """
        exchange, outcome = self.exchange, self.outcome
        if exchange is None or self.rendered is not None or exchange.truncated or exchange.not_modified is not None:
            return False
        return len(exchange.raw_body) >= MIN_SHARED_BYTES and not 300 <= outcome.state < 400

    def reusable_capture(self, digest: str) -> PreviousCapture | None:
        """Return the previous capture if its body equals this one in digest, size, type and charset."""
        earlier, outcome = self.earlier, self.outcome
        if earlier is None or self.rendered is not None or digest != earlier.digest:
            return None
        if self.exchange is not None and self.exchange.not_modified is not None:
            return earlier
        if not outcome.size:
            return None
        # The same bytes may be decoded or interpreted differently now.
        now = (outcome.size, outcome.type, outcome.charset)
        return earlier if now == (earlier.size, earlier.type, earlier.charset) else None


class RefillRequest(NamedTuple):
    """Request for the next waiting documents of a server."""

    server: str
    held: Set[int]
    limit: int


class LeaseReturn(NamedTuple):
    """Servers to release, with the seconds for which each must not be visited."""

    waits: dict[str, float]
    yielding: bool
    """Whether other collectors get the server first."""


class LeaseRequest(NamedTuple):
    """Request for servers that have waiting documents."""


@dataclass(slots=True)
class CommitGroup:
    """Work that a collector's writer commits together."""

    started: list[int] = field(default_factory=list)
    finished: list[FinishedDocument] = field(default_factory=list)
    found: list[DiscoveredUrl] = field(default_factory=list)
    refills: list[tuple[RefillRequest, Future[list[FrontierEntry]]]] = field(default_factory=list)
    given_back: list[LeaseReturn] = field(default_factory=list)
    seeks: list[Future[bool]] = field(default_factory=list)
    futures: list[Future[None]] = field(default_factory=list)
    last: bool = False

    def add(self, work: Any) -> None:
        """Sort one piece of work into its list."""
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
        """Return the futures that wait for this group."""
        return [*self.futures, *(future for _, future in self.refills), *self.seeks]


class LeasedServer(NamedTuple):
    """A newly leased server with the first of its waiting documents."""

    lease: Lease
    entries: list[FrontierEntry]


@dataclass(slots=True)
class CommitResult:
    """Result of a committed group."""

    waiting: list[FrontierEntry] = field(default_factory=list)
    """Documents that now wait, at servers that were already leased."""
    nearer: list[FrontierEntry] = field(default_factory=list)
    """Waiting documents whose depth decreased."""
    opened: list[LeasedServer] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Servers whose lease was lost to another collector."""
    contested: list[str] = field(default_factory=list)
    """Servers that other collectors or the stream reader need, or that exceed the fair share."""
    refilled: list[list[FrontierEntry]] = field(default_factory=list)
    """One list per refill request, in the same order."""
    unwritten: Set[int] = frozenset()
    """Documents whose outcome does not count, because another visit has collected them meanwhile."""
    work_left: bool = True
    """Whether any document of the item waits or is being collected, by any collector."""

    def entries(self) -> Iterator[FrontierEntry]:
        """Yield every document that may now be handed out."""
        return chain(self.waiting, *(opened.entries for opened in self.opened), *self.refilled)
