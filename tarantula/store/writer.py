"""The writer: one thread that stores what a collector learns, a group at a time.

Everything that arrived while the last group was being written makes up the next one, so
groups are small when little happens and large when much does. A WARC record is flushed
before the transaction that names it; a document and the links that it names are one
transaction. Now and then the writer gives a sign of life for the collector's leases.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from tarantula.download.exchange import Exchange
from tarantula.errors import TarantulaError
from tarantula.items import Entry
from tarantula.store.found import Found
from tarantula.store.group import Finished, GiveBack, Group, News, Refill, Seek
from tarantula.store.leases import BEAT, SURE
from tarantula.store.records import payload_digest
from tarantula.store.rows import RowWriter
from tarantula.store.trouble import is_away, is_lost_race, sentence_of
from tarantula.store.warc import Stored, WarcWriter

logger = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds between two tries at a database that is away."""


MOST_RACES = 20
"""How often a group is tried again because another collector wrote the same rows."""


class Writer:
    """Takes work from the event loop, and answers there."""

    def __init__(
        self,
        engine: Engine,
        rows: RowWriter,
        warc: WarcWriter,
        loop: AbstractEventLoop,
        listen: Callable[[News], None],
    ) -> None:
        self._engine = engine
        self._rows = rows
        self._warc = warc
        self._loop = loop
        self._listen = listen
        self._work: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._closing = Event()
        self._beaten = monotonic()
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

    def seek(self) -> Future[bool]:
        """Ask for servers that have work; the future says whether the item has any left, anywhere."""
        return self._ask(Seek())

    def give_back(self, waits: dict[str, float], shy: bool = False) -> None:
        """Let go of servers."""
        self._work.put(GiveBack(waits, shy))

    def close(self) -> None:
        """Write what is left, and end."""
        self._closing.set()
        self._work.put(None)
        self._thread.join()
        self._warc.close()

    @property
    def has_leases(self) -> bool:
        """Whether others surely know that this collector is alive: if not, its servers may be theirs already."""
        return monotonic() - self._beaten < SURE

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

    def _next_group(self) -> Group:
        group = Group()
        try:
            group.add(self._work.get(timeout=BEAT))
            while not self._work.empty():
                group.add(self._work.get())
        except Empty:
            pass
        return group

    def _write(self, group: Group) -> None:
        try:
            if self.failure is not None:
                raise self.failure
            for finished in group.finished:
                self._keep_bytes(finished)
            self._warc.flush()
            news = self._commit(group)
        except Exception as error:
            # Whatever it is, those who wait must hear of it: a writer that died in silence would stop everything.
            if self.failure is None:
                self.failure = sentence_of(error)
                logger.error("%s", self.failure)
            self._call(_fail, group.waiters(), self.failure)
        else:
            self.groups += 1
            self._call(self._deliver, group, news)

    def _keep_bytes(self, finished: Finished) -> None:
        if finished.exchange is None:
            return
        stored = self._store(finished, finished.exchange)
        outcome = finished.outcome
        outcome.digest = stored.digest
        outcome.warc = stored.file
        outcome.warc_offset = stored.offset
        outcome.warc_length = stored.length
        outcome.rendered_offset = stored.rendered_offset
        outcome.refers_to_id = stored.refers_to_id
        outcome.unmodified = finished.exchange.not_modified is not None or None

    def _store(self, finished: Finished, exchange: Exchange) -> Stored:
        digest = payload_digest(exchange)
        earlier = finished.kept_before(digest)
        if earlier is None:
            return self._warc.write(exchange, finished.rendered, digest)
        return self._warc.write_revisit(exchange, digest, earlier)

    def _commit(self, group: Group) -> News:
        """Write a group's rows in one transaction, however long the database is away."""
        was_away = False
        races = 0
        while True:
            began = monotonic()
            beat = began - self._beaten >= BEAT
            try:
                with self._rows.undoing(), self._engine.begin() as connection:
                    news = self._rows.write(connection, group, beat)
            except SQLAlchemyError as error:
                if is_lost_race(error) and races < MOST_RACES:
                    races += 1
                    continue
                if not is_away(error) or self._closing.wait(PATIENCE):
                    raise
                if not was_away:
                    logger.warning("The database is away (%s); waiting for it.", sentence_of(error))
                was_away = True
                continue
            if was_away:
                logger.warning("The database is back; going on.")
            if beat:
                self._beaten = began
            return news

    def _deliver(self, group: Group, news: News) -> None:
        self._listen(news)
        for (_, refill), entries in zip(group.refills, news.refilled, strict=True):
            _settle(refill, entries)
        for seek in group.seeks:
            _settle(seek, news.work_left)
        for future in group.futures:
            _settle(future, None)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def _settle(future: Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _fail(futures: list[Future[Any]], failure: TarantulaError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(failure)
