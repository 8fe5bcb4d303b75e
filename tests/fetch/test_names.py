"""Lookups by name servers that answer, refuse or are silent, and names that are left to the system."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.fetch import names
from tarantula.fetch.exchange import ServerUnreachable
from tarantula.fetch.names import NameLookup, Resolver, has_dns_only, look_up
from tests.sites.name_server import NXDOMAIN, SERVFAIL, NameServer
from tests.support.fetches import RUNNERS, Runner
from tests.support.waits import eventually_here


async def asked(lookup: NameLookup, host: str) -> list[str]:
    try:
        return await lookup(host)
    finally:
        await lookup.close()


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
def test_a_name_server_answers(run: Runner[list[str]]) -> None:
    with NameServer({"live.example": "127.0.0.7", "none.example": NXDOMAIN}) as server:
        assert run(asked(NameLookup([server.address]), "live.example")) == ["127.0.0.7"]
        assert run(asked(NameLookup([server.address]), "none.example")) == []


def test_a_name_server_that_fails_is_not_a_name_without_addresses() -> None:
    with NameServer({"broken.example": SERVFAIL}) as server, pytest.raises(ServerUnreachable) as failed:
        asyncio.run(asked(NameLookup([server.address]), "broken.example"))
    assert failed.value.reason.code == "name_lookup_failed"
    assert str(failed.value).startswith("The name broken.example could not be looked up (")


LOOKUP_PROGRAM = """
import asyncio, sys
from tarantula.fetch.names import NameLookup, look_up

async def main():
    lookup = NameLookup(sys.argv[2:])
    print(await lookup(sys.argv[1]), look_up(sys.argv[1]))
    await lookup.close()

asyncio.run(main())
"""


def test_the_hosts_file_comes_first(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.9 listed.example\n")
    with NameServer({}) as server:
        # With a hosts file of its own, which needs root.
        script = f'mount --bind {hosts} /etc/hosts || exit 77; exec "$@"'
        program = [sys.executable, "-c", LOOKUP_PROGRAM, "listed.example", server.address]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", *program], capture_output=True, text=True, check=False
        )
        if done.returncode in (1, 77) and not done.stdout:
            pytest.skip(f"A hosts file of its own needs root: {done.stderr}")
        assert (done.stdout, done.stderr) == ("['127.0.0.9'] ['127.0.0.9']\n", "")
        assert server.asked == []


def test_a_silent_name_server_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "LOOKUP_SECONDS", 0.05)
    with NameServer({}) as server, pytest.raises(ServerUnreachable, match=r"dead.example could not be looked up"):
        asyncio.run(asked(NameLookup([server.address]), "dead.example"))


def test_three_hundred_dead_names_delay_no_other() -> None:
    async def main() -> None:
        lookup = NameLookup([server.address])
        resolver = Resolver(lookup)
        dead = [asyncio.ensure_future(resolver.addresses(f"dead{number}.example")) for number in range(300)]
        await eventually_here(lambda: len(set(server.asked)) == 300)
        assert await resolver.addresses("live.example") == ["127.0.0.7"]
        assert not any(one.done() for one in dead)
        await resolver.close()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*dead, return_exceptions=True)
        )

    with NameServer({"live.example": "127.0.0.7"}) as server:
        asyncio.run(main())


def test_old_addresses_are_used_while_the_name_servers_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        resolver = Resolver(NameLookup([server.address]))
        monkeypatch.setattr("tarantula.fetch.names.CACHE_SECONDS", 0.0)
        assert await resolver.addresses("live.example") == ["127.0.0.7"]
        server.names["live.example"] = SERVFAIL
        assert await resolver.addresses("live.example") == ["127.0.0.7"]
        await resolver.close()

    # Longer than c-ares remembers an answer itself.
    monkeypatch.setattr("tests.sites.name_server.TTL_SECONDS", 0)
    with NameServer({"live.example": "127.0.0.7"}) as server:
        asyncio.run(main())


@pytest.mark.parametrize(
    ("hosts", "host", "is_only"),
    [
        ("files dns", "www.example", True),
        ("files mdns4_minimal [NOTFOUND=return] dns myhostname", "www.example", True),
        ("files dns # ldap", "www.example.", True),
        ("files dns", "intranet", False),
        ("files mdns4_minimal [NOTFOUND=return] dns", "printer.local", False),
        ("files ldap dns", "www.example", False),
        ("files resolve [!UNAVAIL=return] dns", "www.example", False),
    ],
)
def test_names_that_other_sources_may_know_are_left_to_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hosts: str, host: str, is_only: bool
) -> None:
    (tmp_path / "nsswitch.conf").write_text(f"passwd: files\nhosts:  {hosts}\n")
    (tmp_path / "resolv.conf").write_text("nameserver 10.0.0.1\n")
    _use(monkeypatch, tmp_path)
    assert has_dns_only(host) is is_only


def test_systemd_resolved_is_asked_by_its_stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nsswitch.conf").write_text("hosts: files resolve [!UNAVAIL=return] dns\n")
    (tmp_path / "resolv.conf").write_text("# stub\nnameserver 127.0.0.53\noptions edns0\n")
    _use(monkeypatch, tmp_path)
    assert has_dns_only("www.example")


def _use(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    monkeypatch.setattr(names, "NSSWITCH", directory / "nsswitch.conf")
    monkeypatch.setattr(names, "RESOLV_CONF", directory / "resolv.conf")
    monkeypatch.setattr(names, "_has_other_sources", names._has_other_sources.__wrapped__)


def test_the_system_knows_this_machine() -> None:
    assert asyncio.run(asked(NameLookup(), "localhost")) == look_up("localhost") != []


@pytest.mark.parametrize("servers", ["10.0.0.53", "10.0.0.53:5353; [::1]:5353", "[2001:db8::1]"])
def test_name_servers_are_addresses(servers: str) -> None:
    assert Config(name_servers=servers).dns_servers == servers.split("; ")


@pytest.mark.parametrize("servers", ["ns.example", "10.0.0.53:dns", "10.0.0.53;10.0"])
def test_a_name_server_that_is_not_an_address_is_refused(servers: str) -> None:
    with pytest.raises(TarantulaError, match=r"TARANTULA_NAME_SERVERS: '.*' is not an address. Write 10.0.0.53"):
        Config(name_servers=servers)
