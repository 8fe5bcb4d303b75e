"""Name resolution and private addresses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from tarantula.fetch import resolver as resolve
from tarantula.fetch.errors import PrivateAddress, ServerUnreachable
from tarantula.fetch.resolver import Resolver, is_public
from tests.sites.raw import RawServer, answering
from tests.support.fetches import fetch


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1",
        "192.0.0.192", "168.63.129.16", "198.18.0.1", "192.0.2.1",
        "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "ff0e::1",
        "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1",
        "2002:7f00:1::", "2001::1",
    ],
)  # fmt: skip
def test_private_addresses(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "194.117.42.1", "172.32.0.1", "100.128.0.1", "2001:690:21c0::1", "2606:4700::1111", "::ffff:8.8.8.8",
     "64:ff9b::808:808"],
)  # fmt: skip
def test_public_addresses(address: str) -> None:
    assert is_public(address)


def visit(resolver: Resolver, *hosts: str) -> list[list[str]]:
    async def main() -> list[list[str]]:
        try:
            return list(await asyncio.gather(*map(resolver.visitable, hosts)))
        finally:
            resolver.close()

    return asyncio.run(main())


def table(**names: list[str]) -> tuple[list[str], Callable[[str], list[str]]]:
    asked: list[str] = []

    def look_up(host: str) -> list[str]:
        asked.append(host)
        return names.get(host, [])

    return asked, look_up


def test_private_addresses_are_left_out_where_they_must_be() -> None:
    names = {"mixed": ["10.0.0.1", "8.8.8.8"], "inside": ["10.0.0.1"]}
    assert visit(Resolver(look_up=table(**names)[1]), "mixed") == [["10.0.0.1", "8.8.8.8"]]
    assert visit(Resolver(look_up=table(**names)[1], allow_private=False), "mixed") == [["8.8.8.8"]]
    with pytest.raises(PrivateAddress, match=r"The server inside is at the private address 10.0.0.1."):
        visit(Resolver(look_up=table(**names)[1], allow_private=False), "inside")


def test_a_name_is_looked_up_once_by_all_who_ask() -> None:
    asked, look_up = table(a=["8.8.8.8"])
    resolver = Resolver(look_up=look_up)

    async def main() -> None:
        await asyncio.gather(*(resolver.addresses("a") for _ in range(10)))
        await resolver.addresses("a")
        for _ in range(2):
            with pytest.raises(ServerUnreachable, match=r"The name b does not resolve."):
                await resolver.addresses("b")
        resolver.close()

    asyncio.run(main())
    assert asked == ["a", "b"]


def test_what_is_known_grows_old_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "CACHE_SECONDS", 0.0)
    asked, look_up = table(a=["8.8.8.8"])
    resolver = Resolver(look_up=look_up)

    async def main() -> None:
        await resolver.addresses("a")
        await resolver.addresses("a")
        monkeypatch.setattr(resolve, "CACHE_SECONDS", 300.0)
        monkeypatch.setattr(resolve, "MAX_CACHED_NAMES", 1)
        await resolver.addresses("a")
        with pytest.raises(ServerUnreachable):
            await resolver.addresses("b")
        await resolver.addresses("a")
        resolver.close()

    asyncio.run(main())
    assert asked == ["a", "a", "a", "b", "a"]


def test_one_who_gives_up_takes_nothing_from_the_others() -> None:
    go = threading.Event()

    def look_up(host: str) -> list[str]:
        go.wait(5)
        return ["8.8.8.8"]

    async def main() -> list[str]:
        resolver = Resolver(look_up=look_up)
        impatient = asyncio.ensure_future(resolver.addresses("a"))
        patient = asyncio.ensure_future(resolver.addresses("a"))
        await asyncio.sleep(0.01)
        impatient.cancel()
        await asyncio.sleep(0.01)
        go.set()
        found = await patient
        resolver.close()
        return found

    assert asyncio.run(main()) == ["8.8.8.8"]


def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Resolver, "_resolve", _two_addresses)
    with RawServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), address="127.0.0.7") as server:
        assert fetch(f"http://two.example:{server.port}/").address == "127.0.0.7"


async def _two_addresses(_resolver: Resolver, _host: str) -> list[str]:
    return ["127.0.0.6", "127.0.0.7"]


def test_internet_protocol_6() -> None:
    with RawServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), address="::1") as server:
        got = fetch(server.url)
    assert (got.address, got.body) == ("::1", b"hi")
