"""Scrapy's downloader without its slots, and the download handler for http and https."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar

from pydispatch.dispatcher import getAllReceivers  # type: ignore[import-untyped]  # It has no type annotations.
from scrapy import Spider, signals
from scrapy.core.downloader import Downloader
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import NotSupported, StopDownload
from scrapy.http import Headers, HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from tarantula.engine.component import Component
from tarantula.fetch.client import HttpClient
from tarantula.fetch.errors import FetchAbandoned
from tarantula.fetch.exchange import Exchange, FetchRequest, ResponseHead
from tarantula.fetch.media_types import media_type
from tarantula.signals import collection_over

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class FrontierDownloader(Component, Downloader):
    """Sends a request as soon as the middlewares have passed it, without Scrapy's queue for each server.

    The frontier alone decides when a server is visited.
    """

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        Downloader.__init__(self, crawler)

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        """Process a request through the middlewares and the download handler."""
        self.active.add(request)
        visit = asyncio.ensure_future(self.middleware.download_async(self._send, request))
        visit.add_done_callback(lambda _: self.active.remove(request))
        return Deferred.fromFuture(visit)

    async def _send(self, request: Request) -> Response:
        send = self.signals.send_catch_log
        spider = self.crawler.spider
        send(signals.request_reached_downloader, request=request, spider=spider)
        try:
            response = await self.handlers.download_request_async(request)
            self.count("response_received_count")
            send(signals.response_downloaded, response=response, request=request, spider=spider)
            return response
        finally:
            send(signals.request_left_downloader, request=request, spider=spider)


NOT_MODIFIED = 304
CONDITIONAL_HEADERS = frozenset({b"if-none-match", b"if-modified-since"})
BROWSER_HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
COLLECTION_OVER_REASON = "The collection is over."
RESPONSE_CLASSES: dict[str, type[Response]] = {
    "text/html": HtmlResponse,
    "application/xhtml+xml": HtmlResponse,
    "text/xml": XmlResponse,
    "application/xml": XmlResponse,
    "application/json": JsonResponse,
    "application/javascript": TextResponse,
}

_address = lru_cache(maxsize=1024)(ip_address)


class ExchangeDownloadHandler(BaseDownloadHandler):
    """Downloads with `tarantula.fetch`, and puts the complete exchange in ``request.meta["exchange"]``."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._max_size = settings.getint("DOWNLOAD_MAXSIZE")
        self._allow_private = settings.getbool("TARANTULA_ALLOW_PRIVATE", True)
        # Separate clients, so that a connection to a private address is never reused where that is not allowed.
        self._clients = {
            allow: HttpClient(
                allow_private=allow,
                verify=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
                bind_address=_host_of(settings.get("DOWNLOAD_BIND_ADDRESS")),
            )
            for allow in (False, True)
        }
        self._browser = BrowserHandler.of(crawler)
        self._active_tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False
        crawler.signals.connect(self._cancel_downloads, collection_over)

    async def download_request(self, request: Request) -> Response:
        """Download a document; a request with ``playwright`` in its meta goes to the browser."""
        if self._is_over:
            raise FetchAbandoned(COLLECTION_OVER_REASON)
        task = asyncio.current_task()
        assert task is not None
        self._active_tasks.add(task)
        try:
            return await self._download(request)
        except asyncio.CancelledError:
            if self._is_over:
                raise FetchAbandoned(COLLECTION_OVER_REASON) from None
            raise
        finally:
            self._active_tasks.discard(task)

    async def _download(self, request: Request) -> Response:
        if request.meta.get("playwright"):
            return await self._browser.download_request(request)
        try:
            exchange = await self._fetch(request)
        except _DownloadStopped as stopped:
            return stopped.response(request)
        request.meta["exchange"] = exchange
        request.meta["download_latency"] = exchange.latency
        return response_of(exchange, request)

    async def close(self) -> None:
        """Close all connections and the browser."""
        for client in self._clients.values():
            await client.close()
        await self._browser.close()

    def _cancel_downloads(self) -> None:
        self._is_over = True
        for task in self._active_tasks:
            task.cancel()

    async def _fetch(self, request: Request) -> Exchange:
        """Send the request; after a 304 return the previous capture, or send it again without conditions."""
        ask = self._ask(request)
        client = self._clients[bool(request.meta.get("allow_private", self._allow_private))]
        exchange = await client.fetch(ask)
        recall = request.meta.get("recall")
        if exchange.status != NOT_MODIFIED or recall is None:
            return exchange
        earlier: Exchange | None = await recall(exchange)
        if earlier is None:
            ask.headers = [field for field in ask.headers if field[0].lower() not in CONDITIONAL_HEADERS]
            return await client.fetch(ask)
        return earlier

    def _ask(self, request: Request) -> FetchRequest:
        meta = request.meta
        return FetchRequest(
            request.url,
            headers=[(name, value) for name, values in request.headers.items() for value in values],
            method=request.method,
            body=request.body,
            timeout=meta.get("download_timeout", self._timeout),
            max_size=meta.get("download_maxsize", self._max_size),
            on_head=self._on_head(request),
            proxy=meta.get("proxy") or "",
        )

    def _on_head(self, request: Request) -> Callable[[ResponseHead], None] | None:
        own: Callable[[ResponseHead], None] | None = request.meta.get("on_head")
        if not any(getAllReceivers(self.crawler, signals.headers_received)):
            return own

        def on_head(head: ResponseHead) -> None:
            if own is not None:
                own(head)
            self._send_headers_received(head, request)

        return on_head

    def _send_headers_received(self, head: ResponseHead, request: Request) -> None:
        results = self.crawler.signals.send_catch_log(
            signals.headers_received,
            headers=Headers(head.headers),
            body_length=head.length,
            request=request,
            spider=self.crawler.spider,
        )
        for _, result in results:
            if isinstance(stop := getattr(result, "value", None), StopDownload):
                raise _DownloadStopped(head, stop)


class BrowserHandler:
    """The handler of scrapy-playwright, shared by both schemes and started with the first page."""

    _known: ClassVar[dict[Crawler, BrowserHandler]] = {}

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._handler: Any = None
        self._starting = asyncio.Lock()

    @classmethod
    def of(cls, crawler: Crawler) -> BrowserHandler:
        """Return the browser handler of a crawler."""
        if crawler not in cls._known:
            cls._known[crawler] = cls(crawler)
        return cls._known[crawler]

    async def download_request(self, request: Request) -> Response:
        """Open a page in the browser."""
        async with self._starting:
            if self._handler is None:
                self._handler = await self._start()
        response: Response = await self._handler.download_request(request)
        return response

    async def close(self) -> None:
        """Close the browser if it was started."""
        self._known.pop(self._crawler, None)
        handler, self._handler = self._handler, None
        if handler is not None:
            await handler.close()

    async def _start(self) -> Any:
        try:
            handler = build_from_crawler(load_object(BROWSER_HANDLER), self._crawler)
        except ImportError as error:
            raise NotSupported("Rendering pages needs scrapy-playwright: install tarantula[render].") from error
        # The handler launches the browser on `engine_started`, which was sent before this handler existed.
        await handler._maybe_launch_in_thread()
        return handler


class _DownloadStopped(Exception):
    """Raised when a receiver of ``headers_received`` stops the download."""

    def __init__(self, head: ResponseHead, stop: StopDownload) -> None:
        super().__init__(str(stop))
        self._head = head
        self._stop = stop

    def response(self, request: Request) -> Response:
        """Return a response without a body, or raise `StopDownload` if the receiver asked for a failure."""
        cls = _class_for(self._head.get(b"content-type"))
        response = cls(
            self._head.url,
            status=self._head.status,
            headers=self._head.headers,
            request=request,
            flags=["download_stopped"],
        )
        if self._stop.fail:
            self._stop.response = response
            raise self._stop
        return response


def response_of(exchange: Exchange, request: Request) -> Response:
    """Return the Scrapy response of an exchange."""
    return _class_for(exchange.get(b"content-type"))(
        exchange.url,
        status=exchange.status,
        headers=[field for field in exchange.headers if field[0].lower() != b"content-encoding"],
        body=exchange.body,
        request=request,
        ip_address=_address(exchange.address),
        protocol=exchange.head[:8].decode("latin-1"),
    )


def _class_for(content_type: str | None) -> type[Response]:
    mime = media_type(content_type) or ""
    if mime.endswith("+xml"):
        return RESPONSE_CLASSES.get(mime, XmlResponse)
    return RESPONSE_CLASSES.get(mime) or (TextResponse if mime.startswith("text/") else Response)


def _host_of(bind_address: str | tuple[str, int] | None) -> str:
    return bind_address[0] if isinstance(bind_address, tuple) else bind_address or ""
