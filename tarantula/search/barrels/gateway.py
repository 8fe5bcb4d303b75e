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
from typing import NamedTuple

from tarantula.download.client import Client
from tarantula.download.errors import DownloadError
from tarantula.download.exchange import Ask
from tarantula.search.barrels.http_request import JSON, NoAnswer
from tarantula.search.barrels.lookout import Look, Lookout
from tarantula.search.barrels.posted import read_wish
from tarantula.search.counting import SearchCounts
from tarantula.search.results import Prefix, Request
from tarantula.store.barrels import Living

ONE = 5.0
"""Seconds that one barrel has for its answer."""
ALL = 15.0
"""Seconds for which barrels are tried, one after the other."""
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
        failed: set[int] = set()
        while True:
            look = await self._lookout.look()
            barrel = self._chosen(look, failed, question)
            if barrel is None:
                failed.clear()
                await asyncio.sleep(PAUSE)
            elif (answer := await self._ask(barrel, question, look.place)) is not None:
                return answer
            else:
                failed.add(barrel.id)

    def _chosen(self, look: Look, failed: set[int], question: Question) -> Living | None:
        """Return the barrel with least to do; among equals, the pages of one query come from one."""
        if not look.ready:
            raise NoAnswer(HTTPStatus.SERVICE_UNAVAILABLE, CATCHING_UP if look.barrels else NONE)
        untried = [barrel for barrel in look.ready if barrel.id not in failed]
        return min(untried, key=lambda one: (self._under_way[one.id], hash((one.id, question.query))), default=None)

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
        self._under_way[barrel.id] += 1
        try:
            exchange = await self._client.fetch(ask)
        except DownloadError:
            return None
        finally:
            self._under_way[barrel.id] -= 1
            # Barrels come and go for years.
            if not self._under_way[barrel.id]:
                del self._under_way[barrel.id]
        is_new_enough = exchange.status == HTTPStatus.OK and place_of(exchange.body) >= place
        return exchange.body if is_new_enough else None


def place_of(answer: bytes) -> int:
    """Return the place that an answer comes from, which barrels tell last; none if it is no barrel's."""
    told = _PLACE.search(answer[-LONGEST_PLACE:])
    return int(told[1]) if told else -1
