"""No outgoing path of the program connects to a private address, whatever names and pages say.

The scenarios run in a network namespace (`program`); the assertions are about the log of its packets (`network`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.network import FORBIDDEN, PROXY
from tests.lab.program import REFUSED, TRIED_ADDRESSES
from tests.support.crawls import ROOT
from tools.chromium import usable_browser

IN_NAMESPACE = ["unshare", "--net", "--mount", "--propagation", "private", "--"]
PERMITTED = {"named base", "allowed", "notifications of a curator"}
"""Scenarios in which a person permitted a private address: they show that the log sees such connections."""


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


def tcp(*hosts: str) -> list[str]:
    """Return the log entries of connections to port 80 of these hosts."""
    return [f"tcp {host}:80" for host in hosts]


def test_no_private_address_was_connected_to(laboratory: dict[str, Any]) -> None:
    reached = {
        (name, entry)
        for name, scenario in laboratory.items()
        if name not in {"asked", *PERMITTED}
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


def test_suggestions(laboratory: dict[str, Any]) -> None:
    accepted = {url for url, code in laboratory["suggestions"]["result"].items() if code == 0}
    assert accepted == {"http://mixed.test/"}
    assert connections(laboratory, "suggestions") == tcp("93.184.1.2")


def test_the_picker_and_the_parts_of_its_pages(laboratory: dict[str, Any]) -> None:
    assert connections(laboratory, "picker") == tcp("93.184.1.1", "93.184.1.2")
    assert laboratory["picker"]["result"] == {
        "http://public.test/sheet": "opened",
        "http://mixed.test/": "opened",
        "http://inside.test/": "refused",
        "http://public.test/to-private": "refused",
    }


def test_notifications(laboratory: dict[str, Any]) -> None:
    """Neither names, redirects nor key files lead inside."""
    assert {*tcp("93.184.1.1", "93.184.1.2")} <= {*connections(laboratory, "notifications")}
    sent = [sent for address, sent in laboratory["notifications"]["result"].items() if "rebinding" not in address]
    # A public server, the public one of mixed addresses, and the system's log, which is no connection.
    assert sent == [True, True, *[False] * 6, True, False]


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


def test_pages_in_the_browser(laboratory: dict[str, Any]) -> None:
    """Scripts, frames, sockets, beacons and WebRTC of a page reach only what the collector fetches for them."""
    if "browser" not in laboratory:
        pytest.skip("No Chromium starts here: see CONTRIBUTING.md.")
    assert connections(laboratory, "browser") == tcp("93.184.1.1")
    assert "93.184.1.1 public.test/part.txt" in laboratory["asked"]
