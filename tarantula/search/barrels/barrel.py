"""A barrel: a process that answers searches from its own index, which follows the journal in order.

What a barrel answers from is complete: everything in the journal up to a position, and nothing after it. It writes its
position to the database before it answers from there, so no client has had an answer from a position that others cannot
know of. It never goes back behind a position that it has written. A barrel is ready when it has caught up with the
journal as it was at its start.

One thread follows the journal, one writes heartbeats, others answer.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from pydantic import BaseModel
from tantivy import Schema

from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnavailableError, TarantulaError
from tarantula.search.barrels.http_server import HttpError, JsonHandler, JsonServer, parse_body, shutdown_event
from tarantula.search.completion import complete_query
from tarantula.search.finder import SearchFinder
from tarantula.search.index.indexer import Indexer, IndexerStep
from tarantula.search.index.storage import (
    DamagedIndex,
    IndexSnapshot,
    SearchIndex,
    check_index_files,
    remove_index,
    reporting_damage,
)
from tarantula.search.results import CompletionRequest, Completions, SearchRequest, SearchResults
from tarantula.store.journal import last_visible_id
from tarantula.store.liveness import BarrelHeartbeat, BarrelStatus

HEARTBEAT_SECONDS = 1.0
"""Seconds between two heartbeats."""
JOURNAL_POLL_SECONDS = 0.2
"""Seconds between two reads of the journal while it has nothing new."""

logger = logging.getLogger(__name__)


class BarrelNotReady(Exception):
    """The barrel has not caught up yet."""


class BarrelService:
    """Follows the journal, publishes its position, and answers."""

    def __init__(self, database: Database, index: SearchIndex, address: str) -> None:
        self._database = database
        self._index = index
        self._presence = BarrelHeartbeat(address)
        self._indexer = Indexer(database, index, in_order=True)
        self._finder = SearchFinder(self)
        self._seen: IndexSnapshot | None = None
        self._told_of: IndexSnapshot | None = None
        self._telling = Lock()
        self._answered = AnswerStatistics()

    @property
    def folder(self) -> Path:
        """Folder of the index."""
        return self._index.folder

    @property
    def schema(self) -> Schema:
        """Schema of the index."""
        return self._index.schema

    def seen(self) -> IndexSnapshot:
        """Return the published snapshot of the index; raise `BarrelNotReady` before the first."""
        if self._seen is None:
            raise BarrelNotReady
        return self._seen

    def find(self, request: SearchRequest) -> SearchResults:
        """Answer a search from the published snapshot."""
        began = monotonic()
        results = self._finder.find(request)
        self._answered.add(monotonic() - began)
        return results

    def complete(self, wish: CompletionRequest) -> Completions:
        """Complete a query from the published snapshot."""
        return complete_query(self, wish.prefix)

    def follow(self, ending: Event) -> None:
        """Follow the journal until *ending*; retry while the database is unreachable."""
        behind, complaint = -1, ""
        while not ending.is_set():
            is_hurrying = False
            try:
                behind = self._head() if behind < 0 else behind
                step = self._step()
                if step.place >= behind and (self._seen is None or step.place > self._seen.place):
                    self._publish(step.place)
                is_hurrying = self._seen is None and not step.is_up_to_date
                complaint = ""
            except DatabaseUnavailableError as error:
                complaint = _say_once(error, complaint)
            if not is_hurrying:
                ending.wait(JOURNAL_POLL_SECONDS)

    def beat(self, ending: Event) -> None:
        """Write heartbeats until *ending*, then remove the barrel's row."""
        complaint = ""
        while not ending.is_set():
            try:
                self._tell()
                complaint = ""
            except DatabaseUnavailableError as error:
                complaint = _say_once(error, complaint)
            ending.wait(HEARTBEAT_SECONDS)
        with suppress(DatabaseUnavailableError), self._telling, self._database.session() as session:
            self._presence.leave(session.connection())

    def _head(self) -> int:
        with self._database.reading() as session:
            return last_visible_id(session.connection())

    def _step(self) -> IndexerStep:
        try:
            return self._indexer.step()
        except ValueError as error:
            raise TarantulaError(
                f"The index in {self._index.folder} cannot be brought up to date ({error}). "
                "Make room on its disk; if it is damaged, build it anew with `tarantula barrel --rebuild`."
            ) from error

    def _publish(self, place: int) -> None:
        """Write the position to the database, then answer from there."""
        seen = IndexSnapshot(self._index.searcher(), place)
        self._tell(seen)
        if self._seen is None:
            logger.info("Ready, with %s documents.", f"{seen.searcher.num_docs:,}")
        self._seen = seen

    def _tell(self, new: IndexSnapshot | None = None) -> None:
        # One writer at a time: a heartbeat must not overwrite a newer position.
        with self._telling:
            self._told_of = new or self._told_of
            with self._database.session() as session:
                self._presence.beat(session.connection(), self._figures())

    def _figures(self) -> BarrelStatus:
        seen = self._told_of
        if seen is None:
            return BarrelStatus(False, self._index.place, self._index.searcher().num_docs, *self._answered.both())
        return BarrelStatus(True, seen.place, seen.searcher.num_docs, *self._answered.both())


class AnswerStatistics:
    """Number of answers, and their total seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count an answer."""
        with self._lock:
            self._number += 1
            self._seconds += seconds

    def both(self) -> tuple[int, float]:
        """Return the number of answers and their total seconds."""
        with self._lock:
            return self._number, self._seconds


def _say_once(error: DatabaseUnavailableError, said: str) -> str:
    if str(error) != said:
        logger.error("%s", error)
    return str(error)


AnswerWork = Callable[[bytes], bytes]


class AnswerThreads:
    """Threads that run blocking work for an event loop, in order of arrival. Belongs to the loop that creates it."""

    def __init__(self, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[tuple[AnswerWork, bytes, asyncio.Future[bytes]] | None] = SimpleQueue()
        self.threads = [Thread(target=self._work, name="answering", daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    async def answer(self, work: AnswerWork, body: bytes) -> bytes:
        """Run work on a body in a thread; return or raise its result."""
        answered: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.put((work, body, answered))
        return await answered

    def end(self) -> None:
        """Stop the threads; running work is not awaited."""
        for _ in self.threads:
            self._waiting.put(None)

    def _work(self) -> None:
        while (asked := self._waiting.get()) is not None:
            work, body, answered = asked
            # The client has disconnected.
            if answered.cancelled():
                continue
            told: Callable[[Any], None] = answered.set_result
            value: object
            try:
                value = work(body)
            except BaseException as error:
                told, value = answered.set_exception, error
            with suppress(RuntimeError):
                # The loop may have ended.
                self._loop.call_soon_threadsafe(_tell, answered, told, value)


def _tell(answered: asyncio.Future[bytes], told: Callable[[Any], None], value: object) -> None:
    if not answered.done():
        told(value)


THREAD_SWITCH_SECONDS = 0.001
"""Seconds before a thread must release the interpreter if others wait; an answer takes about a dozen."""
NOT_READY_MESSAGE = "This barrel is catching up with the journal. Ask another."


def open_barrel_index(folder: Path, rebuild: bool) -> SearchIndex:
    """Open a barrel's index exclusively, or raise an error with the remedy; *rebuild* starts from an empty one."""
    if rebuild:
        remove_barrel_index(folder)
    try:
        check_index_files(folder)
        index = SearchIndex(folder, is_for_writing=True)
        index.hold()
        index.seen()
    except (DamagedIndex, ValueError) as error:
        raise TarantulaError(
            f"The index of this barrel, in {folder}, is damaged. Build it anew with `tarantula barrel --rebuild`."
        ) from error
    return index


def remove_barrel_index(folder: Path) -> None:
    """Remove an index folder; raise an error if it holds other files or is in use."""
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()}
    if names and not names & {"place.json", "meta.json"}:
        raise TarantulaError(f"{folder} has other files than those of an index. Name another with --folder.")
    remove_index(folder)


async def run_barrel(barrel: BarrelService, taken: socket.socket) -> None:
    """Run a barrel until Ctrl-C or SIGTERM."""
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    # Objects that exist now live for good: exclude them from garbage collection.
    gc.freeze()
    await serve_barrel(barrel, taken, shutdown_event())


async def serve_barrel(barrel: BarrelService, taken: socket.socket, told: asyncio.Event) -> None:
    """Run a barrel until *told* is set, or until it can no longer follow the journal."""
    loop, stopping, ending = asyncio.get_running_loop(), Event(), asyncio.Event()
    answering = AnswerThreads(max(2, os.cpu_count() or 2))

    def answers(answer: Callable[[BarrelService, bytes], BaseModel]) -> JsonHandler:
        return partial(answering.answer, partial(_answer, answer, barrel))

    with ThreadPoolExecutor(2, "following") as following:
        work = [loop.run_in_executor(following, job, stopping) for job in (barrel.follow, barrel.beat)]
        routes = {"/find": ("POST", answers(_found)), "/complete": ("POST", answers(_completed))}
        serving = asyncio.create_task(JsonServer(routes).run(taken, ending))
        for job in work:
            job.add_done_callback(lambda _: told.set())
        await told.wait()
        stopping.set()
        # First remove the barrel from the database, then stop answering.
        await asyncio.wait(work)
        ending.set()
        await serving
    answering.end()
    for job in work:
        job.result()


def _found(barrel: BarrelService, body: bytes) -> SearchResults:
    return barrel.find(parse_body(SearchRequest, body))


def _completed(barrel: BarrelService, body: bytes) -> Completions:
    return barrel.complete(parse_body(CompletionRequest, body))


def _answer(answer: Callable[[BarrelService, bytes], BaseModel], barrel: BarrelService, body: bytes) -> bytes:
    try:
        with reporting_damage(barrel.folder):
            return answer(barrel, body).model_dump_json().encode()
    except BarrelNotReady:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READY_MESSAGE) from None
    except DamagedIndex as error:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
