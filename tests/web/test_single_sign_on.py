"""Login and logout at an OpenID Connect provider on loopback, which behaves and misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import time
from typing import Any, NamedTuple

import httpx
import pytest
from fastapi import FastAPI
from playwright.sync_api import Page, expect
from sqlalchemy import select

from tarantula.accounts import accounts, audit, oidc, throttle
from tarantula.accounts.oidc import OidcSettings, claim_values
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import AuditEntry, Identity, LoginSession
from tarantula.services import accounts as managed
from tarantula.services import identities
from tarantula.services.context import ServiceContext
from tarantula.store.database import open_database
from tarantula.web.api import people
from tarantula.web.auth import Authenticator, AuthMiddleware
from tarantula.web.pages import login as login_page
from tarantula.web.pages import single_sign_on
from tests.sites.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider
from tests.sites.server import Answer
from tests.support.command_result import Tarantula
from tests.support.web_server import web_server

PASSWORD = "correct horse battery"
pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    made = IdentityProvider()
    with made.web:
        yield made
    assert made.problems == []


class Site(NamedTuple):
    """The login pages of an installation, in this process, and their provider."""

    database: Database
    provider: IdentityProvider
    authenticator: Authenticator

    def client(self, scheme: str = "http") -> httpx.AsyncClient:
        """Return a browser."""
        app = FastAPI()
        for router in (login_page.router, single_sign_on.router):
            app.include_router(router)
        app.include_router(people.router, prefix="/api")
        transport = httpx.ASGITransport(AuthMiddleware(app, self.authenticator), client=("192.0.2.7", 1))
        return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://127.0.0.1:8090")

    def log_in(self) -> httpx.Response:
        """Log in in a new browser; return the last page."""

        async def go() -> httpx.Response:
            async with self.client() as browser:
                return await through(browser)

        return asyncio.run(go())

    def me(self) -> dict[str, Any]:
        """Log in in a new browser; return the account, or the sentence that refuses it."""

        async def go() -> dict[str, Any]:
            async with self.client() as browser:
                answer = await through(browser)
                if answer.status_code != 200:
                    return {"status": answer.status_code, "complaint": complaint(answer)}
                found: dict[str, Any] = (await browser.get("/api/me")).json()
                return found

        return asyncio.run(go())

    def audited(self) -> list[tuple[str, str, str]]:
        """Return who, action and subject of the audit log."""
        with self.database.reading() as session:
            assert not audit.verify(session).problem
            entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
            return [(entry.who, entry.action, entry.subject) for entry in entries]


async def through(browser: httpx.AsyncClient, change: Callable[[httpx.URL], httpx.URL] | None = None) -> httpx.Response:
    """Follow the redirects of a login, over the provider; *change* the address that it sends the browser back to."""
    sent = await browser.get("/login/oidc?next=/publications%3Fx%3D1")
    if sent.status_code != 303:
        return sent
    async with httpx.AsyncClient(trust_env=False) as outside:
        back = httpx.URL((await outside.get(sent.headers["location"])).headers["location"])
    return await browser.get(change(back) if change else back)


def with_parameters(url: httpx.URL, more: dict[str, str]) -> httpx.URL:
    """Return an address with other parameters."""
    return url.copy_with(params={**url.params, **more})


def complaint(answer: httpx.Response) -> str:
    """Return the sentence on the login page."""
    return answer.text.partition('role="alert">')[2].partition("</p>")[0]


@pytest.fixture
def site(database: Database, provider: IdentityProvider) -> Site:
    return opened(database, provider)


def opened(database: Database, provider: IdentityProvider, **settings: Any) -> Site:
    """Return the pages of an installation that has accounts of an administrator and of ana."""
    with database.session() as session:
        for name, role in (("root", Role.ADMINISTRATOR), ("ana", Role.CURATOR)):
            if accounts.find(session, name) is None:
                accounts.add(session, name, role, PASSWORD)
    configured = {"oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET, **settings}
    installation = Config(oidc_issuer=provider.issuer, **configured)
    return Site(database, provider, Authenticator(installation, database))


def command(site: Site) -> ServiceContext:
    return ServiceContext(site.authenticator.installation, site.database, Person("root", Role.ADMINISTRATOR))


def test_a_linked_person_logs_in(site: Site) -> None:
    subject = site.provider.person["sub"]
    refused = site.me()
    assert refused["status"] == 403
    assert refused["complaint"].startswith(f"No account is linked to your identity &#39;{subject}&#39;.")
    identities.link_identity(command(site), "ana", site.provider.issuer, subject)
    with pytest.raises(TarantulaError, match="is linked to ana already"):
        identities.link_identity(command(site), "root", site.provider.issuer, subject)

    async def go() -> None:
        async with site.client() as browser:
            answer = await through(browser)
            assert answer.status_code == 200
            # The browser would not send a new SameSite=Strict cookie along a redirect from the provider.
            assert '<meta http-equiv="refresh" content="0;url=/publications?x=1">' in answer.text
            assert (await browser.get("/api/me")).json()["name"] == "ana"
            left = await browser.post("/logout")
            assert f"{site.provider.issuer}/logout?id_token_hint=" in left.text
            assert (await browser.get("/api/me")).status_code == 401

    asyncio.run(go())
    assert site.audited() == [
        ("", "login.failed", "unknown account"),
        ("root", "account.link", "ana"),
        ("ana", "login", "ana"),
    ]
    (row,) = identities.list_identities(command(site))
    assert (row.account, row.subject, row.used_at is not None) == ("ana", subject, True)
    identities.unlink_identity(command(site), "ana", site.provider.issuer, subject)
    assert site.me()["status"] == 403


def test_accounts_are_created_with_the_role_of_a_claim(database: Database, provider: IdentityProvider) -> None:
    roles = {
        "oidc_role_claim": "realm_access.roles",
        "oidc_roles": "archivists=curator; staff=reader; it=administrator",
    }
    site = opened(database, provider, oidc_create=True, **roles)
    provider.person = {"sub": "7", "preferred_username": "rui", "realm_access": {"roles": ["staff", "archivists", "x"]}}
    assert site.me() == {"name": "rui", "role": "curator", "token": None}
    # The claim holds at each login; it may also come from the userinfo endpoint.
    provider.person.pop("realm_access")
    provider.userinfo = {"realm_access": {"roles": ["staff"]}}
    assert site.me()["role"] == "reader"
    provider.userinfo = {"realm_access": {"roles": ["others"]}}
    assert "None of your groups" in site.me()["complaint"]
    provider.userinfo = {"sub": "8", "realm_access": {"roles": ["it"]}}
    assert "None of your groups" in site.me()["complaint"]
    # A name that is taken is not taken over.
    provider.person = {"sub": "9", "preferred_username": "ana", "realm_access": {"roles": ["staff"]}}
    assert site.me()["complaint"].startswith("There is already an account ana, which is not linked")
    provider.person["preferred_username"] = "../ana"
    assert "gives no name for an account" in site.me()["complaint"]
    with database.reading() as session:
        rui = accounts.get(session, "rui")
        assert (rui.password, rui.role) == ("", "reader")
        assert session.scalars(select(Identity.subject)).all() == ["7"]
    for password in ("", "dummy password", PASSWORD):
        assert site.authenticator.log_in("rui", password, "192.0.2.7") is None
    with pytest.raises(TarantulaError, match="has no password"):
        managed.change_password(replace(command(site), person=Person("rui", Role.READER, rui.id)), "", PASSWORD)


def test_the_only_administrator_is_not_demoted_by_a_claim(sqlite: Database, provider: IdentityProvider) -> None:
    site = opened(sqlite, provider, oidc_role_claim="groups", oidc_roles="staff=reader")
    identities.link_identity(command(site), "root", provider.issuer, provider.person["sub"])
    provider.person["groups"] = "staff"
    assert "root is the only administrator" in site.me()["complaint"]
    with sqlite.reading() as session:
        assert accounts.get(session, "root").role == "administrator"


@pytest.mark.parametrize(
    ("claim", "domain", "person", "linked"),
    [
        ("preferred_username", "", {"preferred_username": "ana"}, True),
        ("preferred_username", "", {"preferred_username": "nobody"}, False),
        ("email", "example.org", {"email": "ana@example.org", "email_verified": True}, True),
        ("email", "example.org", {"email": "ana@example.org", "email_verified": False}, False),
        ("email", "example.org", {"email": "ana@example.org", "email_verified": "true"}, False),
        ("email", "example.org", {"email": "ana@example.org"}, False),
        ("email", "example.org", {"email": "ana@evil.example", "email_verified": True}, False),
        ("email", "", {"email": "ana@example.org", "email_verified": True}, False),
        ("email", "example.org", {"email": "ana", "email_verified": True}, False),
        # An address in another claim than the one that was verified.
        (
            "preferred_username",
            "example.org",
            {"preferred_username": "ana@example.org", "email": "x@example.org", "email_verified": True},
            False,
        ),
    ],
)
def test_only_verified_addresses_link(
    sqlite: Database, provider: IdentityProvider, claim: str, domain: str, person: dict[str, Any], linked: bool
) -> None:
    site = opened(sqlite, provider, oidc_link_claim=claim, oidc_domain=domain)
    provider.person = {"sub": "1", **person}
    assert (site.me().get("name") == "ana") is linked
    with sqlite.reading() as session:
        assert bool(session.scalars(select(Identity)).all()) is linked


def test_a_disabled_account_stays_out_and_a_removed_one_takes_its_link_along(
    database: Database, provider: IdentityProvider
) -> None:
    site = opened(database, provider, oidc_link_claim="preferred_username")
    assert site.me()["name"] == "ana"
    managed.edit_account(command(site), "ana", disabled=True)
    assert site.me()["complaint"] == "The account ana is disabled."
    managed.remove_account(command(site), "ana")
    with database.reading() as session:
        assert session.scalars(select(Identity)).all() == []
        assert session.scalars(select(LoginSession)).all() == []


HOUR = 3600
WRONG_TOKENS: dict[str, tuple[dict[str, Any], str]] = {
    "nonce of another login": ({"nonce": "other"}, "belongs to another login"),
    "no nonce": ({"nonce": None}, "belongs to another login"),
    "several nonces": ({"nonce": ["x"]}, "belongs to another login"),
    "another issuer": ({"iss": "https://evil.example"}, "iss"),
    "no issuer": ({"iss": None}, "iss"),
    "another audience": ({"aud": "other"}, "aud"),
    "several audiences without the client": ({"aud": [CLIENT_ID, "other"]}, "for another client"),
    "another client": ({"aud": [CLIENT_ID, "other"], "azp": "other"}, "for another client"),
    "expired": ({"exp": int(time()) - HOUR}, "has expired"),
    "never expires": ({"exp": None}, "exp"),
    "expires as text": ({"exp": "tomorrow"}, "exp"),
    "from the future": ({"iat": int(time()) + HOUR}, "future"),
    "not yet": ({"nbf": int(time()) + HOUR}, "not yet valid"),
    "no subject": ({"sub": None}, "sub"),
    "an empty subject": ({"sub": ""}, "sub"),
    "a subject that is none": ({"sub": {"$ne": ""}}, "sub"),
    "a long subject": ({"sub": "x" * 256}, "cannot be stored"),
    "a subject with control characters": ({"sub": "a\x1b[2J"}, "cannot be stored"),
}


@pytest.mark.parametrize(("changes", "sentence"), WRONG_TOKENS.values(), ids=WRONG_TOKENS)
def test_wrong_id_tokens_are_refused(
    sqlite: Database, provider: IdentityProvider, changes: dict[str, Any], sentence: str
) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    provider.changes = changes
    found = site.me()
    assert (found["status"], sentence in found["complaint"]) == (403, True), found
    with sqlite.reading() as session:
        assert session.scalars(select(LoginSession)).all() == []
    provider.changes = {"aud": [CLIENT_ID, "other"], "azp": CLIENT_ID}
    assert site.me()["name"] == "ana"


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_unsigned_tokens_and_those_signed_with_the_public_key_are_refused(
    sqlite: Database, provider: IdentityProvider, algorithm: str
) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    provider.algorithm = algorithm
    assert f"is signed with &#39;{algorithm}&#39;, which is not accepted" in site.me()["complaint"]


@pytest.mark.parametrize("has_key_ids", [True, False])
@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256"])
def test_keys_may_be_rotated(sqlite: Database, provider: IdentityProvider, algorithm: str, has_key_ids: bool) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    provider.algorithm, provider.has_key_ids = algorithm, has_key_ids
    assert site.me()["name"] == "ana"
    provider.rotate()
    assert site.me()["name"] == "ana"
    assert len(provider.web.visits_to("/keys")) == 2
    assert site.me()["name"] == "ana"
    # Neither the configuration nor the keys are fetched again without need.
    assert len(provider.web.visits_to("/keys")) == 2
    assert len(provider.web.visits_to("/.well-known/openid-configuration")) == 1


def test_a_stolen_key_is_not_accepted(sqlite: Database, provider: IdentityProvider) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    other = IdentityProvider()
    other.rotate()
    with other.web as web:
        provider.answers["/keys"] = Answer(httpx.get(web.url("/keys"), trust_env=False).text, "application/json")
    assert "is not signed with a key of 127.0.0.1" in site.me()["complaint"]


FAILURES: dict[str, tuple[str, Answer, str]] = {
    "no configuration": ("/.well-known/openid-configuration", Answer("<html>", status=404), "with status 404"),
    "another issuer": (
        "/.well-known/openid-configuration",
        Answer('{"issuer": "https://evil.example"}', "application/json"),
        "calls itself",
    ),
    "a redirect": (
        "/.well-known/openid-configuration",
        Answer(status=302, headers={"Location": "http://169.254.169.254/"}),
        "with status 302",
    ),
    "a large answer": ("/.well-known/openid-configuration", Answer("x" * 2_000_000), "cannot be reached"),
    "no JSON": ("/token", Answer("<html>"), "not the JSON"),
    "no token": ("/token", Answer("{}", "application/json"), "sent no ID token"),
    "a token that is none": ("/token", Answer('{"id_token": "a.b"}', "application/json"), "is damaged"),
    "a list": ("/token", Answer("[]", "application/json"), "not the JSON"),
    "an error": ("/token", Answer('{"error": "server_error"}', "application/json", 500), "server_error"),
    "no keys": ("/keys", Answer('{"keys": [1, {"kty": "RSA"}]}', "application/json"), "is not signed with a key"),
}


@pytest.mark.parametrize(("path", "answer", "sentence"), FAILURES.values(), ids=FAILURES)
def test_failures_of_the_provider_are_reported(
    sqlite: Database, provider: IdentityProvider, path: str, answer: Answer, sentence: str
) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    provider.answers[path] = answer
    found = site.me()
    assert found["status"] in (403, 503)
    assert sentence in found["complaint"], found
    provider.answers.clear()
    site.authenticator.provider._failure = None  # type: ignore[union-attr]
    assert site.me()["name"] == "ana"


@pytest.mark.parametrize(
    "endpoint", ["http://evil.example/token", "http://10.0.0.5/token", "file:///etc/passwd", "https://", "", None, 7]
)
def test_endpoints_need_https(sqlite: Database, provider: IdentityProvider, endpoint: object) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    provider.configuration = {"token_endpoint": endpoint}
    assert "has no token_endpoint that begins with https://" in site.me()["complaint"]


def test_private_endpoints_of_a_provider_are_not_connected_to(
    sqlite: Database, provider: IdentityProvider, caplog: pytest.LogCaptureFixture
) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    for private in ("https://10.0.0.5/token", "https://169.254.169.254/token", "https://[::1]:1/token"):
        provider.configuration = {"token_endpoint": private}
        site.authenticator.provider._fetched_at = -oidc.CACHE_SECONDS  # type: ignore[union-attr]
        said = site.me()["complaint"]
        # The login page is public, and says nothing about the network behind it.
        assert ("cannot be reached" in said, "address" in said) == (True, False)
        assert "TARANTULA_PRIVATE_NETWORKS" in caplog.messages[-1]


def test_a_slow_provider_is_given_up(
    sqlite: Database, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")
    monkeypatch.setattr(oidc, "TIMEOUT_SECONDS", 0.5)
    provider.seconds = 60
    assert "cannot be reached" in site.me()["complaint"]


def test_an_answer_belongs_to_the_browser_that_asked(sqlite: Database, provider: IdentityProvider) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")

    async def go() -> None:
        async with site.client() as browser, site.client() as other:
            first = await through(browser)
            assert first.status_code == 200
            used: list[httpx.URL] = []

            def keep(url: httpx.URL) -> httpx.URL:
                used.append(url)
                return url.copy_with(params={**url.params, "state": "forged"})

            assert "another window" in complaint(await through(browser, keep))
            # Another browser, which has no pending login or one of its own.
            assert "another window" in complaint(await other.get(used[0]))
            await other.get("/login/oidc")
            assert "another window" in complaint(await other.get(used[0]))
            for wrong in ({"iss": "https://evil.example"}, {"code": ""}, {"code": "x"}, {"error": "<b>"}):
                answer = await through(browser, partial(with_parameters, more=wrong))
                assert (answer.status_code, "<b>" in answer.text) == (403, False)
            for cookie in ("x", "W10=", "eyJ9", "WzEsMiwzLDRd"):
                odd = await other.get(used[0], headers={"Cookie": f"tarantula_oidc={cookie}"})
                assert odd.status_code == 400

    asyncio.run(go())
    provider.error = "access_denied"
    assert "127.0.0.1 refused the login: access_denied." in site.me()["complaint"]


def test_failures_are_throttled_and_recorded(
    sqlite: Database, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = opened(sqlite, provider)
    monkeypatch.setattr(throttle, "pause_seconds", lambda failures, limit: 60 if failures >= 3 else 0)
    assert [site.me()["status"] for _ in range(5)] == [403, 403, 403, 429, 429]
    assert site.audited() == [("", "login.failed", "unknown account")] * 3
    with sqlite.reading() as session:
        entry = session.scalars(select(AuditEntry)).first()
    assert entry is not None
    assert (entry.detail["issuer"], entry.detail["identity"]) == (provider.issuer, provider.person["sub"])


def test_by_https_the_cookies_are_bound_to_the_host(sqlite: Database, provider: IdentityProvider) -> None:
    site = opened(sqlite, provider, oidc_link_claim="preferred_username")

    async def go() -> None:
        async with site.client("https") as browser:
            sent = await browser.get("/login/oidc")
            pending = sent.headers["set-cookie"]
            assert pending.startswith("__Host-tarantula_oidc=")
            assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(pending.split("; "))
            assert "redirect_uri=https%3A%2F%2F127.0.0.1%3A8090%2Flogin%2Foidc%2Fcallback" in sent.headers["location"]
            answer = await through(browser)
            cookies = answer.headers.get_list("set-cookie")
            assert [cookie.partition("=")[0] for cookie in cookies] == [
                "__Host-tarantula_session",
                "tarantula_id_token",
                "__Host-tarantula_oidc",
            ]
            assert all("Secure" in cookie and "HttpOnly" in cookie for cookie in cookies)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"ISSUER": "http://sso.example"}, "beginning with https://"),
        ({"ISSUER": "https://sso.example/?a"}, "beginning with https://"),
        ({"ISSUER": "https://sso.example", "CLIENT_ID": ""}, "TARANTULA_OIDC_CLIENT_ID is missing"),
        ({"CLIENT_SECRET_FILE": "/nowhere"}, "/nowhere in TARANTULA_OIDC_CLIENT_SECRET_FILE cannot be read"),
        ({"ROLES": "staff"}, "Write a value and its role"),
        ({"ROLES": "staff=king"}, "'king' is not a role"),
        ({"ROLE": "king"}, "'king' is not a role"),
    ],
)
def test_wrong_settings_are_reported(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], sentence: str) -> None:
    for name, value in {"ISSUER": "https://sso.example", "CLIENT_ID": "x", **settings}.items():
        monkeypatch.setenv(f"TARANTULA_OIDC_{name}", value)
    with pytest.raises(TarantulaError, match=sentence):
        OidcSettings.of(Config())


def test_wrong_settings_end_the_command(tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARANTULA_OIDC_ISSUER", "http://sso.example")
    done = tarantula("web", "--port", "0", "--replay-port", "0")
    assert (done.code, "beginning with https://" in done.err, "Traceback" in done.err) == (2, True, False)


def test_the_secret_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the client\n")
    found = OidcSettings.of(
        Config(oidc_issuer="https://sso.example", oidc_client_id="x", oidc_client_secret_file=tmp_path / "secret")
    )
    assert found is not None
    assert (found.client_secret, found.label, found.scopes) == ("of the client", "sso.example", "openid profile email")


def test_claims_may_be_inside_others() -> None:
    claims = {"a": {"b": ["x", 1, ""]}, "https://example.org/roles": "y", "n": 1}
    assert claim_values(claims, "a.b") == ["x"]
    assert claim_values(claims, "https://example.org/roles") == ["y"]
    assert claim_values(claims, "n") == claim_values(claims, "a.b.c") == claim_values(claims, "z") == []


def test_in_a_browser(
    sqlite_config: Config,
    provider: IdentityProvider,
    window: Page,
    monkeypatch: pytest.MonkeyPatch,
    tarantula: Tarantula,
) -> None:
    """From the login page to the provider and back to the page that was asked for, and out again."""
    # The browser gets no SameSite=Strict cookie of another site's redirect along.
    provider.host = "localhost"
    for name, value in {
        "ISSUER": provider.issuer,
        "CLIENT_ID": CLIENT_ID,
        "CLIENT_SECRET": CLIENT_SECRET,
        "LABEL": "University",
    }.items():
        monkeypatch.setenv(f"TARANTULA_OIDC_{name}", value)
    with open_database(sqlite_config) as database:
        opened(database, provider)
    done = tarantula("user", "add", "eva", "--role", "curator", "--no-password")
    assert (done.code, done.out) == (0, "eva is a curator.\n")
    assert tarantula("user", "link", "eva", provider.person["sub"]).code == 0
    assert provider.person["sub"] in tarantula("user", "identities").out
    with web_server() as place:
        window.goto(f"{place.address}/publications?x=1")
        window.get_by_role("link", name="Log in with University").click()
        expect(window).to_have_url(f"{place.address}/publications?x=1")
        expect(window.get_by_text("eva · curator")).to_be_visible()
        window.goto(f"{place.address}/account")
        expect(window.get_by_text("This account has no password")).to_be_visible()
        window.get_by_role("button", name="Log out").click()
        expect(window).to_have_url(f"{place.address}/login")
        window.goto(f"{place.address}/")
        expect(window).to_have_url(f"{place.address}/login?next=/")
    assert len([visit for visit in provider.web.visits if visit.path.startswith("/logout?")]) == 1
    assert tarantula("user", "link", "eva", provider.person["sub"], "--remove").code == 0
