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

from tarantula.fetch.client import Client
from tarantula.fetch.errors import DownloadError
from tarantula.fetch.exchange import Ask
from tarantula.search.barrels.gateway_part_lookout import Look, Lookout
from tarantula.search.barrels.http_server_part_http_request import JSON, NoAnswer
from tarantula.search.barrels.http_server_part_posted import read_wish
from tarantula.search.query_counts import SearchCounts
from tarantula.search.results import Prefix, Request
from tarantula.store.liveness import Living

ONE = 5.0
"""Seconds that one barrel has for its answer."""
ALL = 15.0
"""Seconds for which barrels are tried."""
ALONE = 1.0
"""Seconds after which another is asked as well."""
DOUBT = 5.0
"""Seconds for which one that failed is asked only if there is no other."""
PAUSE = 0.05
"""Seconds before those are tried again that failed."""
LARGEST = 10_000_000
"""Bytes of an answer."""

_PLACE = re.compile(rb'[{,]"place":(\d+)\}$')
LONGEST_PLACE = 40
"""Bytes at the end of an answer that tell it."""

NONE = "There is no barrel that can be asked. Start one with `tarantula barrel`."
CATCHING_UP = "The barrels are catching up with what was collected. Ask again in a moment."
NO_ANSWER = "The barrels do not answer. See what they say, or start another with `tarantula barrel`."


class Question(NamedTuple):
    """What a barrel is asked."""

    path: str
    query: str
    body: bytes


class Gateway:
    """Finds a barrel for every question."""

    def __init__(self, lookout: Lookout, counts: SearchCounts) -> None:
        self._lookout = lookout
        self._counts = counts
        self._client = Client(max_idle_per_server=32)
        self._under_way = Counter[int]()
        self._doubtful: dict[int, float] = {}

    async def find(self, body: bytes) -> bytes:
        """Return the answer of a barrel, or say that there is none."""
        request = read_wish(Request, body)
        self._counts.note(request)
        return await self._answer(Question("/find", request.query, request.model_dump_json().encode()))

    async def complete(self, body: bytes) -> bytes:
        """Return how a query may go on, as a barrel says, or say that there is none."""
        wish = read_wish(Prefix, body)
        return await self._answer(Question("/complete", wish.prefix, wish.model_dump_json().encode()))

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()
        await self._lookout.close()

    async def _answer(self, question: Question) -> bytes:
        try:
            async with asyncio.timeout(ALL):
                return await self._asked(question)
        except TimeoutError:
            raise NoAnswer(HTTPStatus.SERVICE_UNAVAILABLE, NO_ANSWER) from None

    async def _asked(self, question: Question) -> bytes:
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
                    await asyncio.sleep(PAUSE)
                    continue
                done, under_way = await asyncio.wait(under_way, timeout=ALONE, return_when=asyncio.FIRST_COMPLETED)
                for answer in filter(None, (task.result() for task in done)):
                    return answer
        finally:
            for task in under_way:
                task.cancel()

    def _chosen(self, look: Look, tried: set[int], question: Question) -> Living | None:
        """Return who has least to do and did not fail lately; among equals, the pages of one query come from one."""
        if not look.ready:
            raise NoAnswer(HTTPStatus.SERVICE_UNAVAILABLE, CATCHING_UP if look.barrels else NONE)
        untried = [barrel for barrel in look.ready if barrel.id not in tried]
        return min(untried, key=lambda one: self._reluctance(one, question), default=None)

    def _reluctance(self, barrel: Living, question: Question) -> tuple[bool, int, int]:
        is_doubtful = monotonic() < self._doubtful.get(barrel.id, 0.0)
        # The same in every gateway, as a hash is not.
        return is_doubtful, self._under_way[barrel.id], crc32(f"{barrel.id} {question.query}".encode())

    def _begun(self, barrel: Living, question: Question, place: int) -> asyncio.Task[bytes | None]:
        self._under_way[barrel.id] += 1
        task = asyncio.create_task(self._ask(barrel, question, place))
        task.add_done_callback(lambda _: self._leave(barrel))
        return task

    def _leave(self, barrel: Living) -> None:
        self._under_way[barrel.id] -= 1
        # Barrels come and go for years.
        if not self._under_way[barrel.id]:
            del self._under_way[barrel.id]

    async def _ask(self, barrel: Living, question: Question, place: int) -> bytes | None:
        """Return a barrel's answer, from a place or a later one; nothing if none came."""
        ask = Ask(
            f"{barrel.address}{question.path}",
            headers=[(b"Content-Type", JSON.encode())],
            method="POST",
            body=question.body,
            timeout=ONE,
            max_size=LARGEST,
            is_repeatable=True,
        )
        began = monotonic()
        try:
            exchange = await self._client.fetch(ask)
            if exchange.status == HTTPStatus.OK and place_of(exchange.body) >= place:
                return exchange.body
        except DownloadError:
            pass
        except asyncio.CancelledError:
            # Another was quicker, or whoever asked has gone.
            if monotonic() - began > ALONE:
                self._doubt(barrel)
            raise
        self._doubt(barrel)
        return None

    def _doubt(self, barrel: Living) -> None:
        now = monotonic()
        lately = {number: until for number, until in self._doubtful.items() if until > now}
        self._doubtful = {**lately, barrel.id: now + DOUBT}


def place_of(answer: bytes) -> int:
    """Return the place that an answer comes from, which barrels tell last; none if it is no barrel's."""
    told = _PLACE.search(answer[-LONGEST_PLACE:])
    return int(told[1]) if told else -1
