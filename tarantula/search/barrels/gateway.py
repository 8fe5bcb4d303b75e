"""A gateway: forwards each search to a live barrel, and to another when that fails.

Guarantee, with any number of gateways on one database: after an answer from a position in the journal, every later
question is answered from that position or a later one, as long as the barrel that gave the answer lives. No client
misses documents that another client has already been shown, unless they were removed. A barrel is alive if its last
heartbeat is at most some seconds old by the database's clock. If no barrel that has come so far is left, the live ones
are asked: answers may then go back to the positions these had written before.

How: each question first reads the barrels from the database. A barrel writes its position there before it answers from
it, so this shows the furthest position of any earlier answer. Only barrels at that position are asked, and an answer
from before it is discarded. While the database does not answer, the last read is used.
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

from tarantula.core.database import Database
from tarantula.core.database_errors import translate_errors
from tarantula.core.errors import DatabaseUnavailableError
from tarantula.fetch.client import HttpClient
from tarantula.fetch.errors import DownloadError
from tarantula.fetch.exchange import FetchRequest
from tarantula.search.barrels.http_server import JSON_TYPE, HttpError, JsonServer, parse_body, shutdown_event
from tarantula.search.query_counts import WRITE_INTERVAL_SECONDS, QueryCounter
from tarantula.search.results import CompletionRequest, SearchRequest
from tarantula.store.liveness import BarrelMonitor, LiveBarrel

LOOKUP_TIMEOUT_SECONDS = 2.0
"""Seconds to read the barrels from the database; after that the last read is used."""

logger = logging.getLogger(__name__)


class LiveBarrels(NamedTuple):
    """Barrels that are alive."""

    barrels: list[LiveBarrel]

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
        self._thread = ThreadPoolExecutor(1, "looking")
        self._connection: Connection | None = None
        self._signs = BarrelMonitor()
        self._waited_for: asyncio.Future[LiveBarrels] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[LiveBarrels] | None = None
        self._last: LiveBarrels | None = None
        self._complaint = ""

    async def look(self) -> LiveBarrels:
        """Return the live barrels, from a read that starts after this call."""
        if self._waited_for is None:
            self._waited_for = asyncio.get_running_loop().create_future()
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_for_all())
        return await asyncio.shield(self._waited_for)

    async def close(self) -> None:
        """Close the database connection, within the time limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown(wait=False)

    async def _look_for_all(self) -> None:
        while self._waited_for is not None:
            waiting, self._waited_for = self._waited_for, None
            try:
                waiting.set_result(await self._seen())
            except Exception as error:
                waiting.set_exception(error)

    async def _seen(self) -> LiveBarrels:
        try:
            self._last = await self._read()
            self._complaint = ""
        except (DatabaseUnavailableError, TimeoutError) as error:
            self._say_once(str(error) or "The database takes long to answer.")
            if self._last is None:
                raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, self._complaint) from error
        return self._last

    async def _read(self) -> LiveBarrels:
        """Read the table, unless an earlier read is still running."""
        if self._reading is not None and not self._reading.done():
            raise TimeoutError
        self._reading = asyncio.get_running_loop().run_in_executor(self._thread, self._living)
        async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
            return await asyncio.shield(self._reading)

    def _living(self) -> LiveBarrels:
        """Read the table, in the one thread that owns the connection; drop the connection on any error."""
        try:
            with translate_errors(self._database.engine.url):
                self._connection = self._connection or self._database.autocommit_connection()
                return LiveBarrels(self._signs.live(self._connection))
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _say_once(self, complaint: str) -> None:
        if complaint != self._complaint:
            logger.error("%s", complaint)
        self._complaint = complaint


BARREL_TIMEOUT_SECONDS = 5.0
"""Seconds that one barrel has to answer."""
QUESTION_TIMEOUT_SECONDS = 15.0
"""Seconds that barrels are tried for one query."""
SECOND_BARREL_AFTER_SECONDS = 1.0
"""Seconds after which a second barrel is asked in parallel."""
FAILURE_PENALTY_SECONDS = 5.0
"""Seconds that a failed barrel is asked only if there is no other."""
RETRY_PAUSE_SECONDS = 0.05
"""Seconds before failed barrels are tried again."""
LARGEST_ANSWER_BYTES = 10_000_000
"""Largest answer of a barrel."""

_PLACE = re.compile(rb'[{,]"place":(\d+)\}$')
PLACE_SUFFIX_BYTES = 40
"""Bytes at the end of an answer that hold its position."""

NO_BARREL_MESSAGE = "There is no barrel that can be asked. Start one with `tarantula barrel`."
CATCHING_UP_MESSAGE = "The barrels are catching up with what was collected. Ask again in a moment."
NO_ANSWER_MESSAGE = "The barrels do not answer. See what they say, or start another with `tarantula barrel`."


class BarrelQuestion(NamedTuple):
    """Request to a barrel."""

    path: str
    query: str
    body: bytes


class Gateway:
    """Forwards queries to barrels."""

    def __init__(self, lookout: BarrelDirectory, counts: QueryCounter) -> None:
        self._lookout = lookout
        self._counts = counts
        self._client = HttpClient(max_idle_per_server=32)
        self._under_way = Counter[int]()
        self._doubtful: dict[int, float] = {}

    async def find(self, body: bytes) -> bytes:
        """Forward a search to a barrel; raise an error if none answers."""
        request = parse_body(SearchRequest, body)
        self._counts.note(request)
        return await self._answer(BarrelQuestion("/find", request.query, request.model_dump_json().encode()))

    async def complete(self, body: bytes) -> bytes:
        """Forward a completion request to a barrel; raise an error if none answers."""
        wish = parse_body(CompletionRequest, body)
        return await self._answer(BarrelQuestion("/complete", wish.prefix, wish.model_dump_json().encode()))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
        await self._lookout.close()

    async def _answer(self, question: BarrelQuestion) -> bytes:
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT_SECONDS):
                return await self._asked(question)
        except TimeoutError:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, NO_ANSWER_MESSAGE) from None

    async def _asked(self, question: BarrelQuestion) -> bytes:
        """Ask one barrel after the other; a slow barrel may still answer while others are asked."""
        tried: set[int] = set()
        under_way: set[asyncio.Task[bytes | None]] = set()
        try:
            while True:
                look = await self._lookout.look()
                barrel = self._chosen(look, tried, question)
                if barrel is not None:
                    tried.add(barrel.id)
                    under_way.add(self._begun(barrel, question, look.place))
                elif not under_way:
                    tried.clear()
                    await asyncio.sleep(RETRY_PAUSE_SECONDS)
                    continue
                done, under_way = await asyncio.wait(
                    under_way, timeout=SECOND_BARREL_AFTER_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                for answer in filter(None, (task.result() for task in done)):
                    return answer
        finally:
            for task in under_way:
                task.cancel()

    def _chosen(self, look: LiveBarrels, tried: set[int], question: BarrelQuestion) -> LiveBarrel | None:
        """Return the untried barrel with the least load and no recent failure; ties are broken by query."""
        if not look.ready:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, CATCHING_UP_MESSAGE if look.barrels else NO_BARREL_MESSAGE)
        untried = [barrel for barrel in look.ready if barrel.id not in tried]
        return min(untried, key=lambda one: self._reluctance(one, question), default=None)

    def _reluctance(self, barrel: LiveBarrel, question: BarrelQuestion) -> tuple[bool, int, int]:
        is_doubtful = monotonic() < self._doubtful.get(barrel.id, 0.0)
        # CRC instead of hash(), so that all gateways choose the same barrel for a query.
        return is_doubtful, self._under_way[barrel.id], crc32(f"{barrel.id} {question.query}".encode())

    def _begun(self, barrel: LiveBarrel, question: BarrelQuestion, place: int) -> asyncio.Task[bytes | None]:
        self._under_way[barrel.id] += 1
        task = asyncio.create_task(self._ask(barrel, question, place))
        task.add_done_callback(lambda _: self._leave(barrel))
        return task

    def _leave(self, barrel: LiveBarrel) -> None:
        self._under_way[barrel.id] -= 1
        # Barrel ids are never reused: without this the counter would grow for years.
        if not self._under_way[barrel.id]:
            del self._under_way[barrel.id]

    async def _ask(self, barrel: LiveBarrel, question: BarrelQuestion, place: int) -> bytes | None:
        """Return a barrel's answer from a position of at least *place*, or None."""
        ask = FetchRequest(
            f"{barrel.address}{question.path}",
            headers=[(b"Content-Type", JSON_TYPE.encode())],
            method="POST",
            body=question.body,
            timeout=BARREL_TIMEOUT_SECONDS,
            max_size=LARGEST_ANSWER_BYTES,
            is_repeatable=True,
        )
        began = monotonic()
        try:
            exchange = await self._client.fetch(ask)
            if exchange.status == HTTPStatus.OK and answer_place(exchange.body) >= place:
                return exchange.body
        except DownloadError:
            pass
        except asyncio.CancelledError:
            # Another barrel was faster, or the client has disconnected.
            if monotonic() - began > SECOND_BARREL_AFTER_SECONDS:
                self._doubt(barrel)
            raise
        self._doubt(barrel)
        return None

    def _doubt(self, barrel: LiveBarrel) -> None:
        now = monotonic()
        lately = {number: until for number, until in self._doubtful.items() if until > now}
        self._doubtful = {**lately, barrel.id: now + FAILURE_PENALTY_SECONDS}


def answer_place(answer: bytes) -> int:
    """Return the position at the end of a barrel's answer; -1 if there is none."""
    told = _PLACE.search(answer[-PLACE_SUFFIX_BYTES:])
    return int(told[1]) if told else -1


async def run_gateway(database: Database, taken: socket.socket) -> None:
    """Run a gateway until Ctrl-C or SIGTERM."""
    # Objects that exist now live for good: exclude them from garbage collection.
    gc.freeze()
    counts = QueryCounter(database)
    gateway = Gateway(BarrelDirectory(database), counts)
    writing = asyncio.create_task(_write(counts))
    routes = {"/find": ("POST", gateway.find), "/complete": ("POST", gateway.complete)}
    await JsonServer(routes).run(taken, shutdown_event())
    writing.cancel()
    await gateway.close()
    await asyncio.to_thread(counts.write)


async def _write(counts: QueryCounter) -> None:
    while True:
        await asyncio.sleep(WRITE_INTERVAL_SECONDS)
        await asyncio.to_thread(counts.write)
