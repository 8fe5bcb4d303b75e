"""A gateway: forwards each search to a live barrel, and to another when that fails.

Guarantee, with any number of gateways on one database: after an answer from a position in the journal, every later
question is answered from that position or a later one, as long as the barrel that gave the answer lives. No client
misses documents that another client has already been shown, unless they were removed. A barrel is alive if its last
heartbeat is at most some seconds old by the database's clock. If no barrel that has come so far is left, the live ones
are asked: answers may then go back to the positions these had written before.

How: each question first reads the barrels from the database. A barrel writes its position there before it answers from
it, so this shows the furthest position of any earlier answer. Only barrels at that position are asked, and an answer
from before it is discarded. The withheld URLs are read with them and sent with the question, so that no answer shows
what was withheld before it was asked. While the database does not answer, the last read is used.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import NamedTuple
from zlib import crc32

from sqlalchemy import Connection

from tarantula.core.database import Database, translate_errors
from tarantula.core.errors import DatabaseUnavailableError, DatabaseUnreachableError
from tarantula.fetch.client import HttpClient
from tarantula.fetch.egress import UNRESTRICTED
from tarantula.fetch.exchange import DownloadError, Exchange, FetchRequest
from tarantula.search.barrels.http_server import (
    JSON_TYPE,
    HttpError,
    JsonServer,
    RequestGuard,
    parse_body,
    shutdown_event,
)
from tarantula.search.barrels.signatures import SIGNATURE_HEADER, RequestSigner, SignatureRefused
from tarantula.search.query_counts import WRITE_INTERVAL_SECONDS, QueryCounter
from tarantula.search.results import BarrelCompletionRequest, BarrelSearchRequest, CompletionRequest, SearchRequest
from tarantula.store.liveness import BarrelMonitor, LiveBarrel
from tarantula.store.withholding import urls_withheld_now

logger = logging.getLogger(__name__)

LOOKUP_TIMEOUT_SECONDS = 2.0
"""Seconds to read the barrels from the database; after that the last read is used."""

BARREL_TIMEOUT_SECONDS = 5.0
"""Seconds that one barrel has to answer."""
QUESTION_TIMEOUT_SECONDS = 15.0
"""Seconds that barrels are tried for one query."""
SECOND_BARREL_AFTER_SECONDS = 1.0
"""Seconds after which a second barrel is asked in parallel."""
FAILURE_PENALTY_SECONDS = 5.0
"""Seconds that a failed barrel is asked only if there is no other."""
MAX_REMEMBERED_REFUSALS = 100
RETRY_PAUSE_SECONDS = 0.05
"""Seconds before failed barrels are tried again."""
LARGEST_ANSWER_BYTES = 10_000_000
"""Largest answer of a barrel."""
_PLACE = re.compile(rb'[{,]"place":(\d+)\}$')
PLACE_SUFFIX_BYTES = 40
"""Bytes at the end of an answer that hold its position."""
NO_BARREL_MESSAGE = "No barrel is running. Start one with `tarantula barrel`."
CATCHING_UP_MESSAGE = "The barrels are catching up with the collected documents. Try again in a moment."
NO_ANSWER_MESSAGE = "The barrels do not answer. Check their logs, or start another one with `tarantula barrel`."


class LiveBarrels(NamedTuple):
    """Barrels that are alive, and what they must not show."""

    barrels: list[LiveBarrel]
    withheld: list[str]
    """The withheld URLs, each in one of its spellings."""

    @property
    def place(self) -> int:
        """The furthest position that any of them may have answered from."""
        return max((barrel.place for barrel in self.barrels if barrel.is_ready), default=0)

    @property
    def ready(self) -> list[LiveBarrel]:
        """Barrels at the furthest position; all of them hold the same documents."""
        return [barrel for barrel in self.barrels if barrel.is_ready and barrel.place >= self.place]


class BarrelDirectory:
    """Reads the live barrels from the database, once for all waiting queries."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread = ThreadPoolExecutor(1, "barrel-directory")
        self._connection: Connection | None = None
        self._monitor = BarrelMonitor()
        self._waiting: asyncio.Future[LiveBarrels] | None = None
        self._task: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[LiveBarrels] | None = None
        self._last: LiveBarrels | None = None
        self._last_error = ""

    async def live(self) -> LiveBarrels:
        """Return the live barrels, from a read that starts after this call."""
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read_for_all())
        return await asyncio.shield(self._waiting)

    async def close(self) -> None:
        """Close the database connection, within the time limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=False)

    async def _read_for_all(self) -> None:
        while self._waiting is not None:
            future, self._waiting = self._waiting, None
            try:
                future.set_result(await self._current())
            except Exception as error:
                future.set_exception(error)

    async def _current(self) -> LiveBarrels:
        try:
            self._last = await self._read()
            self._last_error = ""
        except (DatabaseUnavailableError, TimeoutError) as error:
            self._log_once(error)
            if self._last is None:
                raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, self._last_error) from error
        return self._last

    async def _read(self) -> LiveBarrels:
        """Read the table, unless an earlier read is still running."""
        if self._reading is not None and not self._reading.done():
            raise TimeoutError
        self._reading = asyncio.get_running_loop().run_in_executor(self._thread, self._read_table)
        async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
            return await asyncio.shield(self._reading)

    def _read_table(self) -> LiveBarrels:
        """Read the table, in the one thread that owns the connection; drop the connection on any error."""
        try:
            with translate_errors(self._database.engine.url):
                self._connection = self._connection or self._database.autocommit_connection()
                barrels = self._monitor.live(self._connection)
                withheld = urls_withheld_now(self._connection) if self._monitor.has_withholdings else []
                return LiveBarrels(barrels, withheld)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _log_once(self, error: Exception) -> None:
        message = str(error) or "The database does not answer in time."
        # `Database.log_outages` logs when the server does not answer.
        if message != self._last_error and not isinstance(error, DatabaseUnreachableError):
            logger.error("%s", message)
        self._last_error = message


class BarrelQuestion(NamedTuple):
    """Request to a barrel."""

    path: str
    query: str
    request: SearchRequest | CompletionRequest
    kind: type[BarrelSearchRequest | BarrelCompletionRequest]

    def body(self, withheld: list[str]) -> bytes:
        """Return the body of the request."""
        # Its fields were validated when it arrived.
        return self.kind.model_construct(**dict(self.request), withheld=withheld).model_dump_json().encode()


class Gateway:
    """Forwards queries to barrels."""

    def __init__(self, directory: BarrelDirectory, counter: QueryCounter, signer: RequestSigner | None = None) -> None:
        self._directory = directory
        self._counter = counter
        self._signer = signer
        self._refusals: dict[int, str] = {}
        """Why barrels are not believed, by their ids."""
        self._client = HttpClient(policy=UNRESTRICTED, max_idle_per_server=32)
        self._running = Counter[int]()
        self._penalised_until: dict[int, float] = {}

    async def find(self, body: bytes) -> bytes:
        """Forward a search to a barrel; raise an error if none answers."""
        request = parse_body(SearchRequest, body)
        self._counter.note(request)
        return await self._answer(BarrelQuestion("/find", request.query, request, BarrelSearchRequest))

    async def complete(self, body: bytes) -> bytes:
        """Forward a completion request to a barrel; raise an error if none answers."""
        request = parse_body(CompletionRequest, body)
        return await self._answer(BarrelQuestion("/complete", request.prefix, request, BarrelCompletionRequest))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
        await self._directory.close()

    async def _answer(self, question: BarrelQuestion) -> bytes:
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT_SECONDS):
                return await self._ask_barrels(question)
        except TimeoutError:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, NO_ANSWER_MESSAGE) from None

    async def _ask_barrels(self, question: BarrelQuestion) -> bytes:
        """Ask one barrel after the other; a slow barrel may still answer while others are asked."""
        tried: set[int] = set()
        running: set[asyncio.Task[bytes | None]] = set()
        try:
            while True:
                live = await self._directory.live()
                barrel = self._choose(live, tried, question)
                if barrel is not None:
                    tried.add(barrel.id)
                    running.add(self._start(barrel, question, live))
                elif not running:
                    self._check_refusals(live)
                    tried.clear()
                    await asyncio.sleep(RETRY_PAUSE_SECONDS)
                    continue
                done, running = await asyncio.wait(
                    running, timeout=SECOND_BARREL_AFTER_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                for answer in filter(None, (task.result() for task in done)):
                    return answer
        finally:
            for task in running:
                task.cancel()

    def _choose(self, live: LiveBarrels, tried: set[int], question: BarrelQuestion) -> LiveBarrel | None:
        """Return the untried barrel with the least load and no recent failure; ties are broken by query."""
        if not live.ready:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, CATCHING_UP_MESSAGE if live.barrels else NO_BARREL_MESSAGE)
        candidates = [barrel for barrel in live.ready if barrel.id not in tried]
        return min(candidates, key=lambda one: self._priority(one, question), default=None)

    def _priority(self, barrel: LiveBarrel, question: BarrelQuestion) -> tuple[bool, int, int]:
        is_penalised = monotonic() < self._penalised_until.get(barrel.id, 0.0)
        # CRC instead of hash(), so that all gateways choose the same barrel for a query.
        return is_penalised, self._running[barrel.id], crc32(f"{barrel.id} {question.query}".encode())

    def _start(self, barrel: LiveBarrel, question: BarrelQuestion, live: LiveBarrels) -> asyncio.Task[bytes | None]:
        self._running[barrel.id] += 1
        task = asyncio.create_task(self._ask(barrel, question, live))
        task.add_done_callback(lambda _: self._finish(barrel))
        return task

    def _finish(self, barrel: LiveBarrel) -> None:
        self._running[barrel.id] -= 1
        # Barrel ids are never reused: without this the counter would grow for years.
        if not self._running[barrel.id]:
            del self._running[barrel.id]

    async def _ask(self, barrel: LiveBarrel, question: BarrelQuestion, live: LiveBarrels) -> bytes | None:
        """Return a barrel's answer from the position of the live ones or a later one, or None."""
        started = monotonic()
        try:
            exchange = await self._exchange(barrel, question.path, question.body(live.withheld))
            self._refusals.pop(barrel.id, None)
            if exchange.status == HTTPStatus.OK and answer_place(exchange.body) >= live.place:
                return exchange.body
        except SignatureRefused as error:
            self._note_refusal(barrel, str(error))
        except DownloadError:
            pass
        except asyncio.CancelledError:
            # Another barrel was faster, or the client has disconnected.
            if monotonic() - started > SECOND_BARREL_AFTER_SECONDS:
                self._penalise(barrel)
            raise
        self._penalise(barrel)
        return None

    async def _exchange(self, barrel: LiveBarrel, path: str, body: bytes, *, is_second: bool = False) -> Exchange:
        signature = self._signer.sign(barrel.address, path, body) if self._signer else None
        headers = [(b"Content-Type", JSON_TYPE.encode())]
        if signature is not None:
            headers.append((SIGNATURE_HEADER.encode(), signature.header.encode()))
        request = FetchRequest(
            f"{barrel.address}{path}",
            headers=headers,
            method="POST",
            body=body,
            timeout=BARREL_TIMEOUT_SECONDS,
            max_size=LARGEST_ANSWER_BYTES,
            is_repeatable=True,
        )
        exchange = await self._client.fetch(request)
        if self._signer is None:
            return exchange
        answer = exchange.get(SIGNATURE_HEADER.encode())
        if self._signer.verify(barrel.address, signature, answer, exchange.status, exchange.body) or is_second:
            return exchange
        return await self._exchange(barrel, path, body, is_second=True)

    def _note_refusal(self, barrel: LiveBarrel, message: str) -> None:
        if self._refusals.get(barrel.id) != message:
            logger.error("%s", message)
        self._refusals = {**dict(list(self._refusals.items())[-MAX_REMEMBERED_REFUSALS:]), barrel.id: message}

    def _check_refusals(self, live: LiveBarrels) -> None:
        """Raise an error if no barrel has the same key: that does not pass by itself."""
        messages = [self._refusals.get(barrel.id, "") for barrel in live.ready]
        if all(messages):
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, messages[0])

    def _penalise(self, barrel: LiveBarrel) -> None:
        now = monotonic()
        recent = {number: until for number, until in self._penalised_until.items() if until > now}
        self._penalised_until = {**recent, barrel.id: now + FAILURE_PENALTY_SECONDS}


def answer_place(answer: bytes) -> int:
    """Return the position at the end of a barrel's answer; -1 if there is none."""
    found = _PLACE.search(answer[-PLACE_SUFFIX_BYTES:])
    return int(found[1]) if found else -1


async def run_gateway(database: Database, listener: socket.socket, guard: RequestGuard, signer: RequestSigner) -> None:
    """Run a gateway until Ctrl-C or SIGTERM."""
    # Objects that exist now live for good: exclude them from garbage collection.
    gc.freeze()
    counter = QueryCounter(database)
    gateway = Gateway(BarrelDirectory(database), counter, signer)
    writer = asyncio.create_task(_write_regularly(counter))
    routes = {"/find": ("POST", gateway.find), "/complete": ("POST", gateway.complete)}
    await JsonServer(routes, guard).run(listener, shutdown_event())
    writer.cancel()
    await gateway.close()
    await asyncio.to_thread(counter.write)


async def _write_regularly(counter: QueryCounter) -> None:
    while True:
        await asyncio.sleep(WRITE_INTERVAL_SECONDS)
        await asyncio.to_thread(counter.write)
