"""Render a page in a browser after some steps. The browser never uses the network: every request goes through our
client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tarantula.browser.chromium import ONLINE_SCRIPT, browser_response, browser_settings, check_browser, log_isolation
from tarantula.core.errors import TarantulaError
from tarantula.core.urls import canonical, is_web, origin_of, redirect_target
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import Exchange
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.client import PickerClient, PickerRequest
from tarantula.streams.sources.config import BrowserAction, BrowserStep
from tarantula.streams.sources.request import SourceRequest, fill_variables

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

STEP_TIMEOUT_SECONDS = 10.0
SETTLE_SECONDS = 5.0
"""Maximum time for scripts to become idle after a step."""
RENDER_TIMEOUT_SECONDS = 60.0
"""Maximum time for opening the page and all steps."""
LARGEST_BODY_BYTES = 5_000_000
"""Maximum size of the page and of each response."""
MOST_REQUESTS = 200
"""Maximum number of requests of one page."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
SKIPPED_RESOURCES = frozenset({"image", "media", "font"})
"""Resource types that do not change the text of a page."""
_FORWARDED_HEADERS = (
    "cookie",
    "content-type",
    "referer",
    "origin",
    "x-requested-with",
    "authorization",
    "accept-language",
)
OWN_COOKIES = frozenset({"set-cookie"})
"""Left out, because cookies are stored one by one."""


async def take_steps(page: Page, steps: Sequence[BrowserStep], variables: Mapping[str, str]) -> None:
    """Execute the steps in order; raise `TarantulaError` naming the step that failed."""
    from playwright.async_api import Error as PlaywrightError
    from playwright.async_api import TimeoutError as PlaywrightTimeout

    for number, step in enumerate(steps, 1):
        where, value = fill_variables(step.where, variables), fill_variables(step.value, variables)
        try:
            await _execute(page, step.action, where, value)
        except PlaywrightTimeout as error:
            raise TarantulaError(
                "Step {number} ({action} {where}) failed: nothing matches within {limit:g} seconds.",
                number=number,
                action=step.action,
                where=step.where[:80],
                limit=STEP_TIMEOUT_SECONDS,
            ) from error
        except PlaywrightError as error:
            raise TarantulaError(
                "Step {number} ({action} {where}) failed: {error}",
                number=number,
                action=step.action,
                where=step.where[:80],
                error=_first_line(error),
            ) from error
        await wait_until_settled(page)


async def wait_until_settled(page: Page) -> None:
    """Wait until the page's network is idle, at most `SETTLE_SECONDS`."""
    from playwright.async_api import Error as PlaywrightError

    with suppress(PlaywrightError):
        await page.wait_for_load_state("networkidle", timeout=SETTLE_SECONDS * 1000)


async def _execute(page: Page, action: BrowserAction, where: str, value: str) -> None:
    timeout = STEP_TIMEOUT_SECONDS * 1000
    match action:
        case BrowserAction.GO:
            await page.goto(where, timeout=timeout)
        case BrowserAction.FILL:
            await page.fill(where, value, timeout=timeout)
        case BrowserAction.CHOOSE:
            await page.select_option(where, value, timeout=timeout)
        case BrowserAction.CLICK:
            await page.click(where, timeout=timeout)
        case BrowserAction.WAIT:
            await page.wait_for_selector(where, timeout=timeout)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".") + "."


class PickerBrowser:
    """Render pages in a browser, one at a time."""

    def __init__(self, client: PickerClient, user_agent: str) -> None:
        self._client = client
        self._user_agent = user_agent
        self._turn = asyncio.Lock()

    async def render(
        self,
        url: str,
        steps: Sequence[BrowserStep],
        variables: Mapping[str, str],
        *,
        policy: EgressPolicy,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> SourceResponse:
        """Return the rendered page; raise `TarantulaError` if it cannot be rendered. *headers* are sent to the page's
        origin only."""
        from playwright.async_api import Error as PlaywrightError

        await asyncio.to_thread(check_browser)
        handler = _RequestHandler(self._client, origin_of(url), headers, policy)
        try:
            async with self._turn, asyncio.timeout(RENDER_TIMEOUT_SECONDS), self._page(handler) as page:
                await page.goto(url)
                await wait_until_settled(page)
                if handler.first_error and (not handler.shown or page.url.startswith("chrome-error:")):
                    # A redirect, or a script, led to a page that was refused.
                    raise TarantulaError(handler.first_error)
                await take_steps(page, steps, variables)
                body = (await page.content()).encode()
                return SourceResponse(
                    page.url, body[:LARGEST_BODY_BYTES], "text/html; charset=utf-8", datetime.now(UTC)
                )
        except TimeoutError:
            raise TarantulaError(
                "It took longer than {limit:g} seconds. Try again later.", limit=RENDER_TIMEOUT_SECONDS
            ) from None
        except PlaywrightError as error:
            raise TarantulaError("The browser could not show the page: {error}", error=_first_line(error)) from error

    @asynccontextmanager
    async def _page(self, handler: _RequestHandler) -> AsyncIterator[Page]:
        from playwright.async_api import Error as PlaywrightError
        from playwright.async_api import async_playwright

        settings = browser_settings(self._user_agent)
        log_isolation()
        async with async_playwright() as started:
            browser = await started.chromium.launch(**settings["PLAYWRIGHT_LAUNCH_OPTIONS"])
            try:
                context = await browser.new_context(**settings["PLAYWRIGHT_CONTEXTS"]["default"])
                await context.route("**", handler.handle)
                await context.route_web_socket("**", lambda socket: socket.close())
                await context.add_init_script(ONLINE_SCRIPT)
                try:
                    page = await context.new_page()
                    page.on("popup", lambda window: window.close())
                    yield page
                except PlaywrightError as error:
                    if handler.shown or not handler.first_error:
                        raise
                    # Our reason for refusing the request is more useful than the browser's network error.
                    raise TarantulaError(handler.first_error) from error
            finally:
                await browser.close()


class _RequestHandler:
    """Answer the requests of one page with our HTTP client, under the same rules as for the page."""

    def __init__(self, client: PickerClient, origin: str, headers: Mapping[str, str], policy: EgressPolicy) -> None:
        self._client = client
        self._origin, self._headers = origin, headers
        self._policy = policy
        self._requests = 0
        self.first_error = ""
        self.shown = False

    async def handle(self, route: Route) -> None:
        """Answer one request of the browser."""
        from playwright.async_api import Error as PlaywrightError

        with suppress(PlaywrightError):
            self._requests += 1
            url = canonical(route.request.url)
            unwanted = route.request.resource_type in SKIPPED_RESOURCES or self._requests > MOST_REQUESTS
            if url is None or not is_web(url) or unwanted:
                await route.abort("aborted")
                return
            try:
                exchange = await self._fetch(route, url)
            except TarantulaError as error:
                self.first_error = self.first_error or str(error)
                # With this code a navigation by a script leaves the present page as it is.
                await route.abort("aborted")
                return
            await self._fulfil(route, exchange)

    async def _fetch(self, route: Route, url: str) -> Exchange:
        request = route.request
        headers = await request.all_headers()
        forwarded = {name: headers[name] for name in _FORWARDED_HEADERS if name in headers}
        if origin_of(url) == self._origin:
            forwarded.update(self._headers)
        sent = SourceRequest(request.method, tuple(forwarded.items()), request.post_data_buffer or b"")
        return await self._client.get(
            PickerRequest(
                url,
                self._policy,
                LARGEST_BODY_BYTES,
                accept=headers.get("accept", "*/*"),
                sent=sent,
                redirects=0 if request.is_navigation_request() else 5,
            )
        )

    async def _fulfil(self, route: Route, exchange: Exchange) -> None:
        await _store_cookies(route, exchange)
        location = exchange.get(b"location") if 300 <= exchange.status < 400 else None
        if location is not None:
            # The browser would follow a redirect without asking us; a navigation by script comes back to us.
            target = redirect_target(exchange.url, location.encode("latin-1")) or "about:blank"
            script = f"<script>location.replace({json.dumps(target)})</script>"
            await route.fulfill(status=200, content_type="text/html", body=script)
            return
        self.shown = self.shown or route.request.is_navigation_request()
        await route.fulfill(**browser_response(exchange.status, exchange.headers, exchange.body, OWN_COOKIES))


async def _store_cookies(route: Route, exchange: Exchange) -> None:
    """Store the cookies of a response in the browser, so that logins work."""
    from http.cookies import CookieError, SimpleCookie

    for name, value in exchange.headers:
        if name.lower() != b"set-cookie":
            continue
        with suppress(CookieError):
            for morsel in SimpleCookie(value.decode("latin-1")).values():
                cookie: Any = {"name": morsel.key, "value": morsel.value, "url": exchange.url}
                await route.request.frame.page.context.add_cookies([cookie])
