"""One thread that stores what an event loop learns, a group at a time.

Everything that arrived while the last group was being written makes up the next one, so
groups are small when little happens and large when much does. Now and then the thread gives
a sign of life for the leases of its process.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tarantula.core.errors import TarantulaError
from tarantula.store.errors import is_database_away, is_lost_race, storage_error
from tarantula.store.leases_part_server_leases import HEARTBEAT_SECONDS, LEASE_SAFE_SECONDS

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
