"""Authentication, sessions, cross-site requests and security headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.sockets import open_listener
from tarantula.services import accounts, tokens
from tarantula.services.context import ServiceContext
from tarantula.store.database import open_database
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, run, start, started
from tests.support.waits import TIMEOUT_SECONDS
from tests.support.web_server import WebServer, api_client

PASSWORD = "correct horse battery"
NAMES = {"ana": Role.ADMINISTRATOR, "rui": Role.CURATOR, "eva": Role.READER}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory, quick_passwords: None) -> Iterator[ServiceContext]:
    """Service context of the command line, with an administrator, a curator and a reader."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARANTULA_HOME", str(tmp_path_factory.mktemp("office")))
        patch.delenv("TARANTULA_DATABASE_URL", raising=False)
        with open_database(Config()) as database:
            made = ServiceContext(Config(), database, Person("root", Role.ADMINISTRATOR))
            for name, role in NAMES.items():
                accounts.add_account(made, name, role, PASSWORD)
            yield made


@pytest.fixture(scope="module")
def place(context: ServiceContext) -> Iterator[WebServer]:
    """A web server for all tests of this module, which leave these accounts unchanged."""
    yield from serving("web", "--port", "0", "--replay-port", "0")


@pytest.fixture(scope="module")
def proxied(context: ServiceContext) -> Iterator[WebServer]:
    """The same behind a proxy on loopback, with names of their own for the pages and the archived pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARANTULA_TRUSTED_PROXIES", "127.0.0.1")
        patch.setenv("TARANTULA_TRUSTED_HOSTS", "archive.example; *.intranet.example")
        replay_address = ("--replay-address", "https://replay.example")
        yield from serving("web", "--port", "0", "--replay-port", str(free_port()), *replay_address)


def serving(*arguments: str) -> Iterator[WebServer]:
    """Start a web server for several tests."""
    process = start([TARANTULA, *arguments])
    started.remove(process)
    assert process.stdout is not None
    yield WebServer(process.stdout.readline().strip().rstrip("/"), "")
    process.terminate()
    process.communicate(timeout=TIMEOUT_SECONDS)


REPLAY_PORTS: list[int] = []


def free_port() -> int:
    """Return a port for archived pages that is free now."""
    with open_listener("127.0.0.1", 0) as listener:
        REPLAY_PORTS.append(listener.getsockname()[1])
    return REPLAY_PORTS[-1]


@pytest.fixture
def ivo(context: ServiceContext) -> Iterator[str]:
    """A curator account that tests may change."""
    accounts.add_account(context, "ivo", Role.CURATOR, PASSWORD)
    yield "ivo"
    accounts.remove_account(context, "ivo")


def shows(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def token(context: ServiceContext, name: str, role: Role | None = None) -> dict[str, str]:
    return shows(tokens.add_token(context, "test", role or NAMES[name], account=name).secret)


def log_in(client: httpx.Client, name: str, password: str = PASSWORD, **headers: str) -> httpx.Response:
    return client.post("/login", data={"name": name, "password": password}, headers=headers)


def open_websocket(place: WebServer, cookies: httpx.Cookies | None = None, **headers: str) -> int:
    """Open the WebSocket of a page; return the status."""
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    with api_client(place.address, cookies=cookies) as client, client.stream(
        "GET", path, headers={**upgrade, **headers}
    ) as answer:  # fmt: skip
        return answer.status_code


def test_cross_site_requests_are_refused(place: WebServer, context: ServiceContext) -> None:
    elsewhere: list[dict[str, str]] = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": place.address.replace("http://", "https://")},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": f"{place.address}.evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ]
    with api_client(place.address) as client:
        assert log_in(client, "ana", Origin="https://evil.example").status_code == 403
        assert log_in(client, "ana", Origin=place.address).headers["location"] == "/"
        wishes: list[tuple[str, str, Any]] = [
            ("POST", "/api/people", {"name": "ivo", "role": "reader", "password": PASSWORD}),
            ("GET", "/api/people", None),
            ("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", None),
            ("POST", "/logout", None),
            ("GET", "/metrics", None),
        ]
        for headers in elsewhere:
            for method, path, body in wishes:
                answer = client.request(method, path, json=body, headers=headers)
                assert (answer.status_code, "another site" in answer.text) == (403, True), (method, path, headers)
                assert "access-control-allow-origin" not in answer.headers
            assert open_websocket(place, client.cookies, **headers) == 403
        assert open_websocket(place, client.cookies, Origin=place.address) == 101
        assert open_websocket(place) == 403
        form = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert client.post("/logout", headers=form).status_code == 403
        assert client.get("/", headers=form).status_code == 200
        assert client.get("/api/me").json() == {"name": "ana", "role": "administrator", "token": None}
    assert [row.name for row in accounts.list_accounts(context)] == ["ana", "eva", "rui"]


def test_a_token_does_what_its_role_allows_and_opens_no_page(
    place: WebServer, context: ServiceContext, ivo: str
) -> None:
    reader, curator, lesser = token(context, "eva"), token(context, "rui"), token(context, "ana", Role.READER)
    publication = {"name": "fcul", "base_url": "http://www.fc.ul.pt/"}
    with api_client(place.address) as client:
        for headers in (reader, lesser):
            assert client.get("/api/publications", headers=headers).json()["rows"] == []
            for method, path, body in (
                ("POST", "/api/publications", publication),
                ("POST", "/api/tokens", {"name": "more", "role": "reader"}),
                ("POST", "/api/types", {"mime": "a/b", "extensions": []}),
                ("GET", "/api/people", None),
                ("GET", "/api/audit", None),
            ):
                answer = client.request(method, path, json=body, headers=headers)
                assert answer.status_code == 403, (method, path, answer.text)
        assert client.post("/api/publications", json=publication, headers=curator).status_code == 201
        assert client.post("/api/publications", json=publication, headers=curator).status_code == 409
        assert client.get("/", headers=curator).headers["location"] == "/login?next=/"
        for headers in ({}, shows("tarantula_wrong"), {"Authorization": "Basic eDp5"}):
            answer = client.get("/api/publications", headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert client.get("/metrics", headers=headers).status_code == 401
        own = token(context, ivo, Role.CURATOR)
        assert client.get("/api/publications", headers=own).status_code == 200
        accounts.edit_account(context, ivo, disabled=True)
        assert client.get("/api/publications", headers=own).status_code == 401
    with context.reading() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM publication").scalar() == 1


def test_every_response_has_security_headers(place: WebServer) -> None:
    with api_client(place.address) as client:
        for path in ("/login", "/", "/api/me", "/api/nowhere", "/health", "/favicon.ico", "/nowhere"):
            answer = client.get(path)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            (policy,) = answer.headers.get_list("content-security-policy")
            for name in ("default-src", "frame-ancestors", "object-src"):
                assert f"{name} 'none'" in policy
        assert client.get("/login").headers["cache-control"] == "no-store"
        for host in (b"x; script-src *", b"[", b"a b", b"\xe9", b"[::1", b"a:b:c"):
            answer = client.get("/login", headers=[(b"Host", host)])
            assert answer.status_code in (400, 421), host
            assert "script-src *" not in answer.headers.get("content-security-policy", "")


BY_HTTPS = {"X-Forwarded-Proto": "https"}


def cookie_parts(answer: httpx.Response) -> dict[str, set[str]]:
    """Return the attributes of the cookies of an answer, without their values and ages."""
    found = {}
    for header in answer.headers.get_list("set-cookie"):
        first, *attributes = header.split("; ")
        name, _, value = first.partition("=")
        removal = {"removed"} if value in ("", '""') else set()
        found[name] = removal | {one for one in attributes if not one.lower().startswith(("expires", "max-age"))}
    return found


def test_by_https_no_other_host_can_set_the_cookies(place: WebServer, proxied: WebServer) -> None:
    expected = {"HttpOnly", "Path=/", "SameSite=Strict"}
    with api_client(place.address) as client:
        # Headers of a proxy that is not trusted change nothing.
        for headers in ({}, BY_HTTPS):
            assert cookie_parts(log_in(client, "ana", **headers)) == {
                "tarantula_session": expected,
                "tarantula_device": expected,
            }
    with api_client(proxied.address) as client:
        behind = log_in(client, "ana", **BY_HTTPS)
        assert cookie_parts(behind) == {
            "__Host-tarantula_session": {*expected, "Secure"},
            "__Host-tarantula_device": {*expected, "Secure"},
        }
        secret = behind.cookies["__Host-tarantula_session"]

        def status(name: str, value: str, **headers: str) -> int:
            client.cookies.clear()
            return client.get("/api/me", headers={"Cookie": f"{name}={value}", **headers}).status_code

        assert status("__Host-tarantula_session", secret, **BY_HTTPS) == 200
        # A neighbour under the same domain, or a page by http, can set a cookie without the prefix.
        assert status("tarantula_session", secret, **BY_HTTPS) == 401
        assert status("__Host-tarantula_session", secret) == 401
        old = {"Cookie": f"tarantula_session={secret}", **BY_HTTPS}
        again = log_in(client, "ana", **old)
        assert "removed" in cookie_parts(again)["tarantula_session"]
        # A login never continues the session of the browser.
        fresh = again.cookies["__Host-tarantula_session"]
        assert fresh != secret
        left = client.post("/logout", headers={"Cookie": f"__Host-tarantula_session={fresh}", **BY_HTTPS})
        assert cookie_parts(left) == {"__Host-tarantula_session": {"removed", *expected, "Secure"}}
        assert status("__Host-tarantula_session", fresh, **BY_HTTPS) == 401


def test_foreign_host_names_are_refused(place: WebServer, proxied: WebServer) -> None:
    """A page whose name is made to resolve to this machine is not of this site, whatever it sends."""
    local = ["localhost", "LOCALHOST.", "127.0.0.1", "127.0.0.2:80", "[::1]"]
    listed = ["archive.example", "Archive.Example:443", "a.intranet.example", "a.b.intranet.example."]
    foreign = ["evil.example", "evil.example:8090", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.5"]
    foreign += ["archive.example.evil.example", "intranet.example", "replay.example", "a b", "", "x@127.0.0.1", "[::2]"]
    for server, accepted in ((place, local), (proxied, [*local, *listed])):
        with api_client(server.address) as client:

            def status(host: str, path: str = "/login") -> int:
                return client.get(path, headers={"Host": host}).status_code

            assert {host: status(host) for host in accepted} == dict.fromkeys(accepted, 200)
            assert {host: status(host) for host in foreign if status(host) not in (400, 421)} == {}
            answer = client.get("/health", headers={"Host": "evil.example"})
            assert (answer.status_code, "TARANTULA_TRUSTED_HOSTS" in answer.json()["detail"]) == (421, True)
            log_in(client, "ana")
            assert open_websocket(server, client.cookies) == 101
            assert open_websocket(server, client.cookies, Host="evil.example") == 403
    with api_client(f"http://127.0.0.1:{REPLAY_PORTS[-1]}") as client:
        statuses = [client.get("/tell.js", headers={"Host": host}).status_code for host in [*local, "replay.example"]]
        assert statuses == [200] * len(statuses)
        for host in ("evil.example", "archive.example"):
            assert client.get("/tell.js", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    ("variable", "value"),
    [("HOSTS", "https://archive.example"), ("HOSTS", "archive.example:80"), ("PROXIES", "proxy.example")],
)
def test_invalid_names_and_proxies_are_reported(
    tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(f"TARANTULA_TRUSTED_{variable}", value)
    done = tarantula("web")
    assert (done.code, done.err.startswith(f"TARANTULA_TRUSTED_{variable}: '{value}' is not a ")) == (2, True)


def test_forwarded_addresses_do_not_evade_the_throttle(place: WebServer, proxied: WebServer, ivo: str) -> None:
    with api_client(place.address) as client:
        # A name without an account: the failures of ivo from this address would delay another test.
        forged = [
            log_in(client, "stranger", "wrong wrong wrong", **{"X-Forwarded-For": f"198.51.100.{n}"}).status_code
            for n in range(12)
        ]
    assert 429 in forged
    with api_client(proxied.address) as client:
        # Of what the proxy passes on only the last address is its own; a client can write the others.
        behind = [
            log_in(client, ivo, "wrong wrong wrong", **{"X-Forwarded-For": f"198.51.100.{n}, 203.0.113.7"}).status_code
            for n in range(12)
        ]
        assert (behind[:5], 429 in behind) == ([401] * 5, True)
        # The owner comes from another address, and is not delayed.
        assert log_in(client, ivo, **{"X-Forwarded-For": "203.0.113.8"}).status_code == 303


def test_invalid_requests_are_refused(place: WebServer, context: ServiceContext) -> None:
    headers = token(context, "ana")
    with api_client(place.address, headers=headers) as client:
        for path in ("/api/people/a%00b", "/api/items?publication=%00", "/%00"):
            assert client.get(path).status_code == 400
        assert client.post("/api/people", content=b"x" * (1024 * 1024 + 1)).status_code == 413
        assert client.post("/login", content=b"x" * (16 * 1024 * 1024 + 1)).status_code == 413
        numbers = client.post("/api/checks/publication", json={"fields": {"x": [0] * 20_000}})
        assert (numbers.status_code, "more than 10,000 values" in numbers.text) == (400, True)
        wrong = client.post("/api/publications", json={"name": "a", "base_url": "a.pt", "accept": [0] * 5_000})
        assert (wrong.status_code, len(wrong.json()["fields"])) == (422, 100)
        many = client.post("/api/publications", json={"name": "a", "base_url": "a.pt", "notify": ["x://"] * 101})
        assert many.status_code == 422
        broken = client.post("/api/people", content=b"{", headers={"Content-Type": "application/json"})
        assert broken.status_code == 422
        assert broken.json()["detail"].startswith("This is not JSON: ")
        for text in (b"\\u0000", b"\\ud800"):
            body = b'{"fields": {"description": "%s"}}' % text
            answer = client.post("/api/checks/publication", content=body, headers={"Content-Type": "application/json"})
            assert (answer.status_code, "NUL character or a lone surrogate" in answer.text) == (400, True)
        assert client.post("/api/checks/publication", content=b'{"fields": {"x": 1e999}}').status_code in (400, 422)
        assert client.get("/api/nowhere").json() == {"detail": "There is nothing at /api/nowhere."}
        answer = client.delete("/api/publications")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")


def test_login_and_logout(place: WebServer, window: Page) -> None:
    window.goto(f"{place.address}/publications?x=1")
    expect(window).to_have_url(f"{place.address}/login?next=/publications%3Fx%3D1")
    for password, complaint in (("wrong wrong wrong", "The name or the password is wrong."), (PASSWORD, "")):
        window.get_by_label("Name").fill("eva")
        window.get_by_label("Password").fill(password)
        window.get_by_role("button", name="Log in").click()
        if complaint:
            expect(window.get_by_role("alert")).to_have_text(complaint)
    expect(window).to_have_url(f"{place.address}/publications?x=1")
    expect(window.get_by_text("eva · reader")).to_be_visible()
    expect(window.get_by_role("link", name="People")).to_have_count(0)
    window.goto(f"{place.address}/people")
    expect(window.get_by_role("alert")).to_contain_text("eva is a reader, and this needs an administrator.")
    window.get_by_role("button", name="Log out").click()
    expect(window).to_have_url(f"{place.address}/login")
    window.goto(f"{place.address}/login?next=//evil.example/")
    assert window.locator("input[name=next]").get_attribute("value") == "/"


def test_failed_logins_are_throttled(place: WebServer, ivo: str) -> None:
    with api_client(place.address) as client:
        codes = [log_in(client, ivo, "wrong wrong wrong").status_code for _ in range(12)]
        answer = log_in(client, ivo)
    assert codes[:5] == [401] * 5
    assert 429 in codes[5:]
    assert answer.status_code in (429, 303)
    assert answer.status_code == 303 or int(answer.headers["retry-after"]) >= 1


def test_without_an_account_only_loopback_is_served(config: Config) -> None:
    code, out, err = run(TARANTULA, "web", "--host", "0.0.0.0", "--port", "0", "--replay-port", "0")
    assert (code, out) == (2, "")
    assert err.startswith("There is no account yet, and other machines can reach 0.0.0.0.")


def test_an_open_page_is_disconnected_when_its_session_ends(
    place: WebServer, context: ServiceContext, ivo: str, window: Page
) -> None:
    window.goto(f"{place.address}/login")
    window.get_by_label("Name").fill(ivo)
    window.get_by_label("Password").fill(PASSWORD)
    window.get_by_role("button", name="Log in").click()
    expect(window.get_by_text("ivo · curator")).to_be_visible()
    with window.expect_event("websocket"):
        # The connection is closed, and the page tries to open another one.
        accounts.edit_account(context, ivo, disabled=True)
    window.goto(f"{place.address}/")
    expect(window).to_have_url(f"{place.address}/login?next=/")
