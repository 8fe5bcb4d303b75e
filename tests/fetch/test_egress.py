"""The egress policy: kinds of addresses, and which of them may be connected to."""

from __future__ import annotations

import pytest

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.urls import canonical
from tarantula.fetch.egress import UNRESTRICTED, AddressKind, EgressPolicy, NamedAddress, address_kind
from tarantula.fetch.exchange import FetchRequest, PrivateAddress, ServerUnreachable
from tarantula.publications.config import read_config
from tarantula.store.server_settings import egress_policy
from tests.sites.raw import RawServer, repeating
from tests.support.fetches import LOCAL, fetch, fetch_all

PRIVATE = [
    "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "::1",
    "fc00::1", "fd12::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
]  # fmt: skip
SPECIAL = [
    # Metadata services.
    "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254",
    "fd20:ce::254", "::ffff:169.254.169.254", "::ffff:100.100.100.200",
    # Unspecified, broadcast, multicast, benchmarks, documentation.
    "0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "239.1.1.1", "240.0.0.1", "198.18.0.1", "192.0.2.1",
    "198.51.100.1", "203.0.113.1", "192.88.99.1", "::", "ff02::1", "ff0e::1", "2001:db8::1", "3fff::1", "100::1",
    # Link-local and site-local, with a zone and without.
    "fe80::1", "fe80::1%eth0", "fec0::1",
    # IPv4 addresses within IPv6 ones: compatible, NAT64, 6to4, Teredo.
    "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::", "2001::1",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8", "194.117.42.1", "172.32.0.1", "100.128.0.1", "2001:690:21c0::1", "2606:4700::1111", "::ffff:8.8.8.8",
    "64:ff9b::808:808", "2002:808:808::1",
]  # fmt: skip
KINDS = {AddressKind.PRIVATE: PRIVATE, AddressKind.SPECIAL: SPECIAL, AddressKind.PUBLIC: PUBLIC}
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize(("kind", "address"), [(kind, one) for kind, some in KINDS.items() for one in some])
def test_kinds_of_addresses(kind: AddressKind, address: str) -> None:
    assert address_kind(address) is kind


def permitted(policy: EgressPolicy, host: str, port: int = 80) -> list[str]:
    """Return those of all addresses that a host could be at which a policy permits."""
    return [address for some in KINDS.values() for address in some if policy.permits(host, port, address)]


def test_without_permission_only_public_addresses() -> None:
    assert permitted(EgressPolicy(), "www.example.org") == PUBLIC
    # Asked again, as for the next request on an idle connection.
    policy = EgressPolicy()
    assert permitted(policy, "www.example.org") == permitted(policy, "www.example.org") == PUBLIC


def test_private_addresses_by_permission_and_special_ones_by_network_only() -> None:
    assert permitted(EgressPolicy(allow_private=True), "www.example.org") == [*PRIVATE, *PUBLIC]
    networks = EgressPolicy.of(Config(private_networks="10.0.0.0/8; 169.254.169.254;fd00::/8"))
    expected = ["10.0.0.1", "fd12::1", "::ffff:10.0.0.1", "169.254.169.254", "fd00:ec2::254", "fd20:ce::254",
                "::ffff:169.254.169.254", *PUBLIC]  # fmt: skip
    assert permitted(networks, "www.example.org") == expected
    assert len(permitted(UNRESTRICTED, "barrel")) == len(PRIVATE) + len(SPECIAL) + len(PUBLIC)


@pytest.mark.parametrize(
    ("url", "host", "port", "address", "expected"),
    [
        ("http://10.0.0.5/", "10.0.0.5", 80, "10.0.0.5", True),
        ("http://10.0.0.5/", "10.0.0.5", 443, "10.0.0.5", True),
        ("http://10.0.0.5/", "10.0.0.5", 8080, "10.0.0.5", False),
        ("http://10.0.0.5:8080/", "10.0.0.5", 8080, "10.0.0.5", True),
        ("http://10.0.0.5:8080/", "10.0.0.5", 80, "10.0.0.5", False),
        ("http://10.0.0.5/", "10.0.0.6", 80, "10.0.0.6", False),
        # A name that leads to the address is another server.
        ("http://10.0.0.5/", "www.example.org", 80, "10.0.0.5", False),
        ("http://[::1]:81/", "::1", 81, "::1", True),
        ("http://[::ffff:10.0.0.5]/", "10.0.0.5", 80, "10.0.0.5", False),
        # RFC 6761: localhost is loopback, and nothing else.
        ("http://localhost:81/", "localhost", 81, "127.0.0.1", True),
        ("http://localhost:81/", "localhost", 81, "::1", True),
        ("http://localhost:81/", "localhost", 81, "10.0.0.5", False),
        ("http://localhost:81/", "127.0.0.1", 81, "127.0.0.1", False),
        # Written as an address, but of special use.
        ("http://169.254.169.254/", "169.254.169.254", 80, "169.254.169.254", False),
        ("http://0.0.0.0/", "0.0.0.0", 80, "0.0.0.0", False),
    ],
)
def test_an_address_that_is_written_permits_itself(
    url: str, host: str, port: int, address: str, expected: bool
) -> None:
    assert EgressPolicy.of(Config(), [url]).permits(host, port, address) is expected


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", "①②⑦.⓪.⓪.①", "%31%32%37.0.0.1"],
)
def test_other_ways_to_write_an_address_are_the_same_address(host: str) -> None:
    url = canonical(f"http://{host}/")
    assert url == "http://127.0.0.1/"
    assert NamedAddress.of_url(url) == NamedAddress("127.0.0.1", frozenset({80, 443}))
    with pytest.raises(PrivateAddress):
        fetch(url, client={"policy": EgressPolicy()})


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:7f00:1]", "[::1]", "0"])
def test_an_address_that_was_not_made_canonical_is_refused_too(host: str) -> None:
    with RawServer(repeating(HELLO)) as server:
        with pytest.raises((PrivateAddress, ServerUnreachable)):
            fetch(f"http://{host}:{server.port}/", client={"policy": EgressPolicy()})
        assert server.peers == []


def test_a_publication_names_its_base_and_its_accepted_addresses() -> None:
    accept = ["127.0.0.*", "10.1.2.3:8080", "[fd12::1]", ".example.org", "*"]
    config = read_config({"name": "p", "base_url": "http://192.168.0.1:81/", "accept": accept})
    policy = egress_policy(Config(), config)
    assert policy.describe().sentence() == (
        "Public addresses, and those that the publication names: 192.168.0.1:81, 127.0.0.*, 10.1.2.3:8080, [fd12::1]."
    )
    asked = [
        ("127.0.0.9", 99),
        ("10.1.2.3", 8080),
        ("10.1.2.3", 80),
        ("fd12::1", 1),
        ("192.168.0.1", 80),
        ("10.1.2.4", 8080),
    ]
    assert [policy.permits(host, port, host) for host, port in asked] == [True, True, False, True, False, False]
    assert not policy.permits("127.0.0.example.org", 80, "127.0.0.9")


def test_of_mixed_answers_the_permitted_ones_remain() -> None:
    policy = EgressPolicy()
    assert policy.permitted("mixed.example", 80, ["10.0.0.1", "8.8.8.8", "169.254.169.254", "2606:4700::1111"]) == [
        "8.8.8.8",
        "2606:4700::1111",
    ]
    with pytest.raises(PrivateAddress) as private:
        policy.permitted("inside.example", 80, ["10.0.0.1", "10.0.0.2"])
    assert str(private.value) == (
        "The server inside.example is at the private address 10.0.0.1. To visit it, set allow_private, or list its "
        "network in TARANTULA_PRIVATE_NETWORKS."
    )
    with pytest.raises(PrivateAddress, match=r"the address 169\.254\.169\.254, which has a special use"):
        policy.permitted("cloud.example", 80, ["169.254.169.254"])


def test_what_is_permitted_is_told_in_one_sentence_for_each_cause() -> None:
    assert str(EgressPolicy().describe()) == "Public addresses only."
    policy = EgressPolicy.of(Config(private_networks="10.0.0.0/8", proxy_guards=True), allow_private=True)
    assert str(policy.describe()) == (
        "Public and private addresses, because allow_private is set. Also 10.0.0.0/8, from TARANTULA_PRIVATE_NETWORKS. "
        "The proxy is trusted to refuse private addresses (TARANTULA_PROXY_GUARDS)."
    )


@pytest.mark.parametrize("text", ["intranet.example", "10.0.0.1/8", "10.0.0.0/8, 192.168.0.0/16"])
def test_networks_that_are_none(text: str) -> None:
    with pytest.raises(TarantulaError, match=r"^TARANTULA_PRIVATE_NETWORKS: .* is not a network\. Write it as"):
        Config(private_networks=text)


def test_an_idle_connection_is_not_shared_with_a_request_that_may_not_connect() -> None:
    with RawServer(repeating(HELLO)) as server:
        requests = [
            FetchRequest(server.url),
            FetchRequest(server.url, policy=EgressPolicy()),
        ]
        with pytest.raises(PrivateAddress):
            fetch_all(requests, policy=LOCAL)
        assert len(server.requests) == 1
        # The connection stays in the pool for requests that may use it.
        fetch_all([FetchRequest(server.url), FetchRequest(server.url)], policy=LOCAL)
        assert len(server.peers) == 2
