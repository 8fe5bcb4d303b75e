"""No outgoing path of the program connects to a private address, whatever names and pages say.

The scenarios run in a network namespace (`program`); the assertions are about the log of its packets (`network`).
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.network import FORBIDDEN, PROXY
from tests.lab.program import BROWSER_SCENARIOS, REFUSED, SCENARIOS, SHARED, SITEMAP_HOSTS, TRIED_ADDRESSES
from tests.support.crawls import ROOT
from tools.chromium import usable_browser

IN_NAMESPACE = ["unshare", "--net", "--mount", "--propagation", "private", "--"]
PERMITTED = {"named base", "allowed", "notifications of a curator"}
"""Scenarios in which a person permitted a private address: they show that the log sees such connections."""

WITHOUT_CONNECTIONS = {"not allowed", "bare browser"}
PICKER_REFUSES = {"http://inside.test/", "http://public.test/to-private"}


def namespace_problem() -> str:
    """Return why this machine cannot have network namespaces; empty if it can."""
    check = "ip link set lo up && ip addr add 93.184.1.1/32 dev lo && mount --bind /etc/hosts /etc/hosts"
    try:
        done = subprocess.run(
            [*IN_NAMESPACE, "sh", "-c", check], capture_output=True, text=True, timeout=30, check=False
        )
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each scenario did, by its name; and all requests, under ``asked``."""
    if problem := namespace_problem():
        pytest.skip(f"Network namespaces need root and Linux: {problem}")
    folder: Path = tmp_path_factory.mktemp("lab")
    options = ["--browser"] if usable_browser() is not None else []
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [*IN_NAMESPACE, sys.executable, "-m", "tests.lab.program", str(folder), *options],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return {**results["scenarios"], "asked": results["asked"]}


def connections(laboratory: dict[str, Any], name: str) -> list[str]:
    """Return the connections of a scenario."""
    found: list[str] = laboratory[name]["connections"]
    return found


def tcp(*hosts: str, port: int = 80) -> list[str]:
    """Return the log entries of connections to a port of these hosts."""
    return [f"tcp {host}:{port}" for host in hosts]


def test_no_private_address_was_connected_to(laboratory: dict[str, Any]) -> None:
    reached = {
        (name, entry)
        for name, scenario in laboratory.items()
        if name not in {"asked", f"bare browser{SHARED}", *PERMITTED}
        for entry in scenario["connections"]
        if not entry.startswith(("tcp 93.184.1.", f"tcp {PROXY}:3128"))
    }
    assert reached == set()
    asked = {request.partition(" ")[0] for request in laboratory["asked"]}
    assert asked & FORBIDDEN == {"10.0.0.5"}


def test_permitted_addresses_were_connected_to(laboratory: dict[str, Any]) -> None:
    assert connections(laboratory, "named base") == tcp("10.0.0.5")
    assert connections(laboratory, "allowed") == tcp("10.0.0.5")
    assert laboratory["named base"]["result"]["egress"] == "egress_named"
    assert laboratory["allowed"]["result"]["egress"] == "egress_private"
    assert connections(laboratory, "not allowed") == []
    assert laboratory["not allowed"]["result"]["states"] == {"http://inside.test/": -5}


def test_sitemaps(laboratory: dict[str, Any]) -> None:
    """Sitemaps are read from public addresses, and what they list is held to the same policy."""
    assert connections(laboratory, "sitemaps") == tcp("93.184.1.1", "93.184.1.2", "93.184.1.3", "93.184.1.6")
    states = laboratory["sitemaps"]["result"]["states"]
    read = {url for url, state in states.items() if url.endswith("/sitemap.xml") and state == 200}
    assert read == {f"http://{host}/sitemap.xml" for host in SITEMAP_HOSTS}
    assert states["http://10.0.0.5/mapped"] == states["http://inside.test/sitemap.xml"] == -5


def test_tls_asks_nobody_about_certificates(laboratory: dict[str, Any]) -> None:
    """The responder, the issuer and the revocation list that a certificate names are private."""
    assert connections(laboratory, "tls") == tcp("93.184.1.1", "93.184.1.2", "93.184.1.6", port=443)
    result = laboratory["tls"]["result"]
    assert result["states"] == {
        "https://public.test/secure": 200,
        # Its name is not in the certificate.
        "https://mixed.test/secure": -11,
        "https://later.test/secure": 200,
        "https://10.0.0.5/secure": -5,
        "https://inside.test/secure": -5,
    }
    assert connections(laboratory, "stream tls") == tcp("93.184.1.1", port=443)
    assert laboratory["stream tls"]["result"] == ["read", "read"]


def test_collector_robots_and_notices_of_items(laboratory: dict[str, Any]) -> None:
    """Of mixed answers the public one is visited, and a name that changes keeps the address that was checked."""
    assert connections(laboratory, "collector") == tcp("93.184.1.1", "93.184.1.2", "93.184.1.3", "93.184.1.4")
    result = laboratory["collector"]["result"]
    assert result["egress"] == "egress_public"
    refused = [url for url, state in result["states"].items() if state == -5]
    # Two of the links are other ways to write the same address.
    assert len(refused) == len(REFUSED) - 2 + 1
    assert {result["reasons"][url] for url in refused} == {"private_address", "special_address"}
    visited = {url: state for url, state in result["states"].items() if state != -5}
    assert visited == {
        "http://public.test/": 200,
        "http://public.test/to-private": 302,
        "http://mixed.test/": 200,
        "http://robots.test/page": 200,
        **{f"http://rebinding.test/{number}": 200 for number in range(4)},
    }
    assert connections(laboratory, "mixed base") == tcp("93.184.1.2")
    assert laboratory["mixed base"]["result"]["egress"] == "egress_public"
    assert connections(laboratory, "changing base") == tcp("93.184.1.6")


def test_a_proxy_gets_only_names_without_private_addresses(laboratory: dict[str, Any]) -> None:
    assert connections(laboratory, "proxy") == [f"tcp {PROXY}:3128"]
    handed = {request.partition(" ")[2] for request in laboratory["asked"] if request.startswith(f"{PROXY} ")}
    assert {"public.test/", "public.test/to-private", "robots.test/page"} <= handed
    assert not any(one.startswith(("mixed.", "inside.", "alias.", "metadata.", "10.")) for one in handed)
    assert laboratory["proxy"]["result"]["states"]["http://mixed.test/"] == -5


def test_previews(laboratory: dict[str, Any]) -> None:
    assert laboratory["preview"]["result"] == 0
    assert {*tcp("93.184.1.1", "93.184.1.2")} <= {*connections(laboratory, "preview")}


def test_streams_follow_neither_a_name_nor_a_redirect_inside(laboratory: dict[str, Any]) -> None:
    assert connections(laboratory, "stream") == tcp("93.184.1.5")
    assert laboratory["stream"]["result"] == ["read", "refused"]
    assert connections(laboratory, "stream redirect") == tcp("93.184.1.1")
    assert laboratory["stream redirect"]["result"] == ["refused", "refused"]
    assert connections(laboratory, "stream mixed") == tcp("93.184.1.2")
    assert laboratory["stream mixed"]["result"] == ["read", "read"]
    assert connections(laboratory, "stream rebinding") == tcp("93.184.1.3")
    assert connections(laboratory, "stream changing") == tcp("93.184.1.6")
    assert laboratory["stream changing"]["result"] == ["read", "refused"]


def test_logins_at_a_provider(laboratory: dict[str, Any]) -> None:
    """Endpoints that a provider names are connected to only at public addresses."""
    assert connections(laboratory, "provider") == tcp("93.184.1.1", port=443)
    result = laboratory["provider"]["result"]
    assert len(result) == 6
    assert [issuer for issuer, said in result.items() if "cannot be reached" not in said] == []


def test_suggestions(laboratory: dict[str, Any]) -> None:
    accepted = {url for url, code in laboratory["suggestions"]["result"].items() if code == 0}
    # The name that is changed after the suggestion is refused when it is collected.
    assert accepted == {"http://mixed.test/", "http://later.test/"}
    assert connections(laboratory, "suggestions") == tcp("93.184.1.2")


def test_the_picker_and_the_parts_of_its_pages(laboratory: dict[str, Any]) -> None:
    plain = tcp("93.184.1.1", "93.184.1.2", "93.184.1.3", "93.184.1.6")
    assert connections(laboratory, "picker") == sorted([*plain, *tcp("93.184.1.1", port=443)])
    result = laboratory["picker"]["result"]
    assert {url for url, outcome in result.items() if outcome == "refused"} == PICKER_REFUSES
    assert "opened with a part" not in result.values()


def test_notifications(laboratory: dict[str, Any]) -> None:
    """Neither names, redirects nor key files lead inside."""
    assert {*tcp("93.184.1.1", "93.184.1.2", "93.184.1.6")} <= {*connections(laboratory, "notifications")}
    sent = [sent for address, sent in laboratory["notifications"]["result"].items() if "rebinding" not in address]
    # A public server, the public one of mixed addresses, a name before it changes, a public server with TLS, and the
    # system's log, which is no connection.
    assert sent == [True, True, *[False] * 5, True, False, True, False, False, True, False]


def test_notifications_that_people_set_up(laboratory: dict[str, Any]) -> None:
    """Readers reach public servers only, and curators also the private addresses that they write themselves."""
    reader, curator = (laboratory[f"notifications of a {role}"] for role in ("reader", "curator"))
    public = [f"tcp 93.184.1.{number}:80" for number in (1, 2, 3)]
    assert [one for one in reader["connections"] if one not in public] == []
    assert public[0] in reader["connections"]
    sent = {address for address, outcome in reader["result"].items() if outcome == "sent"}
    # A name with one private address is not for readers, whichever address is used.
    assert sent <= {"json://public.test/value", "ntfy://public.test/value", "json://rebinding.test/0"}
    assert {"json://public.test/value"} <= sent
    refused = [address for address, outcome in reader["result"].items() if outcome == "not allowed"]
    assert {*TRIED_ADDRESSES[-11:], *TRIED_ADDRESSES[5:13]} <= {*refused}
    literal = {
        "tcp 10.0.0.5:80",
        "tcp fd12::5:80",
        "tcp [fd12::5]:80",
        "tcp 127.0.0.1:80",
        "tcp ::1:80",
        "tcp [::1]:80",
    }
    assert {*curator["connections"]} <= {*public, *literal}
    assert "tcp 10.0.0.5:80" in curator["connections"]
    assert curator["result"]["json://mixed.test/"] == "sent"
    assert {curator["result"][address] for address in TRIED_ADDRESSES[-7:]} == {"not allowed"}


@pytest.mark.parametrize("network", ["", SHARED])
def test_pages_in_the_browser(laboratory: dict[str, Any], network: str) -> None:
    """Scripts, frames, windows, sockets, beacons and WebRTC of a page reach only what the collector fetches for them.

    That holds in an empty network namespace, and also where Chromium has to share the network of the collector.
    """
    if "browser" not in laboratory:
        pytest.skip("No Chromium starts here: see CONTRIBUTING.md.")
    assert connections(laboratory, f"browser{network}") == tcp("93.184.1.1", "93.184.1.2", "93.184.1.3")
    assert "93.184.1.1 public.test/part.txt" in laboratory["asked"]
    assert connections(laboratory, "browser rebinding") == tcp("93.184.1.3")


def test_rendered_streams_and_pages_in_the_picker(laboratory: dict[str, Any]) -> None:
    if "browser" not in laboratory:
        pytest.skip("No Chromium starts here: see CONTRIBUTING.md.")
    assert connections(laboratory, "stream rendered") == tcp("93.184.1.1", "93.184.1.2", "93.184.1.3")
    assert laboratory["stream rendered"]["result"] == ["read", "read"]
    assert connections(laboratory, "stream rendered mixed") == tcp("93.184.1.2")
    assert connections(laboratory, "stream rendered changing") == tcp("93.184.1.6")
    assert laboratory["stream rendered changing"]["result"] == ["read", "refused"]
    assert {*tcp("93.184.1.1", "93.184.1.2")} <= {*connections(laboratory, "picker rendered")}
    result = laboratory["picker rendered"]["result"]
    assert {url for url, outcome in result.items() if outcome == "refused"} >= PICKER_REFUSES


def test_chromium_in_an_empty_namespace_cannot_connect(laboratory: dict[str, Any]) -> None:
    """Even a Chromium without our options, whose requests nothing intercepts."""
    if "browser" not in laboratory:
        pytest.skip("No Chromium starts here: see CONTRIBUTING.md.")
    assert laboratory["bare browser"]["connections"] == []
    assert "ERR_INTERNET_DISCONNECTED" in laboratory["bare browser"]["result"]
    assert "tcp 93.184.1.1:80" in connections(laboratory, f"bare browser{SHARED}")


NETWORK_MODULES = frozenset(
    "aiodns aiohttp apprise asyncssh boto3 botocore curl_cffi ftplib h2 http.client httpcore httpx imaplib nntplib "
    "obstore paramiko playwright poplib psycopg psycopg2 pycares pycurl pysftp requests scrapy_playwright smtplib "
    "socket ssl telnetlib twisted.internet.endpoints twisted.internet.reactor twisted.web urllib.request urllib3 "
    "uvicorn websocket websockets xmlrpc".split()
)
"""Modules that can connect, resolve names, or start a browser."""
NETWORK_CALLS = frozenset(
    "HttpClient PickerBrowser PickerClient create_connection create_datagram_endpoint getaddrinfo open_connection "
    "send_message sock_connect urlopen".split()
)
"""Functions and classes that do, or lead to those that do."""
BROWSER_PATHS = {"browser", "stream rendered", "picker rendered", "bare browser"}
PATHS: dict[str, set[str]] = {
    "accounts.oidc": {"provider"},
    "browser.chromium": BROWSER_PATHS,
    "engine.downloader": {"collector", "sitemaps", "changing base", "mixed base", "proxy", "preview", "stream"},
    "engine.page_renderer": {"browser", "browser rebinding"},
    "engine.source_renderer": {"stream rendered", "stream rendered mixed", "stream rendered changing"},
    "fetch.connection": {"collector", "stream", "picker", "proxy"},
    "fetch.names": {"collector", "stream", "picker", "suggestions", "notifications"},
    "fetch.tls": {"tls", "stream tls", "picker"},
    "lifecycle.notifications": {"collector", "notifications"},
    "publications.fields": {"notifications"},
    "publications.notifications": {"notifications", "notifications of a reader", "notifications of a curator"},
    "services.notifications": {"notifications of a reader", "notifications of a curator"},
    "streams.alerts.notifications": {"notifications"},
    "streams.ingest.failures": {"notifications"},
    "streams.picker.browser": {"picker rendered"},
    "streams.picker.client": {"picker", "picker rendered"},
    "web.picker.service": {"picker", "picker rendered"},
}
"""Modules of the program that connect, or let others connect, and the scenarios that use them."""
NOT_OUTGOING = {
    "core.config": "the name of this machine",
    "core.limited_worker": "a worker that must not connect, in a test",
    "core.sockets": "listens",
    "search.barrels.barrel": "listens",
    "search.barrels.client": "barrels and gateways that the operator names",
    "search.barrels.gateway": "barrels that the operator names; listens",
    "search.barrels.http_server": "listens",
    "store.bulk": "the database that the operator names",
    "store.homes": "the name of this machine",
    "store.liveness": "the name of this machine",
    "web.app": "listens",
    "web.server": "listens",
}
"""Modules that are not in the laboratory, and why."""


def network_use(source: str) -> set[str]:
    """Return the network modules that a module imports, and the network functions that it calls."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = []
            called = node.func if isinstance(node, ast.Call) else None
            name = getattr(called, "id", None) or getattr(called, "attr", None)
            if name in NETWORK_CALLS:
                found.add(name)
        found |= {one for one in NETWORK_MODULES for name in names if f"{name}.".startswith(f"{one}.")}
    return found


def test_every_module_that_connects_is_in_the_laboratory() -> None:
    """A new outgoing path has to be added to the scenarios, or to the list of those that are none, with a reason."""
    package = ROOT / "tarantula"
    used = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in package.rglob("*.py")
        if network_use(path.read_text())
    }
    assert sorted(used) == sorted({*PATHS, *NOT_OUTGOING})
    assert PATHS.keys().isdisjoint(NOT_OUTGOING)
    assert {name for names in PATHS.values() for name in names} <= {*SCENARIOS, *BROWSER_SCENARIOS}


@pytest.mark.parametrize(
    "line", ["import httpx", "from urllib import request", "import http.client as c", "x.urlopen(1)"]
)
def test_uses_of_the_network_are_recognised(line: str) -> None:
    assert network_use(line)


def test_every_scenario_ran(laboratory: dict[str, Any]) -> None:
    expected = {*SCENARIOS, *(BROWSER_SCENARIOS if usable_browser() is not None else ())}
    assert laboratory.keys() - {"asked"} == expected
    for name in expected - WITHOUT_CONNECTIONS:
        assert connections(laboratory, name), f"{name} connected to nothing, so it shows nothing"
