"""Render the pages of stream sources in a browser, after the steps that lead to them.

The browser never touches the network itself: each of its requests goes through the download handler, under the rules of
the source, one at a time to a server and with its pauses. Forms are submitted and cookies kept only for sources with
steps. Each visit has a browser context of its own, so no login is shared.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Route
from playwright.async_api import Request as Asked
from scrapy import Request
from scrapy_playwright.page import PageMethod

from tarantula.browser.chromium import browser_response, log_isolation, page_settings
from tarantula.core.urls import canonical, is_web, origin_of, server_of
from tarantula.engine.component import Component
from tarantula.engine.page_renderer import BROWSER_ERRORS, SKIPPED_RESOURCES, intercept, wait_until_idle
from tarantula.fetch.exchange import DownloadError, InvalidResponse
from tarantula.streams.reading.visits import redirect_location
from tarantula.streams.sources.config import BrowserAction, BrowserStep
from tarantula.streams.sources.request import fill_variables, redact_secrets

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tarantula.fetch.exchange import Exchange
    from tarantula.streams.reading.reader import StreamReader
    from tarantula.streams.reading.visits import StreamVisit

REDIRECT_PAGE = '<meta http-equiv="refresh" content="0;url={url}">'
"""Redirects are answered with this page, because the browser would follow a real one without asking."""
MAX_PAGE_REQUESTS = 200
"""Maximum number of requests of one page."""
FORWARDED_HEADERS = frozenset({"content-type", "cookie", "origin", "referer", "x-requested-with"})
"""Headers of forms and scripts that are sent on, for sources with steps."""
_names = count(1)


class SourceRenderer(Component):
    """Renders the pages of sources."""

    collection: StreamReader

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        log_isolation()

    async def render(self, visit: StreamVisit, exchange: Exchange) -> bytes:
        """Return the HTML of a page after the steps of the source."""
        opened = _Opened(self, visit, exchange)
        request = Request(
            visit.url,
            meta={
                "playwright": True,
                "verbatim_url": True,
                "download_slot": "browser",
                "playwright_context": f"source-{next(_names)}",
                "playwright_context_kwargs": page_settings(self.spider.settings["USER_AGENT"]),
                "playwright_page_init_callback": opened.prepare,
                "playwright_page_methods": [PageMethod(wait_until_idle), PageMethod(opened.do_steps)],
            },
        )
        try:
            response = await asyncio.wait_for(self.engine.download_async(request), visit.config.timeout)
            self.count("render/page_count")
            return str(response.text).encode()
        except BROWSER_ERRORS as error:
            problem = (str(error).strip() or "it took too long").splitlines()[0]
            said = f"The browser could not render it: {opened.step}{problem}."
            self.count("render/failed_count")
            raise InvalidResponse(redact_secrets(said, visit.config.variables)) from None
        finally:
            await opened.close()


class _Opened:
    """One open page."""

    def __init__(self, renderer: SourceRenderer, visit: StreamVisit, exchange: Exchange) -> None:
        self._renderer = renderer
        self._visit = visit
        self._exchange: Exchange | None = exchange
        self._turn = asyncio.Lock()
        self._left = MAX_PAGE_REQUESTS
        self._page: Page | None = None
        self.step = ""
        """Current step, for error messages."""

    async def prepare(self, page: Page, _request: Request) -> None:
        """Route all requests of the page through the download handler."""
        self._page = page

        async def answer(route: Route) -> None:
            with suppress(PlaywrightError):
                await self._answer(route)

        await intercept(page, answer)

    async def close(self) -> None:
        """Close the page and its context, with all cookies."""
        if self._page is not None:
            with suppress(PlaywrightError):
                await self._page.context.close()

    async def do_steps(self, page: Page) -> None:
        """Perform the steps of the source."""
        for number, step in enumerate(self._visit.config.steps, 1):
            self.step = f"step {number}, {step.action} {step.where}: "
            await self._do(page, step)
        self.step = ""

    async def _do(self, page: Page, step: BrowserStep) -> None:
        variables = self._visit.config.variables
        limit = self._visit.config.timeout * 1000
        where, value = fill_variables(step.where, variables), fill_variables(step.value, variables)
        if step.action is BrowserAction.GO:
            await page.goto(urljoin(page.url, where), timeout=limit)
        elif step.action is BrowserAction.FILL:
            await page.fill(where, value, timeout=limit)
        elif step.action is BrowserAction.CHOOSE:
            await page.select_option(where, value, timeout=limit)
        elif step.action is BrowserAction.CLICK:
            await page.click(where, timeout=limit)
        else:
            await page.wait_for_selector(where, timeout=limit)
        if step.action in (BrowserAction.GO, BrowserAction.CLICK):
            await wait_until_idle(page)

    async def _answer(self, route: Route) -> None:
        asked = route.request
        is_page = asked.is_navigation_request() and asked.frame.parent_frame is None
        exchange, has_steps = self._exchange, bool(self._visit.config.steps)
        if is_page and exchange is not None and canonical(asked.url) == self._visit.url and asked.method == "GET":
            self._exchange = None
            await route.fulfill(**browser_response(exchange.status, exchange.headers, exchange.body))
        elif asked.resource_type in SKIPPED_RESOURCES or (not has_steps and (is_page or asked.method != "GET")):
            # With this code a navigation by a script leaves the present page as it is.
            await route.abort("aborted")
        else:
            answer = await self._fetch(asked, is_page)
            await (route.fulfill(**answer) if answer is not None else route.abort())

    async def _fetch(self, asked: Asked, is_page: bool) -> dict[str, Any] | None:
        url = canonical(asked.url)
        self._left -= 1
        if url is None or not is_web(url) or self._left < 0:
            return None
        server = server_of(url)
        is_own = server == self._visit.server
        if self._renderer.collection.is_excluded(server) or not (is_own or asked.method == "GET"):
            self._renderer.count("render/refused_count")
            return None
        request = await self._request(asked, url, server)
        if is_own:
            async with self._turn:
                pause = self._renderer.collection.politeness.pause(server)
                await asyncio.sleep(pause)
                return await self._ask(request, is_page)
        async with self._renderer.collection.occupied(server):
            return await self._ask(request, is_page)

    async def _request(self, asked: Asked, url: str, server: str) -> Request:
        request = self._renderer.spider.side_request(url, server)
        if origin := asked.headers.get("origin"):
            request.headers["Origin"] = origin
        if origin_of(url) == origin_of(self._visit.url):
            request.headers.update(self._visit.sent.fields)
        if self._visit.config.steps and server == self._visit.server:
            said = await asked.all_headers()
            request.headers.update({name: value for name, value in said.items() if name.lower() in FORWARDED_HEADERS})
            if asked.method != "GET":
                request = request.replace(method=asked.method, body=asked.post_data_buffer or b"")
        request.meta.update(
            egress=self._renderer.collection.egress_of(self._visit),
            ignores_robots=not self._visit.config.robots,
            download_timeout=self._visit.config.timeout,
        )
        return request

    async def _ask(self, request: Request, is_page: bool) -> dict[str, Any] | None:
        """Return the response for the browser; ``None`` if there is none: pages do not learn why."""
        self._renderer.count("render/request_count")
        try:
            await self._renderer.engine.download_async(request)
        except DownloadError:
            return None
        exchange: Exchange = request.meta["exchange"]
        answer = browser_response(exchange.status, exchange.headers, exchange.body)
        target = redirect_location(exchange)
        if is_page and target is not None:
            answer["headers"].pop("location", None)
            cookies = {name: value for name, value in answer["headers"].items() if name.lower() == "set-cookie"}
            page = REDIRECT_PAGE.format(url=target.replace("&", "&amp;").replace('"', "&quot;"))
            answer = {"status": 200, "headers": {"content-type": "text/html", **cookies}, "body": page.encode()}
        return answer
