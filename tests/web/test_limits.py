"""Limits of requests: nothing that one reader does keeps others from their answers."""

from __future__ import annotations

import asyncio
import inspect
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg2
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text

from tarantula.accounts import accounts, tokens
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.streams.history import series_of, store_events
from tarantula.web import api, limits, live, public
from tarantula.web.api import monitoring
from tarantula.web.limits import RequestLimits, TooManyRequestsError
from tarantula.web.pages import login
from tests.support.crawls import TARANTULA, start
from tests.support.followed_sources import SECOND, followed
from tests.support.histories import at, event
from tests.support.item_lifecycles import change, new_item
from tests.support.waits import TIMEOUT_SECONDS, eventually
from tests.support.web_server import api_client, web_server

PASSWORD = "correct horse battery"
SOURCE = "weather.lisboa"
BEGIN = at("2026-06-12 21:00")
READERS = 30
EVIL_PATTERN = "^(([a-z])+.)+[A-Z]([a-z])+$"

pytestmark = pytest.mark.usefixtures("quick_passwords")


def account(database: Database, name: str = "ana", role: Role = Role.ADMINISTRATOR) -> dict[str, str]:
    """Add an account; return the header with its token."""
    with database.session() as session:
        added = accounts.add(session, name, role, PASSWORD)
        _, secret = tokens.create_token(session, added, "test", role, None)
    return {"Authorization": f"Bearer {secret}"}


def fill(database: Database, number: int, text: str = "") -> None:
    """Add a source with so many events: numbers, or a text that is always the same but for its end."""
    source = followed(database, SOURCE, {"value": "text" if text else "integer"})
    with database.session() as session:
        series = series_of(session, source, [("value", "")])["value", ""]
        store_events(session, [event(series, BEGIN + n * SECOND, f"{text}{n}") for n in range(number)])


@contextmanager
def slow_readers(address: str, paths: list[str], headers: dict[str, str]) -> Iterator[None]:
    """Request paths on connections that take nothing of the bodies."""
    host, port = address.removeprefix("http://").split(":")
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with ExitStack() as opened:
        for path in paths:
            client = opened.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(TIMEOUT_SECONDS)
            client.connect((host, int(port)))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{lines}\r\n".encode())
            assert client.recv(16).startswith(b"HTTP/1.1 200"), path
        yield


def test_slow_readers_of_streams_hold_nothing(
    database: Database, database_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARANTULA_WEB_CONNECTIONS", "3")
    monkeypatch.setenv("TARANTULA_EXPENSIVE_REQUESTS", "100")
    fill(database, 30_000)
    urn = new_item(database_config, database)
    change(database, urn, state="collecting")
    headers = account(database)
    stream = f"/api/streams/{SOURCE}/export"
    paths = [f"{stream}.json", f"{stream}.csv", f"{stream}.csv?grain=minute", f"/api/items/{urn}/live"]
    with web_server() as place, slow_readers(place.address, paths * (READERS // len(paths)), headers):
        with api_client(place.address, headers=headers) as client:
            for path in ("/health", "/api/me", "/api/streams", f"/api/items/{urn}", f"{stream}.atom"):
                assert client.get(path).status_code == 200, path
        with api_client(place.address) as client:
            entered = client.post("/login", data={"name": "ana", "password": PASSWORD})
            assert (entered.status_code, client.get("/").status_code) == (303, 200)


def test_every_streamed_response_is_read_slowly_above(sqlite: Database, config: Config) -> None:
    """A new route that streams needs a place in the test above; files are sent without the database."""
    source = Path(limits.__file__).parent
    streaming = {path.name for path in source.rglob("*.py") if "StreamingResponse(" in path.read_text()}
    assert streaming == {"live.py", "streams.py"}
    assert "return StreamingResponse(iterate_in_pool(pieces)" in (source / "api" / "streams.py").read_text()


def test_a_download_breaks_off_when_its_source_is_removed(sqlite: Database, config: Config) -> None:
    fill(sqlite, 30_000)
    headers = account(sqlite)
    with web_server() as place, api_client(place.address, headers=headers) as client:
        with client.stream("GET", f"/api/streams/{SOURCE}/export.json") as download:
            parts = download.iter_raw(1000)
            next(parts)
            assert client.delete(f"/api/streams/{SOURCE}").status_code == 204
            with pytest.raises(httpx.RemoteProtocolError):
                list(parts)
        assert client.get("/health").status_code == 200


def test_half_requests_do_not_silence_the_server(sqlite: Database, config: Config) -> None:
    process = start(["/bin/sh", "-c", f"ulimit -n 300; exec {TARANTULA} web --port 0 --replay-port 0"])
    assert process.stdout is not None
    address = process.stdout.readline().strip().partition("/begin")[0]
    host, port = address.removeprefix("http://").split(":")
    with ExitStack() as opened:
        for number in range(400):
            client = opened.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS))
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n" if number % 2 else b"POST /login HTTP/1.1\r\n")
        with api_client(address) as asking:
            for path in ("/health", "/login"):
                assert asking.get(path).status_code == 200, path
    process.terminate()
    _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert "Traceback" not in err


def test_requests_that_wait_for_the_database_do_not_stop_others(
    postgresql_database: Database, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARANTULA_WEB_CONNECTIONS", "4")
    monkeypatch.setenv("TARANTULA_REQUEST_SECONDS", "2")
    headers = account(postgresql_database)
    with (
        web_server() as place,
        api_client(place.address, headers=headers) as client,
        psycopg2.connect(postgresql_url) as other,
        ThreadPoolExecutor(20) as threads,
    ):
        other.cursor().execute("LOCK TABLE source IN ACCESS EXCLUSIVE MODE")
        asked = [threads.submit(client.get, "/api/streams") for _ in range(20)]
        with api_client(place.address) as entering:
            assert entering.get("/health").json()["database"] is True
            assert entering.get("/login").status_code == 200
            assert entering.post("/login", data={"name": "ana", "password": PASSWORD}).status_code == 303
        answers = [one.result() for one in asked]
        other.rollback()
        for answer in answers:
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        sentences = " ".join({answer.json()["detail"] for answer in answers})
        assert "longer than 2 seconds" in sentences
        assert client.get("/api/streams").status_code == 200
    other.close()


LOCKED_TABLES = ("publication", "item", "source", "alert", "firing", "document_type", "profile", "audit_entry", "token")
"""Tables that no login reads."""
PAGES_THAT_READ_FIRST = (
    *("/account", "/alerts", "/audit", "/dashboard", "/items/a/browse", "/new-publication?like=fcul", "/people"),
    *("/publications", "/publications/fcul", "/reports", "/sources/weather.lisboa", "/types", "/validation"),
)


def test_pages_that_wait_for_the_database_do_not_stop_others(
    postgresql_database: Database, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that reads before it is sent waits in a thread: the event loop goes on, and answers others."""
    account(postgresql_database)
    with (
        web_server() as place,
        api_client(place.address) as client,
        api_client(place.address) as monitor,
        ThreadPoolExecutor(1) as threads,
        psycopg2.connect(postgresql_url) as other,
    ):
        assert client.post("/login", data={"name": "ana", "password": PASSWORD}).status_code == 303
        for path in PAGES_THAT_READ_FIRST:
            other.cursor().execute(f"LOCK TABLE {', '.join(LOCKED_TABLES)} IN ACCESS EXCLUSIVE MODE")
            asked = threads.submit(client.get, path)
            eventually(lambda: waiting_queries(postgresql_url))
            assert monitor.get("/health").json()["database"] is True
            # With the event loop held, the health check would have been answered after the page.
            assert not asked.done(), path
            other.rollback()
            assert asked.result().status_code in (200, 404), path
    other.close()


def waiting_queries(url: str) -> int:
    """Return how many queries wait for a lock."""
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return int(cursor.fetchone()[0])  # type: ignore[index]


def test_a_query_in_an_event_loop_is_refused(sqlite: Database) -> None:
    async def ask() -> None:
        with sqlite.limited(1).reading() as session:
            session.execute(text("SELECT 1"))

    with pytest.raises(AssertionError, match="Make it in a thread"):
        asyncio.run(ask())


def test_a_database_that_is_away_is_no_internal_error(
    postgresql_database: Database, postgresql_url: str, postgresql_server: Any
) -> None:
    headers = account(postgresql_database)
    name = postgresql_url.partition("?")[0].rpartition("/")[2]
    with web_server() as place, api_client(place.address) as client, api_client(place.address, headers=headers) as api:
        client.post("/login", data={"name": "ana", "password": PASSWORD})
        assert client.get("/").status_code == 200
        postgresql_database.close()
        with _no_connections(postgresql_server.get_uri(), name):
            for path in ("/", "/items", "/search?q=a", "/login", "/search/copy/a/1"):
                page = client.get(path)
                assert (page.status_code, page.headers["Retry-After"]) == (503, "5"), path
                assert page.headers["content-type"].startswith("text/html"), path
                assert "The connection to the database" in page.text, path
            portuguese = client.get("/", headers={"Accept-Language": "pt"})
            assert "A ligação à base de dados" in portuguese.text
            answer = api.get("/api/items")
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
            assert "The connection to the database" in answer.json()["detail"]
            assert client.get("/health").status_code == 503
        assert api.get("/api/items").status_code == 200


@contextmanager
def _no_connections(server: str, name: str) -> Iterator[None]:
    """End all connections to a database, and refuse new ones."""
    connection = psycopg2.connect(server)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            yield
        finally:
            cursor.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
            connection.close()


def test_expensive_dry_runs_of_one_account_leave_the_others_alone(
    sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARANTULA_REQUEST_SECONDS", "5")
    fill(sqlite, 400, "a" * 40)
    others, mine = account(sqlite), account(sqlite, "eva", Role.READER)
    body = {"source": SOURCE, "condition": f'value matches "{EVIL_PATTERN}"', "begin": "2026-06-12T00:00:00Z"}
    body["end"] = "2026-06-14T00:00:00Z"
    with web_server() as place, api_client(place.address, headers=mine) as client, ThreadPoolExecutor(45) as threads:
        asked = [threads.submit(client.post, "/api/checks/alert/past", json=body) for _ in range(45)]
        with api_client(place.address, headers=others) as other:
            for _ in range(3):
                assert other.get("/api/me").status_code == 200
                assert other.get("/health").status_code == 200
            assert not all(one.done() for one in asked)
        answers = [one.result() for one in asked]
        assert {answer.status_code for answer in answers} <= {200, 429, 503}
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(refused) >= 30
        assert "4 requests of this kind are running" in refused[0].json()["detail"]
        assert int(refused[0].headers["Retry-After"]) > 0


def test_an_account_cannot_evade_its_rate(sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARANTULA_REQUEST_RATE", "0.1")
    headers = account(sqlite)
    with web_server() as place, api_client(place.address, headers=headers) as client:
        statuses = [client.get("/api/me", headers={"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in range(5)]
        assert (statuses[0], statuses[-1]) == (200, 429)
        refused = client.get("/api/me")
        assert 0 < int(refused.headers["Retry-After"]) <= 10
        assert re.search(r"Try again in \d+ seconds", refused.json()["detail"])
        assert client.get("/health").status_code == 200
    with web_server() as place, api_client(place.address) as client:
        pages = [client.get("/login") for _ in range(6)]
        assert [page.status_code for page in pages] == [200] * 4 + [429] * 2
        assert "Too many requests." in pages[-1].text


def test_rates_are_those_of_the_settings() -> None:
    now = [0.0]
    limited = RequestLimits(Config(request_rate=2, expensive_requests=1), lambda: now[0])
    for _ in range(20):
        limited.count("account ana")
    with pytest.raises(TooManyRequestsError, match="in 1 seconds"):
        limited.count("account ana")
    limited.count("account rui")
    now[0] = 0.5
    limited.count("account ana")
    with pytest.raises(TooManyRequestsError):
        limited.count("account ana")
    with limited.running("account ana"), limited.running("account rui"):
        with pytest.raises(TooManyRequestsError), limited.running("account ana"):
            raise AssertionError
        with limited.running("address 192.0.2.1", 2), limited.running("address 192.0.2.1", 2):
            pass
    with limited.running("account ana"):
        pass


def test_what_is_remembered_of_addresses_is_bounded() -> None:
    now = [0.0]
    limited = RequestLimits(Config(), lambda: now[0])
    for number in range(RequestLimits.MAX_BUCKETS * 2):
        now[0] += 0.0001
        limited.count(f"address {number}")
    assert len(limited._buckets) <= RequestLimits.MAX_BUCKETS


def test_every_blocking_route_has_its_own_kind_of_threads() -> None:
    routers = [*api.ROUTERS, login.router, public.router, monitoring.router, live.router]
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    assert len(routes) > 100
    assert [route.path for route in routes if not inspect.iscoroutinefunction(route.endpoint)] == []
    paths = {re.sub(r"\{[^}]*\}", "x", prefix + route.path) for route in routes for prefix in ("", "/api")}
    for pattern, pool in limits.WORK:
        assert any(re.fullmatch(pattern, path) for path in paths), (pattern, pool)
