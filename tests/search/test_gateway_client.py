"""Searching through a gateway: the same results as from an index, and clear errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.results import SearchFacets, SearchRequest, SearchResults
from tests.support.barrels import arrive, new_item, start_barrel, start_gateway
from tests.support.command_result import Tarantula
from tests.support.crawls import interrupt
from tests.support.waits import eventually

FOUND = SearchResults(
    query="x", page=1, pages=0, documents=0, results=[], facets=SearchFacets(), notes=["É tudo."], place=3
)


class Handler(BaseHTTPRequestHandler):
    """Answers as its server is configured."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Send the next configured answer."""
        requests = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, body, closes = self.server.answers.pop(0)  # type: ignore[attr-defined]
        self.server.asked.append((self.path, requests["query"], self.client_address))  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        # Close silently, so that the next request finds the connection closed.
        self.close_connection = closes

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def fake_gateway(*answers: tuple[int, bytes, bool]) -> Iterator[tuple[GatewayClient, list[tuple[str, str, object]]]]:
    """Yield a client of a fake gateway, and the requests that the gateway receives."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answers, server.asked = list(answers), []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with closing(GatewayClient(f"http://127.0.0.1:{server.server_address[1]}/below/")) as client:
            yield client, server.asked  # type: ignore[attr-defined]
        server.shutdown()


GOOD = FOUND.model_dump_json().encode()


def test_connections_are_reused_and_reopened() -> None:
    with fake_gateway((200, GOOD, False), (200, GOOD, True), (200, GOOD, False)) as (client, requests):
        assert [client.find(SearchRequest(query=query)) for query in "abc"] == [FOUND] * 3
        paths, queries, clients = zip(*requests, strict=True)
    assert set(paths) == {"/below/find"}
    assert queries == ("a", "b", "c")
    assert (clients[0] == clients[1], clients[1] == clients[2]) == (True, False)


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        ((503, b'{"error": "There is none."}', False), ConflictError, r"^There is none\.$"),
        ((400, b'{"error": "The page is wrong."}', False), TarantulaError, "The page is wrong"),
        ((200, b"<html>", False), TarantulaError, "is not a gateway of this version"),
        ((200, b"{}", False), TarantulaError, "is not a gateway of this version"),
        ((500, b"oh", False), TarantulaError, "is not a gateway of this version"),
    ],
)
def test_errors_of_the_gateway_are_reported(
    answer: tuple[int, bytes, bool], kind: type[TarantulaError], sentence: str
) -> None:
    with fake_gateway(answer) as (client, _), pytest.raises(kind, match=sentence):
        client.find(SearchRequest(query="x"))


@pytest.mark.parametrize("address", ["nowhere", "ftp://x.example", "http://", "http://[", "http://x.example:port"])
def test_invalid_addresses_are_refused(tarantula: Tarantula, address: str) -> None:
    done = tarantula("search", "--gateway", address, "x")
    assert (done.code, done.out) == (2, "")
    assert "is not the address of a gateway. Write it like http://127.0.0.1:7700." in done.err


def test_lone_surrogates_are_replaced() -> None:
    with fake_gateway((200, GOOD, False)) as (client, requests):
        client.find(SearchRequest(query="caf\udce9 \ud800"))
    assert requests[0][1] == "caf? ?"


def test_a_missing_gateway_is_reported(tarantula: Tarantula) -> None:
    done = tarantula("search", "--gateway", "http://127.0.0.1:9", "x")
    assert done.code == 2
    assert done.err.startswith("The gateway at http://127.0.0.1:9 does not answer (Connection refused).")


def test_a_barrel_on_all_addresses_announces_its_address(tarantula: Tarantula) -> None:
    done = tarantula("barrel", "--host", "0.0.0.0")
    assert (done.code, "with --address" in done.err) == (2, True)


def test_commands_search_through_a_gateway(sqlite: Database, tarantula: Tarantula, tmp_path: Path) -> None:
    urn = new_item(sqlite)
    arrive(sqlite, urn, {"a": "It is everywhere."})
    gateway, address = start_gateway()
    assert "No barrel is running" in tarantula("search", "--gateway", address, "everywhere").err
    barrel, _ = start_barrel(tmp_path / "b")
    eventually(lambda: tarantula("search", "--gateway", address, "everywhere").code == 0)
    found = json.loads(tarantula("search", "--gateway", address, "--json", "everywhere").out)
    assert (found["documents"], found["results"][0]["url"]) == (1, "http://one.example/a")
    assert (interrupt(gateway), gateway.returncode) == ("", 0)
    assert (interrupt(barrel), barrel.returncode) == ("", 0)
