"""Second factors in a real browser with a virtual authenticator, and over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import CDPSession, Page, expect
from sqlalchemy import select, update

from tarantula.accounts import accounts as stored
from tarantula.accounts import factors
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.models import AuditEntry, FailedLogin, SecurityKey, TotpFactor
from tarantula.services import accounts, tokens
from tarantula.services.context import ServiceContext
from tarantula.store.database import open_database
from tests.support.web_server import WebServer, api_client, settled, web_server

PASSWORD = "correct horse battery"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
SIGN_CHALLENGE = """async (challenge) => {
    const decode = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
    const encode = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
        .replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=+$/, '');
    const publicKey = {challenge: decode(challenge), rpId: 'localhost', userVerification: 'required'};
    const made = await navigator.credentials.get({publicKey}), response = {};
    for (const name of ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'])
        response[name] = encode(made.response[name]);
    return JSON.stringify({id: made.id, rawId: made.id, type: made.type, response});
}"""
"""Signs a challenge with a passkey of the browser, on whatever page is open."""

pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def context(database_config: Config) -> Iterator[ServiceContext]:
    """Service context of the command line, with an administrator and a curator."""
    with open_database(database_config) as database:
        made = ServiceContext(database_config, database, Person("root", Role.ADMINISTRATOR))
        accounts.add_account(made, "ana", Role.ADMINISTRATOR, PASSWORD)
        accounts.add_account(made, "rui", Role.CURATOR, PASSWORD)
        yield made


@pytest.fixture
def place(context: ServiceContext) -> Iterator[WebServer]:
    """A web server that browsers reach as localhost."""
    with web_server() as served:
        yield at_localhost(served)


def at_localhost(served: WebServer) -> WebServer:
    return WebServer(served.address.replace("127.0.0.1", "localhost"), "")


def numeric(place: WebServer) -> str:
    return place.address.replace("localhost", "127.0.0.1")


class Authenticator:
    """A virtual authenticator of a browser window."""

    def __init__(self, window: Page) -> None:
        self._session: CDPSession = window.context.new_cdp_session(window)
        self._session.send("WebAuthn.enable")
        added = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        self._id = {"authenticatorId": added["authenticatorId"]}

    def credentials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._session.send("WebAuthn.getCredentials", self._id)["credentials"]
        return found

    def hold(self, credential: dict[str, Any], **changes: object) -> None:
        """Have this credential only."""
        self.clear()
        self._session.send("WebAuthn.addCredential", {**self._id, "credential": {**credential, **changes}})

    def clear(self) -> None:
        self._session.send("WebAuthn.clearCredentials", self._id)

    def set_verified(self, is_verified: bool) -> None:
        self._session.send("WebAuthn.setUserVerified", {**self._id, "isUserVerified": is_verified})


def log_in(window: Page, place: WebServer, name: str = "ana") -> None:
    window.context.clear_cookies()
    window.goto(f"{place.address}/login")
    window.get_by_label("Name").fill(name)
    window.get_by_label("Password").fill(PASSWORD)
    window.get_by_role("button", name="Log in", exact=True).click()


def add_key(window: Page, place: WebServer, name: str) -> None:
    window.goto(f"{place.address}/account/factors")
    form = window.get_by_role("form", name="Security keys and passkeys")
    form.get_by_label("Name of the key").fill(name)
    form.get_by_label("Current password").fill(PASSWORD)
    form.get_by_role("button", name="Add a key").click()
    window.get_by_role("button", name="Use the security key").click()


def use_key(window: Page) -> None:
    """Press the button, which waits for its script."""
    button = window.get_by_role("button", name="Use the security key")
    expect(button).to_be_enabled()
    button.press("Enter")


def expect_inside(window: Page, name: str = "ana · administrator") -> None:
    expect(window.get_by_text(name)).to_be_visible()


def entries(context: ServiceContext, action: str) -> list[dict[str, Any]]:
    with context.database.reading() as session:
        rows = session.scalars(select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id))
        return [row.detail for row in rows]


def test_security_keys_and_passkeys(context: ServiceContext, place: WebServer, window: Page) -> None:
    device = Authenticator(window)
    log_in(window, place)
    expect_inside(window)
    add_key(window, place, "blue key")
    expect(window.get_by_test_id("codes").get_by_role("listitem")).to_have_count(10)
    (credential,) = device.credentials()
    assert (credential["rpId"], credential["isResidentCredential"]) == ("localhost", True)
    add_key(window, place, "blue key again")
    expect(window.get_by_text("This security key is registered already.")).to_be_visible()
    log_in(window, place)
    expect(window.get_by_label("Code of the authenticator app")).to_have_count(0)
    use_key(window)
    expect_inside(window)
    assert entries(context, "login")[-1]["factor"] == "key"
    assert entries(context, "login")[-1]["key"] == "blue key"
    _log_in_with_passkey(window, place)
    expect_inside(window)
    assert entries(context, "login")[-1]["passkey"] is True
    device.set_verified(False)
    _log_in_with_passkey(window, place)
    expect(window.get_by_text("No security key was used. Try again.")).to_be_visible()
    device.set_verified(True)
    _refuse_copies_and_strangers(context, place, window, device)
    log_in(window, place)
    window.get_by_role("button", name="Use the security key").click()
    expect_inside(window)
    window.goto(f"{place.address}/account/factors")
    window.get_by_text("Remove blue key", exact=True).click()
    remove = window.locator("details").filter(has_text="Remove blue key")
    remove.get_by_label("Current password").fill("wrong wrong wrong")
    remove.get_by_role("button", name="Remove").click()
    expect(window.get_by_role("alert")).to_have_text("That is not the current password.")
    window.get_by_text("Remove blue key", exact=True).click()
    remove.get_by_label("Current password").fill(PASSWORD)
    remove.get_by_role("button", name="Remove").click()
    expect(window.get_by_role("status")).to_contain_text("Other sessions have ended.")
    log_in(window, place)
    expect_inside(window)
    assert entries(context, "factor.remove") == [{"factor": "key", "name": "blue key"}]


def _log_in_with_passkey(window: Page, place: WebServer) -> None:
    window.context.clear_cookies()
    window.goto(f"{place.address}/login?next=/items")
    window.get_by_role("button", name="Use a passkey").click()
    window.get_by_role("button", name="Use the security key").click()


def _refuse_copies_and_strangers(
    context: ServiceContext, place: WebServer, window: Page, device: Authenticator
) -> None:
    """A copy of the key with a lower counter, and another key with the same id."""
    (good,) = device.credentials()
    refused = window.get_by_text("The security key was not accepted.")
    with context.database.session() as session:
        session.execute(update(SecurityKey).values(sign_count=good["signCount"] + 50))
    log_in(window, place)
    window.get_by_role("button", name="Use the security key").click()
    expect(refused).to_be_visible()
    assert "sign count" in entries(context, "login.failed")[-1]["reason"]
    with context.database.session() as session:
        session.execute(update(SecurityKey).values(sign_count=good["signCount"]))
    # The private key of the stranger is another one.
    device.clear()
    log_in(window, place, "rui")
    add_key(window, place, "green key")
    expect(window.get_by_test_id("codes")).to_be_visible()
    (stranger,) = device.credentials()
    device.hold(good, privateKey=stranger["privateKey"], signCount=1000)
    log_in(window, place)
    window.get_by_role("button", name="Use the security key").click()
    expect(refused).to_be_visible()
    assert "signature" in entries(context, "login.failed")[-1]["reason"]
    device.hold(good)


@pytest.mark.parametrize("database_config", ["sqlite"], indirect=True)
def test_responses_are_bound_to_login_and_origin(context: ServiceContext, place: WebServer, window: Page) -> None:
    Authenticator(window)
    log_in(window, place)
    add_key(window, place, "blue key")
    expect(window.get_by_test_id("codes")).to_be_visible()
    with api_client(numeric(place), headers={"Host": urlsplit(place.address).netloc}) as client:
        window.goto(f"{place.address}/login")
        challenge = _begin_passkey(client)
        signed = window.evaluate(SIGN_CHALLENGE, challenge)
        for broken in ("{}", "[", "null", json.dumps({"id": 1, "response": {}}), "x" * 70_000, _altered(signed)):
            _begin_passkey(client)
            answer = client.post("/login/factor", data={"response": broken})
            assert (answer.status_code, "not accepted" in answer.text) == (401, True), broken[:40]
        # Signed for another login.
        _begin_passkey(client)
        assert client.post("/login/factor", data={"response": signed}).status_code == 401
        reason = entries(context, "login.failed")[-1]["reason"]
        assert "challenge" in reason
        with web_server() as other:
            window.goto(f"{at_localhost(other).address}/login")
            signed = window.evaluate(SIGN_CHALLENGE, _begin_passkey(client))
        assert client.post("/login/factor", data={"response": signed}).status_code == 401
        assert "origin" in entries(context, "login.failed")[-1]["reason"]
        window.goto(f"{place.address}/login")
        signed = window.evaluate(SIGN_CHALLENGE, _begin_passkey(client))
        cookies = dict(client.cookies)
        assert client.post("/login/factor", data={"response": signed}).headers["location"] == "/"
        assert client.get("/api/me").json()["name"] == "ana"
        client.cookies.clear()
        # The same response again, and in a new login.
        client.cookies.update(cookies)
        assert client.post("/login/factor", data={"response": signed}).status_code == 401
        client.cookies.clear()
        _begin_passkey(client)
        assert client.post("/login/factor", data={"response": signed}).status_code == 401
        assert client.get("/api/me").status_code == 401


def _begin_passkey(client: httpx.Client) -> str:
    """Begin a login with a passkey; return the challenge."""
    client.post("/login/passkey")
    page = client.get("/login/factor").text
    found = re.search(r"&#34;challenge&#34;: &#34;([\w-]+)&#34;", page)
    assert found is not None, page
    return found[1]


def _altered(response: str) -> str:
    parsed = json.loads(response)
    parsed["response"]["signature"] = "AAAA"
    return json.dumps(parsed)


@pytest.mark.parametrize("database_config", ["sqlite"], indirect=True)
def test_security_keys_need_a_host_name_and_https(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch, window: Page
) -> None:
    monkeypatch.setenv("TARANTULA_PUBLIC_ADDRESS", "https://archive.example.org/")
    monkeypatch.setenv("TARANTULA_TRUSTED_PROXIES", "127.0.0.1")
    with web_server() as public, api_client(public.address) as client:
        client.post("/login", data={"name": "ana", "password": PASSWORD})
        assert "Security keys work only at https://archive.example.org." in client.get("/account/factors").text
        forwarded = {"Host": "archive.example.org", "X-Forwarded-Proto": "https"}
        login = client.post("/login", data={"name": "ana", "password": PASSWORD}, headers=forwarded)
        forwarded["Cookie"] = "; ".join(cookie.partition(";")[0] for cookie in login.headers.get_list("set-cookie"))
        answer = client.post(
            "/account/factors/key/begin", data={"password": PASSWORD, "name": "blue"}, headers=forwarded
        )
        assert "&#34;id&#34;: &#34;archive.example.org&#34;" in answer.text
    monkeypatch.delenv("TARANTULA_PUBLIC_ADDRESS")
    monkeypatch.setenv("TARANTULA_TRUSTED_HOSTS", "archive.example.org")
    with web_server() as plain, api_client(plain.address) as client:
        client.post("/login", data={"name": "ana", "password": PASSWORD})
        assert "Security keys need a host name." in client.get("/account/factors").text
        begin = {"password": PASSWORD, "name": "blue"}
        answer = client.post("/account/factors/key/begin", data=begin)
        assert (answer.status_code, "Security keys need a host name." in answer.text) == (400, True)
        answer = client.get("/account/factors", headers={"Host": "archive.example.org"})
        assert "Security keys need HTTPS." in answer.text


def code_of(secret: str) -> str:
    return factors.totp(secret).generate(datetime.now(UTC).timestamp()).decode()


def test_an_app_and_recovery_codes(context: ServiceContext, place: WebServer, window: Page) -> None:
    log_in(window, place)
    expect_inside(window)
    window.goto(f"{place.address}/account")
    settled(window).get_by_role("link", name="Authenticator app, security keys and recovery codes").click()
    app = window.get_by_role("form", name="Authenticator app")
    app.get_by_label("Current password").fill(PASSWORD)
    app.get_by_role("button", name="Set up the app").press("Enter")
    expect(window.locator("main svg path")).to_be_visible()
    secret = window.get_by_test_id("secret").inner_text()
    confirm = window.get_by_label("Code of the authenticator app")
    confirm.fill("12345")
    confirm.press("Enter")
    expect(window.get_by_role("alert")).to_contain_text("The code is wrong")
    confirm.fill(code_of(secret))
    confirm.press("Enter")
    codes = window.get_by_test_id("codes").get_by_role("listitem").all_inner_texts()
    assert len(codes) == 10
    window.goto(f"{place.address}/account/factors")
    assert codes[0] not in window.content()
    assert secret not in window.content()
    expect(window.get_by_text("10 are left.")).to_be_visible()
    log_in(window, place)
    window.goto(f"{place.address}/items")
    expect(window).to_have_url(f"{place.address}/login?next=/items")
    log_in(window, place)
    field = window.get_by_label("Code of the authenticator app")
    expect(field).to_be_focused()
    field.fill(code_of(secret))
    field.press("Enter")
    with context.database.session() as session:
        is_inside = session.scalars(select(TotpFactor.last_step)).one() and window.url.endswith("/")
        session.execute(update(TotpFactor).values(last_step=0))
    if not is_inside:
        # The code that confirmed the app is not accepted again in its half minute.
        expect(window.get_by_role("alert")).to_contain_text("was used before")
        field.fill(code_of(secret))
        field.press("Enter")
    expect_inside(window)
    log_in(window, place)
    window.get_by_text("Use a recovery code").press("Enter")
    window.get_by_label("Recovery code").fill(codes[3])
    window.get_by_label("Recovery code").press("Enter")
    expect_inside(window)
    assert entries(context, "login")[-1]["factor"] == "recovery code"
    _reset_by_administrator(context, place, window)


def _reset_by_administrator(context: ServiceContext, place: WebServer, window: Page) -> None:
    """Another administrator removes the factors of ana on the page."""
    accounts.add_account(context, "eva", Role.ADMINISTRATOR, PASSWORD)
    log_in(window, place, "eva")
    expect_inside(window, "eva · administrator")
    window.goto(f"{place.address}/people")
    expect(window.get_by_role("row", name="ana").get_by_text("app", exact=True)).to_be_visible()
    settled(window).get_by_role("button", name="Remove the second factors of ana").click()
    window.get_by_role("button", name="Remove", exact=True).last.click()
    expect(window.get_by_role("button", name="Remove the second factors of ana")).to_have_count(0)
    log_in(window, place)
    expect_inside(window)


@pytest.mark.parametrize("database_config", ["sqlite"], indirect=True)
def test_a_required_factor_is_set_up_before_anything_else(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch, window: Page
) -> None:
    monkeypatch.setenv("TARANTULA_REQUIRE_SECOND_FACTOR", "administrator")
    harvest = tokens.add_token(context, "harvest", Role.CURATOR, account="ana").secret
    with web_server() as served, api_client(served.address) as client:
        assert client.post("/login", data={"name": "ana", "password": PASSWORD}).headers["location"] == "/"
        for path in ("/", "/items", "/account", "/people", "/search", "/item/x/live"):
            assert client.get(path).headers["location"] == "/account/factors", path
        for method, path in (("GET", "/api/me"), ("GET", "/api/people"), ("POST", "/api/types"), ("POST", "/search")):
            answer = client.request(method, path)
            assert (answer.status_code, "second factor" in answer.text) == (403, True), path
        polling = client.get("/_nicegui_ws/socket.io/?EIO=4&transport=polling")
        assert polling.status_code == 403
        assert client.get("/account/factors").status_code == 200
        client.post("/logout")
        assert client.get("/api/me", headers=bearer(harvest)).json()["name"] == "ana"
        client.post("/login", data={"name": "rui", "password": PASSWORD})
        assert client.get("/api/me").json()["name"] == "rui"
        log_in(window, WebServer(served.address, ""))
        expect(window.get_by_text("Your role needs a second factor. Set one up to go on.")).to_be_visible()
        app = window.get_by_role("form", name="Authenticator app")
        app.get_by_label("Current password").fill(PASSWORD)
        app.get_by_role("button", name="Set up the app").click()
        window.get_by_label("Code of the").fill(code_of(window.get_by_test_id("secret").inner_text()))
        window.get_by_role("button", name="Confirm").click()
        window.get_by_role("link", name="Continue").click()
        expect_inside(window)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("database_config", ["sqlite"], indirect=True)
def test_wrong_codes_are_delayed_and_a_reset_needs_an_administrator(context: ServiceContext, place: WebServer) -> None:
    with context.database.session() as session:
        secret = factors.begin_totp(session, stored.get(session, "ana"))
        session.execute(update(TotpFactor).values(confirmed_at=datetime.now(UTC)))
    with api_client(numeric(place)) as client:
        client.post("/login", data={"name": "ana", "password": PASSWORD, "next": "//evil.example/x?y"})
        assert client.get("/api/me").status_code == 401
        assert client.post("/login/factor", data={"code": "1"}).status_code == 401
        with context.database.session() as session:
            assert session.scalars(select(FailedLogin.who).where(FailedLogin.failures > 0)).all() != []
            session.execute(update(FailedLogin).values(failures=100))
        answer = client.post("/login/factor", data={"code": code_of(secret)})
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        client.cookies.clear()
        assert client.get("/login/factor").status_code == 401
        curator = bearer(tokens.add_token(context, "x", Role.CURATOR, account="rui").secret)
        root = bearer(tokens.add_token(context, "x", Role.ADMINISTRATOR, account="ana").secret)
        assert client.delete("/api/people/ana/factors", headers=curator).status_code == 403
        assert client.delete("/api/people/ana/factors", headers=root).status_code == 409
        assert client.delete("/api/people/rui/factors", headers=root).status_code == 409
        assert client.delete("/api/people/ivo/factors", headers=root).status_code == 404


@pytest.mark.parametrize("database_config", ["sqlite"], indirect=True)
def test_pages_fit_a_phone_in_portuguese(context: ServiceContext, place: WebServer, window: Page) -> None:
    window.set_viewport_size({"width": 360, "height": 640})
    log_in(window, place)
    expect_inside(window)
    window.goto(f"{place.address}/language/pt?back=/account/factors")
    expect(window.get_by_role("heading", level=1)).to_have_text("Segundos fatores")
    app = window.get_by_role("form", name="Aplicação de autenticação")
    app.get_by_label("Palavra-passe atual").fill(PASSWORD)
    app.get_by_role("button").click()
    expect(window.locator("main svg path")).to_be_visible()
    assert window.evaluate("document.documentElement.scrollWidth") <= 360
