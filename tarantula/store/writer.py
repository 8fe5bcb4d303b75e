"""The writer: one thread that stores what a collector learns, a group at a time.

Everything that arrived while the last group was being written makes up the next one, so
groups are small when little happens and large when much does. A WARC record is flushed
before the transaction that names it; a document and the links that it names are one
transaction.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from queue import SimpleQueue
from threading import Thread
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tarantula.download.exchange import Exchange
from tarantula.errors import TarantulaError
from tarantula.items import Entry
from tarantula.store.documents import DocumentTable, Found, Outcome
from tarantula.store.shorter_ways import Judge, ShorterWays
from tarantula.store.warc import WarcWriter

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Finished:
    """A document that is done with, or to be tried again."""

    outcome: Outcome
    depth: int = 0
    """The depth from which its links were judged."""
    exchange: Exchange | None = None
    rendered: bytes | None = None
    found: Sequence[Found] = ()
    links: Sequence[tuple[int, bytes, int]] = ()


@dataclass(slots=True)
class Refill:
    """A wish for the next waiting documents of a server."""

    server: str
    held: Set[int]
    limit: int


@dataclass(slots=True)
class _Group:
    started: list[int] = field(default_factory=list)
    finished: list[Finished] = field(default_factory=list)
    refills: list[tuple[Refill, Future[list[Entry]]]] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    futures: list[Future[None]] = field(default_factory=list)
    last: bool = False


class Writer:
    """Takes work from the event loop, and answers there."""

    def __init__(
        self,
        engine: Engine,
        table: DocumentTable,
        warc: WarcWriter,
        loop: AbstractEventLoop,
        judge: Judge,
        on_waiting: Callable[[list[Entry], list[Entry]], None],
    ) -> None:
        self._engine = engine
        self._table = table
        self._ways = ShorterWays(table, judge)
        self._warc = warc
        self._loop = loop
        self._on_waiting = on_waiting
        self._work: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self.failure: TarantulaError | None = None
        self.groups = 0

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def started(self, entry: Entry) -> None:
        """Note that a document is being collected."""
        self._work.put(entry.id)

    def finish(self, finished: Finished) -> Future[None]:
        """Store a document; the future is done when it is committed."""
        return self._ask(finished)

    def discover(self, found: list[Found]) -> Future[None]:
        """Store URLs that no document of the item names."""
        return self._ask(found)

    def refill(self, refill: Refill) -> Future[list[Entry]]:
        """Ask for the next waiting documents of a server."""
        return self._ask(refill)

    def close(self) -> None:
        """Write what is left, and end."""
        self._work.put(None)
        self._thread.join()
        self._warc.close()

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

    def _next_group(self) -> _Group:
        group = _Group()
        _sort_into(group, self._work.get())
        while not self._work.empty():
            _sort_into(group, self._work.get())
        return group

    def _write(self, group: _Group) -> None:
        try:
            if self.failure is not None:
                raise self.failure
            waiting, nearer, refilled = self._store(group)
        except (SQLAlchemyError, OSError, TarantulaError) as error:
            if self.failure is None:
                self.failure = _as_sentence(error)
                logger.error("%s", self.failure)
            self._call(_fail, [*group.futures, *(future for _, future in group.refills)], self.failure)
        else:
            self.groups += 1
            self._call(self._deliver, waiting, nearer, refilled, group.futures)

    def _store(self, group: _Group) -> tuple[list[Entry], list[Entry], list[_Refilled]]:
        for finished in group.finished:
            self._keep_bytes(finished)
        self._warc.flush()
        with self._engine.begin() as connection:
            waiting, nearer = self._write_rows(connection, group)
            refilled = [
                (future, self._table.next_waiting(connection, refill.server, refill.held, refill.limit))
                for refill, future in group.refills
            ]
        return waiting, nearer, refilled

    def _keep_bytes(self, finished: Finished) -> None:
        if finished.exchange is None:
            return
        stored = self._warc.write(finished.exchange, finished.rendered)
        outcome = finished.outcome
        outcome.digest = stored.digest
        outcome.warc = stored.file
        outcome.warc_offset = stored.offset
        outcome.warc_length = stored.length
        outcome.rendered_offset = stored.rendered_offset

    def _write_rows(self, connection: Connection, group: _Group) -> tuple[list[Entry], list[Entry]]:
        """Write a group's rows; return what waits because of them, and what waits nearer than before."""
        done = {finished.outcome.id: finished.depth for finished in group.finished}
        self._table.mark_collecting(connection, [identity for identity in group.started if identity not in done])
        self._table.insert_links(connection, chain.from_iterable(finished.links for finished in group.finished))
        self._table.finish(connection, [finished.outcome for finished in group.finished])
        found = chain(group.found, *(finished.found for finished in group.finished))
        waiting, known = self._table.insert_found(connection, found)
        late, also_known = self._ways.missed(connection, done.items())
        more, nearer = self._ways.follow(connection, known + also_known)
        return waiting + late + more, nearer

    def _deliver(
        self, waiting: list[Entry], nearer: list[Entry], refilled: list[_Refilled], futures: list[Future[None]]
    ) -> None:
        if waiting or nearer:
            self._on_waiting(waiting, nearer)
        for refill, entries in refilled:
            if not refill.done():
                refill.set_result(entries)
        for future in futures:
            if not future.done():
                future.set_result(None)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


_Refilled = tuple[Future[list[Entry]], list[Entry]]


def _sort_into(group: _Group, work: Any) -> None:
    match work:
        case int():
            group.started.append(work)
        case (Finished() as finished, future):
            group.finished.append(finished)
            group.futures.append(future)
        case (Refill() as refill, future):
            group.refills.append((refill, future))
        case (found, future):
            group.found.extend(found)
            group.futures.append(future)
        case None:
            group.last = True


def _fail(futures: list[Future[Any]], failure: TarantulaError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(failure)


def _as_sentence(error: Exception) -> TarantulaError:
    if isinstance(error, TarantulaError):
        return error
    if isinstance(error, OSError):
        return TarantulaError(f"What was collected cannot be written ({error.strerror}). Make room, then resume.")
    detail = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    return TarantulaError(f"The database does not take what was collected ({detail}). Mend it, then resume.")
