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
from tarantula.core.errors import DatabaseUnavailableError, DatabaseUnreachableError, TarantulaError
from tarantula.search.barrels.http_server import (
    HttpError,
    JsonHandler,
    JsonServer,
    RequestGuard,
    parse_body,
    shutdown_event,
)
from tarantula.search.completion import complete_query
from tarantula.search.finder import SearchFinder
from tarantula.search.index.indexer import Indexer
from tarantula.search.index.storage import (
    DamagedIndex,
    IndexSnapshot,
    SearchIndex,
    check_index_files,
    remove_index,
    reporting_damage,
)
from tarantula.search.results import BarrelCompletionRequest, BarrelSearchRequest, Completions, SearchResults
from tarantula.store.journal import last_visible_id
from tarantula.store.liveness import BarrelHeartbeat, BarrelStatus

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1.0
"""Seconds between two heartbeats."""
JOURNAL_POLL_SECONDS = 0.2
"""Seconds between two reads of the journal while it has nothing new."""

AnswerWork = Callable[[bytes], bytes]
THREAD_SWITCH_SECONDS = 0.001
"""Seconds before a thread must release the interpreter if others wait; an answer takes about a dozen."""
NOT_READY_MESSAGE = "This barrel is catching up with the journal. Ask another."


class BarrelNotReady(Exception):
    """The barrel has not caught up yet."""


class BarrelService:
    """Follows the journal, publishes its position, and answers."""

    def __init__(self, database: Database, index: SearchIndex, address: str) -> None:
        self._database = database
        self._index = index
        self._heartbeat = BarrelHeartbeat(address)
        self._indexer = Indexer(database, index, in_order=True)
        self._finder = SearchFinder(self)
        self._published: IndexSnapshot | None = None
        self._written: IndexSnapshot | None = None
        self._status_lock = Lock()
        self._statistics = AnswerStatistics()

    @property
    def folder(self) -> Path:
        """Folder of the index."""
        return self._index.folder

    @property
    def schema(self) -> Schema:
        """Schema of the index."""
        return self._index.schema

    def snapshot(self) -> IndexSnapshot:
        """Return the published snapshot of the index; raise `BarrelNotReady` before the first."""
        if self._published is None:
            raise BarrelNotReady
        return self._published

    def find(self, request: BarrelSearchRequest) -> SearchResults:
        """Answer a search from the published snapshot."""
        started = monotonic()
        results = self._finder.find(request, request.withheld)
        self._statistics.add(monotonic() - started)
        return results

    def complete(self, request: BarrelCompletionRequest) -> Completions:
        """Complete a query from the published snapshot."""
        return complete_query(self, request.prefix, request.withheld)

    def follow_journal(self, stop: Event) -> None:
        """Follow the journal until *stop*; retry while the database is unreachable."""
        target, last_error = -1, ""
        while not stop.is_set():
            is_catching_up = False
            try:
                target = self._journal_head() if target < 0 else target
                step = self._indexer.step()
                if step.place >= target and (self._published is None or step.place > self._published.place):
                    self._publish(step.place)
                is_catching_up = self._published is None and not step.is_up_to_date
                last_error = ""
            except DatabaseUnavailableError as error:
                last_error = _log_once(error, last_error)
            if not is_catching_up:
                stop.wait(JOURNAL_POLL_SECONDS)

    def send_heartbeats(self, stop: Event) -> None:
        """Write heartbeats until *stop*, then remove the barrel's row."""
        last_error = ""
        while not stop.is_set():
            try:
                self._write_status()
                last_error = ""
            except DatabaseUnavailableError as error:
                last_error = _log_once(error, last_error)
            stop.wait(HEARTBEAT_SECONDS)
        with suppress(DatabaseUnavailableError), self._status_lock, self._database.session() as session:
            self._heartbeat.leave(session.connection())

    def _journal_head(self) -> int:
        with self._database.reading() as session:
            return last_visible_id(session.connection())

    def _publish(self, place: int) -> None:
        """Write the position to the database, then answer from there."""
        snapshot = IndexSnapshot(self._index.searcher(), place)
        self._write_status(snapshot)
        if self._published is None:
            logger.info("Ready, with %s documents.", f"{snapshot.searcher.num_docs:,}")
        self._published = snapshot

    def _write_status(self, new: IndexSnapshot | None = None) -> None:
        # One writer at a time: a heartbeat must not overwrite a newer position.
        with self._status_lock:
            self._written = new or self._written
            with self._database.session() as session:
                self._heartbeat.beat(session.connection(), self._status())

    def _status(self) -> BarrelStatus:
        snapshot = self._written
        if snapshot is None:
            return BarrelStatus(False, self._index.place, self._index.searcher().num_docs, *self._statistics.totals())
        return BarrelStatus(True, snapshot.place, snapshot.searcher.num_docs, *self._statistics.totals())


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

    def totals(self) -> tuple[int, float]:
        """Return the number of answers and their total seconds."""
        with self._lock:
            return self._number, self._seconds


def _log_once(error: DatabaseUnavailableError, last_error: str) -> str:
    # `Database.log_outages` logs when the server does not answer.
    if str(error) != last_error and not isinstance(error, DatabaseUnreachableError):
        logger.error("%s", error)
    return str(error)


class AnswerThreads:
    """Threads that run blocking work for an event loop, in order of arrival. Belongs to the loop that creates it."""

    def __init__(self, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[AnswerWork, bytes, asyncio.Future[bytes]] | None] = SimpleQueue()
        self.threads = [Thread(target=self._run_jobs, name="answering", daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    async def answer(self, work: AnswerWork, body: bytes) -> bytes:
        """Run work on a body in a thread; return or raise its result."""
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._jobs.put((work, body, future))
        return await future

    def end(self) -> None:
        """Stop the threads; running work is not awaited."""
        for _ in self.threads:
            self._jobs.put(None)

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, body, future = job
            # The client has disconnected.
            if future.cancelled():
                continue
            set_result: Callable[[Any], None] = future.set_result
            value: object
            try:
                value = work(body)
            except BaseException as error:
                set_result, value = future.set_exception, error
            with suppress(RuntimeError):
                # The loop may have ended.
                self._loop.call_soon_threadsafe(_set_unless_done, future, set_result, value)


def _set_unless_done(future: asyncio.Future[bytes], set_result: Callable[[Any], None], value: object) -> None:
    if not future.done():
        set_result(value)


def open_barrel_index(folder: Path, rebuild: bool) -> SearchIndex:
    """Open a barrel's index exclusively, or raise an error with the remedy; *rebuild* starts from an empty one."""
    if rebuild:
        remove_barrel_index(folder)
    try:
        check_index_files(folder)
        index = SearchIndex(folder, is_for_writing=True)
        index.lock()
        index.snapshot()
    except (DamagedIndex, ValueError) as error:
        raise TarantulaError(
            "The index of this barrel, in {folder}, is damaged. Rebuild it with `tarantula barrel --rebuild`.",
            folder=folder,
        ) from error
    return index


def remove_barrel_index(folder: Path) -> None:
    """Remove an index folder; raise an error if it holds other files or is in use."""
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()}
    if names and not names & {"place.json", "meta.json"}:
        raise TarantulaError(
            "{folder} has files that do not belong to an index. Choose another folder with --folder.", folder=folder
        )
    remove_index(folder)


async def run_barrel(barrel: BarrelService, listener: socket.socket, guard: RequestGuard) -> None:
    """Run a barrel until Ctrl-C or SIGTERM."""
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    # Objects that exist now live for good: exclude them from garbage collection.
    gc.freeze()
    await serve_barrel(barrel, listener, shutdown_event(), guard)


async def serve_barrel(
    barrel: BarrelService, listener: socket.socket, shutdown: asyncio.Event, guard: RequestGuard | None = None
) -> None:
    """Run a barrel until *shutdown* is set, or until it can no longer follow the journal."""
    loop, stop_following, stop_serving = asyncio.get_running_loop(), Event(), asyncio.Event()
    threads = AnswerThreads(max(2, os.cpu_count() or 2))

    def handler(answer: Callable[[BarrelService, bytes], BaseModel]) -> JsonHandler:
        return partial(threads.answer, partial(_answer, answer, barrel))

    with ThreadPoolExecutor(2, "following") as executor:
        jobs = [
            loop.run_in_executor(executor, job, stop_following)
            for job in (barrel.follow_journal, barrel.send_heartbeats)
        ]
        routes = {"/find": ("POST", handler(_find)), "/complete": ("POST", handler(_complete))}
        serving = asyncio.create_task(JsonServer(routes, guard).run(listener, stop_serving))
        for job in jobs:
            job.add_done_callback(lambda _: shutdown.set())
        await shutdown.wait()
        stop_following.set()
        # First remove the barrel from the database, then stop answering.
        await asyncio.wait(jobs)
        stop_serving.set()
        await serving
    threads.end()
    for job in jobs:
        job.result()


def _find(barrel: BarrelService, body: bytes) -> SearchResults:
    return barrel.find(parse_body(BarrelSearchRequest, body))


def _complete(barrel: BarrelService, body: bytes) -> Completions:
    return barrel.complete(parse_body(BarrelCompletionRequest, body))


def _answer(answer: Callable[[BarrelService, bytes], BaseModel], barrel: BarrelService, body: bytes) -> bytes:
    try:
        with reporting_damage(barrel.folder):
            return answer(barrel, body).model_dump_json().encode()
    except BarrelNotReady:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READY_MESSAGE) from None
    except DamagedIndex as error:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
