"""Render collected pages in a browser.

The browser has no network access: the page that it opens is the response that the collector already has, and requests
of its scripts go through the collector's download handler, within the publication's scope, one at a time to each server
and with the publication's pauses between them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from playwright.async_api import BrowserContext, Page, Route, WebSocketRoute
from playwright.async_api import Error as PlaywrightError
from scrapy import Request
from scrapy_playwright.page import PageMethod

from tarantula.browser.chromium import ONLINE_SCRIPT, browser_response, log_isolation
from tarantula.core.reasons import Reason
from tarantula.core.urls import canonical, is_web, server_of
from tarantula.engine.component import Component
from tarantula.fetch.exchange import DownloadError, FetchAbandoned, LocalResourceError
from tarantula.items import CollectedDocument
from tarantula.links.extract import extract_links
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate
from tarantula.signals import memory_low

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tarantula.crawl.collection import Collection


logger = logging.getLogger(__name__)

SETTLE_SECONDS = 10.0
"""Time that scripts get to become idle after the page was loaded."""
MAX_CACHED_RESPONSES = 500
"""Responses (scripts, styles) cached from page to page."""
SKIPPED_RESOURCES = frozenset({"image", "media", "font"})
"""Not loaded, since they do not change the links of a page; the collector fetches them as documents."""
BROWSER_ERRORS = (PlaywrightError, TimeoutError, RuntimeError)
"""Errors of scrapy-playwright; the last one if a script has started a download."""
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class PageRenderer(Component):
    """Renders the pages of one collection."""

    collection: Collection

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._cache: OrderedDict[tuple[str, str], dict[str, Any] | None] = OrderedDict()
        self._server_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        crawler.signals.connect(self._forget, memory_low)
        log_isolation()

    def _forget(self) -> None:
        self._cache.clear()

    async def render(self, document: CollectedDocument) -> None:
        """Render a page, and replace its links by those of the rendered page."""
        if document.type not in HTML_TYPES or document.state != 200 or document.exchange is None:
            return
        try:
            document.rendered = await self._open(document)
        except (FetchAbandoned, LocalResourceError):
            raise
        except (DownloadError, *BROWSER_ERRORS) as error:
            problem = (str(error).strip() or type(error).__name__).splitlines()[0]
            document.why = document.why.with_note(Reason.of("not_rendered", problem=problem))
            self.count("render/failed_count")
            return
        document.links = extract_links(document.rendered, document.type, document.entry.url, "utf-8")
        self.count("render/page_count")

    async def _open(self, document: CollectedDocument) -> bytes:
        response = await asyncio.wait_for(
            self.engine.download_async(
                Request(
                    document.entry.url,
                    meta={
                        "playwright": True,
                        "verbatim_url": True,
                        "download_slot": "browser",
                        "document": document,
                        "playwright_page_init_callback": self._prepare,
                        "playwright_page_methods": [PageMethod(wait_until_idle)],
                    },
                )
            ),
            self.collection.config.timeout,
        )
        return str(response.text).encode()

    async def _prepare(self, page: Page, request: Request) -> None:
        document: CollectedDocument = request.meta["document"]

        async def handle(route: Route) -> None:
            with suppress(PlaywrightError):
                await self._handle_route(route, document)

        await intercept(page, handle)

    async def _handle_route(self, route: Route, document: CollectedDocument) -> None:
        asked = route.request
        assert document.exchange is not None
        if asked.is_navigation_request() and asked.frame.parent_frame is None:
            if canonical(asked.url) == document.entry.url:
                await route.fulfill(
                    **browser_response(document.exchange.status, document.exchange.headers, document.exchange.body)
                )
            else:
                # A script navigates to another page; with this code the present one, which is wanted, stays.
                await route.abort("aborted")
        elif asked.method != "GET" or asked.resource_type in SKIPPED_RESOURCES:
            await route.abort()
        else:
            response = await self._fetch(asked.url, asked.headers.get("origin", ""), document)
            await (route.fulfill(**response) if response is not None else route.abort())

    async def _fetch(self, address: str, origin: str, document: CollectedDocument) -> dict[str, Any] | None:
        url = canonical(address)
        if url is None or not is_web(url):
            return None
        server = server_of(url)
        candidate = Candidate(url, server, document.entry.depth + 1, LinkKind.REQUISITE)
        if not self.collection.scope.judge(candidate).accepted:
            self.count("render/refused_count")
            return None
        async with self._server_locks[server]:
            key = url, origin
            if key not in self._cache:
                self._cache_response(key, await self._download(url, server, origin))
            return self._cache[key]

    async def _download(self, url: str, server: str, origin: str) -> dict[str, Any] | None:
        """Return the response for the browser; ``None`` if there is none: pages do not learn why."""
        pause = self.collection.politeness.pause(server)
        await asyncio.sleep(pause)
        self.count("render/request_count")
        request = self.spider.side_request(url, server)
        if origin:
            # The server says which origins may read its answer.
            request.headers["Origin"] = origin
        try:
            await self.engine.download_async(request)
        except DownloadError:
            return None
        finally:
            self.collection.frontier.postpone(server, asyncio.get_running_loop().time() + pause)
        exchange = request.meta["exchange"]
        return browser_response(exchange.status, exchange.headers, exchange.body)

    def _cache_response(self, key: tuple[str, str], response: dict[str, Any] | None) -> None:
        self._cache[key] = response
        if len(self._cache) > MAX_CACHED_RESPONSES:
            self._cache.popitem(last=False)


_contexts: WeakSet[BrowserContext] = WeakSet()
"""Browser contexts in which all windows are closed to the network."""


async def abort_request(route: Route) -> None:
    """Refuse a request without a text."""
    with suppress(PlaywrightError):
        await route.abort()


async def intercept(page: Page, handle: Callable[[Route], Awaitable[None]]) -> None:
    """Have all requests of a page answered by *handle*; close web sockets and the windows that it opens."""
    if page.context not in _contexts:
        _contexts.add(page.context)
        # Requests of a window that a script opens come here before it is closed.
        await page.context.route("**", abort_request)
        await page.context.route_web_socket("**", close_web_socket)
    await page.add_init_script(ONLINE_SCRIPT)
    await page.route("**", handle)
    await page.route_web_socket("**", close_web_socket)
    page.on("popup", close_window)


async def wait_until_idle(page: Page) -> None:
    """Wait until the page makes no more requests, or `SETTLE_SECONDS` are over."""
    with suppress(PlaywrightError):
        await page.wait_for_load_state("networkidle", timeout=SETTLE_SECONDS * 1000)


def close_web_socket(socket: WebSocketRoute) -> None:
    """Close a web socket, which would bypass the collector."""
    asyncio.ensure_future(socket.close())  # noqa: RUF006  ends with the page


def close_window(page: Page) -> None:
    """Close a window that a script has opened: its requests would not come to the collector."""
    asyncio.ensure_future(page.close())  # noqa: RUF006  ends with the browser
