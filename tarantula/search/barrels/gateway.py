"""A gateway: asks a barrel, and another when that fails.

What is guaranteed, with any number of gateways on one database: when an answer has come from a place in the journal,
every question that is asked afterwards is answered from that place or a later one, as long as the barrel that gave
the answer lives. So nobody is answered without documents with which another was answered already, unless they were
removed. A barrel lives if it was heard of within the last seconds, by the database's clock. When none is left that has
come so far, those that live are asked where they are: answers may go back, to what these had told of before.

A question looks at the database first. A barrel tells its place there before it answers from it, so this look shows the
furthest place of any answer that was given before; only barrels that have told it are asked, and an answer from
before it is thrown away. While the database does not answer, the last look must do.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from http import HTTPStatus
from time import monotonic
from typing import NamedTuple
from zlib import crc32

from tarantula.fetch.client import HttpClient
from tarantula.fetch.errors import DownloadError
from tarantula.fetch.exchange import FetchRequest
from tarantula.search.barrels.gateway_part_lookout import BarrelDirectory, LiveBarrels
from tarantula.search.barrels.http_server_part_http_request import JSON_TYPE, HttpError
from tarantula.search.barrels.http_server_part_posted import parse_body
from tarantula.search.query_counts import QueryCounter
from tarantula.search.results import CompletionRequest, SearchRequest
from tarantula.store.liveness import LiveBarrel

BARREL_TIMEOUT_SECONDS = 5.0
"""Seconds that one barrel has for its answer."""
QUESTION_TIMEOUT_SECONDS = 15.0
"""Seconds for which barrels are tried."""
SECOND_BARREL_AFTER_SECONDS = 1.0
"""Seconds after which another is asked as well."""
FAILURE_PENALTY_SECONDS = 5.0
"""Seconds for which one that failed is asked only if there is no other."""
RETRY_PAUSE_SECONDS = 0.05
"""Seconds before those are tried again that failed."""
LARGEST_ANSWER_BYTES = 10_000_000
"""Bytes of an answer."""

_PLACE = re.compile(rb'[{,]"place":(\d+)\}$')
PLACE_SUFFIX_BYTES = 40
"""Bytes at the end of an answer that tell it."""

NO_BARREL_MESSAGE = "There is no barrel that can be asked. Start one with `tarantula barrel`."
CATCHING_UP_MESSAGE = "The barrels are catching up with what was collected. Ask again in a moment."
NO_ANSWER_MESSAGE = "The barrels do not answer. See what they say, or start another with `tarantula barrel`."


class BarrelQuestion(NamedTuple):
    """What a barrel is asked."""

    path: str
    query: str
    body: bytes


class Gateway:
    """Finds a barrel for every question."""

    def __init__(self, lookout: BarrelDirectory, counts: QueryCounter) -> None:
        self._lookout = lookout
        self._counts = counts
        self._client = HttpClient(max_idle_per_server=32)
        self._under_way = Counter[int]()
        self._doubtful: dict[int, float] = {}

    async def find(self, body: bytes) -> bytes:
        """Return the answer of a barrel, or say that there is none."""
        request = parse_body(SearchRequest, body)
        self._counts.note(request)
        return await self._answer(BarrelQuestion("/find", request.query, request.model_dump_json().encode()))

    async def complete(self, body: bytes) -> bytes:
        """Return how a query may go on, as a barrel says, or say that there is none."""
        wish = parse_body(CompletionRequest, body)
        return await self._answer(BarrelQuestion("/complete", wish.prefix, wish.model_dump_json().encode()))

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()
        await self._lookout.close()

    async def _answer(self, question: BarrelQuestion) -> bytes:
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT_SECONDS):
                return await self._asked(question)
        except TimeoutError:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, NO_ANSWER_MESSAGE) from None

    async def _asked(self, question: BarrelQuestion) -> bytes:
        """Ask one barrel after the other; one that takes long is not given up while others are asked."""
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
        """Return who has least to do and did not fail lately; among equals, the pages of one query come from one."""
        if not look.ready:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, CATCHING_UP_MESSAGE if look.barrels else NO_BARREL_MESSAGE)
        untried = [barrel for barrel in look.ready if barrel.id not in tried]
        return min(untried, key=lambda one: self._reluctance(one, question), default=None)

    def _reluctance(self, barrel: LiveBarrel, question: BarrelQuestion) -> tuple[bool, int, int]:
        is_doubtful = monotonic() < self._doubtful.get(barrel.id, 0.0)
        # The same in every gateway, as a hash is not.
        return is_doubtful, self._under_way[barrel.id], crc32(f"{barrel.id} {question.query}".encode())

    def _begun(self, barrel: LiveBarrel, question: BarrelQuestion, place: int) -> asyncio.Task[bytes | None]:
        self._under_way[barrel.id] += 1
        task = asyncio.create_task(self._ask(barrel, question, place))
        task.add_done_callback(lambda _: self._leave(barrel))
        return task

    def _leave(self, barrel: LiveBarrel) -> None:
        self._under_way[barrel.id] -= 1
        # Barrels come and go for years.
        if not self._under_way[barrel.id]:
            del self._under_way[barrel.id]

    async def _ask(self, barrel: LiveBarrel, question: BarrelQuestion, place: int) -> bytes | None:
        """Return a barrel's answer, from a place or a later one; nothing if none came."""
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
            # Another was quicker, or whoever asked has gone.
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
    """Return the place that an answer comes from, which barrels tell last; none if it is no barrel's."""
    told = _PLACE.search(answer[-PLACE_SUFFIX_BYTES:])
    return int(told[1]) if told else -1
