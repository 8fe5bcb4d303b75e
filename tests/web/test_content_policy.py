"""Security headers of every route, and what a page with injected markup may do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import httpx
import pytest
from fastapi.routing import _IncludedRouter
from playwright.sync_api import Page, Route
from starlette.routing import BaseRoute

from tarantula.accounts import accounts, sessions, tokens
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.sockets import TrustedHosts
from tarantula.store.database import open_database
from tarantula.web.app import create_app
from tarantula.web.auth import SESSION_COOKIE, Authenticator
from tarantula.web.middleware import SECURITY_HEADERS
from tarantula.web.replay.addresses import ReplayOrigin
from tarantula.web.replay.security import TicketSigner
from tests.support.browser import launched, window_of
from tests.support.monthly_items import archive
from tests.support.web_server import api_client, web_server
from tests.web.test_access import pages

PARAMETER = re.compile(r"\{[^}]*\}")
PLAIN_PATHS = ("/login", "/search", "/search?q=base", "/search/suggest")
INLINE_ALLOWED = re.compile(r"(default|script|style)-src(-elem)? [^;]*'unsafe-inline'")
EVERYWHERE = ("default-src 'none'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action '")
INJECTED = (
    "<script>document.title = 'ran'</script><img src='data:,' onerror=\"document.title = 'ran'\">"
    "<iframe srcdoc=\"<script>parent.document.title = 'ran'</script>\"></iframe><style>body { opacity: 0.123 }</style>"
    "<script src='data:text/javascript,document.title = &quot;ran&quot;'></script>"
    "<script src='/api/me'></script><svg onload=\"document.title = 'ran'\"></svg></body>"
)
RECORD_VIOLATIONS = """window.violations = [];
addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));"""


def every_route(routes: Iterable[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of all routes, also of mounted apps and included routers."""
    for route in routes:
        path = prefix + getattr(route, "path", "")
        if isinstance(route, _IncludedRouter):
            yield from every_route(route.effective_route_contexts(), prefix)  # type: ignore[arg-type]
            continue
        inner = getattr(route, "routes", None)
        for method in getattr(route, "methods", None) or ():
            yield method, PARAMETER.sub("1", path)
        if inner:
            yield from every_route(inner, path)
        elif not hasattr(route, "methods"):
            yield "GET", f"{PARAMETER.sub('1', path)}/1"


def faults_of(response: httpx.Response) -> list[str]:
    """Return what is wrong with the security headers of a response."""
    headers = response.headers
    faults = [name for name, value in SECURITY_HEADERS.items() if headers.get_list(name) != [value]]
    policies = headers.get_list("content-security-policy")
    if len(policies) != 1:
        return [*faults, f"{len(policies)} policies"]
    (policy,) = policies
    faults += [f"no {part}" for part in EVERYWHERE if part not in policy]
    is_html = headers.get("content-type", "").startswith("text/html")
    is_page = headers.get("x-nicegui-content") == "page"
    if INLINE_ALLOWED.search(policy) or (not is_page and "unsafe" in policy):
        faults.append("unsafe")
    if "nonce-" in policy and not is_html:
        faults.append("nonce without a page")
    if not is_html and "; sandbox" not in policy:
        faults.append("no sandbox")
    if is_html and not is_page and "require-trusted-types-for 'script'" not in policy:
        faults.append("no trusted types")
    return faults


def begun_session(database: Database) -> tuple[str, str]:
    """Create an administrator and log in; return the secrets of the session and of a token."""
    with database.session() as session:
        account = accounts.add(session, "ana", Role.ADMINISTRATOR, "correct horse battery")
        _, token = tokens.create_token(session, account, "all", Role.ADMINISTRATOR, None)
        return sessions.begin_session(session, account, "ana"), token


def test_every_route_has_the_headers_of_its_kind(
    sqlite_config: Config, sqlite: Database, quick_passwords: None
) -> None:
    replay = ReplayOrigin(TicketSigner(), 1)
    routes = sorted({*every_route(create_app(Authenticator(sqlite_config, sqlite), replay, TrustedHosts()).routes)})
    paths = {path for _, path in routes}
    assert {"/login", "/search", "/dashboard", "/health", "/metrics", "/static/1", "/api/items/1"} <= paths
    assert len(routes) > 120
    more = [("GET", path) for path in ("/static/search.js", "/api/nowhere", "/nowhere", "/%00", "/_nicegui/nowhere")]
    session, secret = begun_session(sqlite)
    cookie = {"Cookie": f"{SESSION_COOKIE}={session}"}
    found = {}
    with web_server() as place, api_client(place.address) as client:
        for method, path in [*routes, *more]:
            for headers in ({}, {"Authorization": f"Bearer {secret}"} if path.startswith("/api/") else cookie):
                if headers is cookie and method not in ("GET", "HEAD"):
                    continue
                response = client.request(method, path, headers=headers)
                if faults := faults_of(response):
                    found[f"{method} {path} {response.status_code}"] = faults
        nonces = {client.get("/login").headers["content-security-policy"] for _ in range(2)}
    assert found == {}
    assert len(nonces) == 2


@pytest.mark.usefixtures("quick_passwords")
def test_every_page_works_in_portuguese_and_runs_nothing_that_is_injected(sqlite_config: Config, chromium: str) -> None:
    """Pages keep to their policies, which `window_of` checks; with injected markup they do the same as without."""
    with open_database(sqlite_config) as database:
        urn = archive(sqlite_config, database, 1, {})
        secret, _ = begun_session(database)
    with web_server() as place, launched(chromium) as browser:
        cookie = {"name": SESSION_COOKIE, "value": secret, "url": place.address}
        with window_of(browser, locale="pt-PT") as window:
            window.context.add_cookies([cookie])  # type: ignore[list-item]
            for path in pages(urn):
                window.goto(place.address + path)
                assert window.locator("html").get_attribute("lang") == "pt"
                window.get_by_role("heading", level=1).first.wait_for()
        page = browser.new_page()
        page.context.add_cookies([cookie])  # type: ignore[list-item]
        page.add_init_script(RECORD_VIOLATIONS)
        page.route("**", inject)
        for path in (*PLAIN_PATHS, "/", "/dashboard", f"/items/{urn}", "/nowhere"):
            assert injected_effects(page, place.address + path, path in PLAIN_PATHS) == []


def inject(route: Route) -> None:
    """Answer a navigation as the server does, with markup that an attacker got into the page."""
    if not route.request.is_navigation_request() or route.request.frame.parent_frame is not None:
        route.continue_()
        return
    response = route.fetch()
    body = response.text()
    assert "</body>" in body
    route.fulfill(response=response, body=body.replace("</body>", INJECTED))


def injected_effects(page: Page, address: str, is_plain: bool) -> list[str]:
    """Open a page with injected markup; return which parts of it had an effect."""
    page.goto(address)
    if not is_plain:
        page.wait_for_function("window.did_handshake")
    assert page.locator("svg[onload]").count() == 1
    seen = set(page.evaluate("violations"))
    effects = [
        f"{directive} was not violated" for directive in ("script-src-elem", "style-src-elem") if directive not in seen
    ]
    if not {"script-src-attr", "script-src"} & seen:
        effects.append("an event handler was permitted")
    if page.title() == "ran":
        effects.append("a script ran")
    if page.evaluate("getComputedStyle(document.body).opacity") == "0.123":
        effects.append("a style was applied")
    return effects
