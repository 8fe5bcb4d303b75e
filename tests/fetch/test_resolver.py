"""Name resolution."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tarantula.fetch import names as resolve
from tarantula.fetch.exchange import ServerUnreachable
from tarantula.fetch.names import Resolver
from tests.sites.raw import RawServer, answering
from tests.support.fetches import fetch


def table(**names: list[str]) -> tuple[list[str], Callable[[str], Awaitable[list[str]]]]:
    asked: list[str] = []

    async def look_up(host: str) -> list[str]:
        asked.append(host)
        return names.get(host, [])

    return asked, look_up


def test_a_name_is_looked_up_once_by_all_who_ask() -> None:
    asked, look_up = table(a=["8.8.8.8"])
    resolver = Resolver(look_up)

    async def main() -> None:
        await asyncio.gather(*(resolver.addresses("a") for _ in range(10)))
        await resolver.addresses("a")
        for _ in range(2):
            with pytest.raises(ServerUnreachable, match=r"The name b does not resolve."):
                await resolver.addresses("b")
        await resolver.close()

    asyncio.run(main())
    assert asked == ["a", "b"]


def test_what_is_known_grows_old_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "CACHE_SECONDS", 0.0)
    asked, look_up = table(a=["8.8.8.8"])
    resolver = Resolver(look_up)

    async def main() -> None:
        await resolver.addresses("a")
        await resolver.addresses("a")
        monkeypatch.setattr(resolve, "CACHE_SECONDS", 300.0)
        monkeypatch.setattr(resolve, "MAX_CACHED_NAMES", 1)
        await resolver.addresses("a")
        with pytest.raises(ServerUnreachable):
            await resolver.addresses("b")
        await resolver.addresses("a")
        await resolver.close()

    asyncio.run(main())
    assert asked == ["a", "a", "a", "b", "a"]


def test_one_who_gives_up_takes_nothing_from_the_others() -> None:
    async def main() -> list[str]:
        asked, go = asyncio.Event(), asyncio.Event()

        async def look_up(host: str) -> list[str]:
            asked.set()
            await go.wait()
            return ["8.8.8.8"]

        resolver = Resolver(look_up)
        impatient = asyncio.ensure_future(resolver.addresses("a"))
        patient = asyncio.ensure_future(resolver.addresses("a"))
        await asked.wait()
        impatient.cancel()
        await asyncio.wait({impatient})
        go.set()
        found = await patient
        await resolver.close()
        return found

    assert asyncio.run(main()) == ["8.8.8.8"]


def test_a_name_that_failed_is_looked_up_after_a_growing_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(resolve, "monotonic", lambda: now)
    asked, look_up = table()
    resolver = Resolver(look_up)
    times = []
    for second in range(3000):
        now = float(second)
        before = len(asked)
        with pytest.raises(ServerUnreachable):
            asyncio.run(resolver.addresses("b"))
        if len(asked) > before:
            times.append(second)
    assert times == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1623, 2223, 2823]


def test_an_address_is_not_looked_up() -> None:
    asked, look_up = table()
    assert [asyncio.run(Resolver(look_up).addresses(host)) for host in ("127.0.0.1", "::1")] == [["127.0.0.1"], ["::1"]]
    with pytest.raises(ServerUnreachable):
        asyncio.run(Resolver(look_up).addresses("1.example"))
    assert asked == ["1.example"]


def test_the_next_address_is_tried() -> None:
    _, look_up = table(**{"two.example": ["127.0.0.6", "127.0.0.7"]})
    with RawServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), address="127.0.0.7") as server:
        got = fetch(f"http://two.example:{server.port}/", client={"resolver": Resolver(look_up)})
        assert got.address == "127.0.0.7"


def test_internet_protocol_6() -> None:
    with RawServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), address="::1") as server:
        got = fetch(server.url)
    assert (got.address, got.body) == ("::1", b"hi")
