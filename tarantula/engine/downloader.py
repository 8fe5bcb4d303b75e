"""Scrapy's downloader without its slots, and the download handler for http and https."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, lru_cache
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

from tarantula.core.config import Config
from tarantula.core.process import connection_limit, trim_memory
from tarantula.core.reasons import Reason
from tarantula.core.states import Shortage
from tarantula.crawl.shortage import MEMORY_CHECK_SECONDS, MemoryWatch, ResourceShortage
from tarantula.engine.component import Component
from tarantula.fetch.client import HttpClient
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import (
    DownloadError,
    Exchange,
    FetchAbandoned,
    FetchRequest,
    LocalResourceError,
    ResponseHead,
    launch_error,
)
from tarantula.fetch.media_types import media_type
from tarantula.fetch.names import NameLookup, Resolver
from tarantula.signals import collection_over, memory_low

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


MAX_WAITING_REQUESTS = 2000
"""Requests that may wait for a name or for robots.txt, in addition to those that are sent."""

_resolvers: dict[Crawler, Resolver] = {}


def resolver_of(crawler: Crawler) -> Resolver:
    """Return the resolver of a crawler, which its downloader and download handlers share."""
    if crawler not in _resolvers:
        _resolvers[crawler] = Resolver(NameLookup(Config().dns_servers))
    return _resolvers[crawler]


class FrontierDownloader(Component, Downloader):
    """Sends a request as soon as the middlewares have passed it, without Scrapy's queue for each server.

    The frontier alone decides when a server is visited.
    """

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        Downloader.__init__(self, crawler)
        self._shortage = ResourceShortage(concurrent_requests(crawler.settings))
        self._memory = MemoryWatch(Config().min_memory)
        self._waiting = 0
        resolver_of(crawler).waiting = self._waiting_for_name

    def needs_backout(self) -> bool:
        """Whether no further request may be sent now."""
        if self._memory.has_changed():
            self._note_memory()
        return self._memory.is_low or self._sent >= self._shortage.limit or self._shortage.is_pausing

    @property
    def _sent(self) -> int:
        return len(self.active) - min(self._waiting, MAX_WAITING_REQUESTS)

    @contextmanager
    def without_slot(self) -> Iterator[None]:
        """Let another request be sent while one waits for a name, or for the robots.txt of its server."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def _waiting_for_name(self) -> AbstractContextManager[None]:
        self._wake_engine()
        return self.without_slot()

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
            if self._shortage.is_on:
                self._shortage.answered()
                self._show_shortage()
            send(signals.response_downloaded, response=response, request=request, spider=spider)
            return response
        except LocalResourceError as error:
            self._pause(error)
            raise
        except MemoryError as error:
            # A try is counted, unlike those of other shortages: the document itself may be too large for this machine.
            reason = Reason.of("memory_of_machine")
            self._pause(LocalResourceError(reason, Shortage.MEMORY))
            raise DownloadError(reason) from error
        finally:
            send(signals.request_left_downloader, request=request, spider=spider)

    def _pause(self, error: LocalResourceError) -> None:
        if not self._shortage.is_on:
            self.count("shortage/episode_count")
        self.count("shortage/postponed_count")
        seconds = self._shortage.began(error, self._sent)
        self._show_shortage()
        # Otherwise the engine would continue at its next heartbeat, up to five seconds later.
        asyncio.get_running_loop().call_later(seconds, self._wake_engine)

    def _note_memory(self) -> None:
        """Free memory when it becomes low, and look again soon; requests that are open end as usual."""
        if self._memory.is_low:
            self.count("shortage/episode_count")
            self.crawler.signals.send_catch_log(memory_low)
            trim_memory()
            self._check_memory_soon()
        self._show_shortage()

    def _check_memory_soon(self) -> None:
        self._wake_engine()
        if self._memory.is_low:
            asyncio.get_running_loop().call_later(MEMORY_CHECK_SECONDS, self._check_memory_soon)

    def _show_shortage(self) -> None:
        self.collection.writer.shortage = Shortage.MEMORY if self._memory.is_low else self._shortage.cause

    def _wake_engine(self) -> None:
        if self.engine._slot is not None:
            self.engine._slot.nextcall.schedule()


def concurrent_requests(settings: BaseSettings) -> int:
    """Return how many requests may be open at a time: at most half of the connections that this process may have."""
    most = max(connection_limit() // 2, 1)
    return min(settings.getint("CONCURRENT_REQUESTS") or most, most)


MAX_IDLE_CONNECTIONS = 256
NOT_MODIFIED = 304
CONDITIONAL_HEADERS = frozenset({b"if-none-match", b"if-modified-since"})
BROWSER_LAUNCH = "BrowserType.launch"
"""Beginning of Playwright's message about a browser that could not be started."""
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
        self._browser = BrowserHandler.of(crawler)
        self._active_tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False
        crawler.signals.connect(self._cancel_downloads, collection_over)
        crawler.signals.connect(self._close_idle, memory_low)

    @cached_property
    def _client(self) -> HttpClient:
        """The client, made with the first request: ``scrapy shell`` has no spider before."""
        settings = self.crawler.settings
        # The other connections may be idle; there are two handlers.
        most_idle = (connection_limit() - concurrent_requests(settings)) // 2
        return HttpClient(
            policy=EgressPolicy.of(Config()),
            max_idle=min(MAX_IDLE_CONNECTIONS, most_idle),
            verify=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
            bind_address=_host_of(settings.get("DOWNLOAD_BIND_ADDRESS")),
            resolver=resolver_of(self.crawler),
        )

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
        """Close all connections, the resolver and the browser."""
        await self._client.close()
        if (resolver := _resolvers.pop(self.crawler, None)) is not None:
            await resolver.close()
        await self._browser.close()

    def _close_idle(self) -> None:
        self._client.close_idle()

    def _cancel_downloads(self) -> None:
        self._is_over = True
        for task in self._active_tasks:
            task.cancel()

    async def _fetch(self, request: Request) -> Exchange:
        """Send the request; after a 304 return the previous capture, or send it again without conditions."""
        ask = self._ask(request)
        exchange = await self._client.fetch(ask)
        recall = request.meta.get("recall")
        if exchange.status != NOT_MODIFIED or recall is None:
            return exchange
        earlier: Exchange | None = await recall(exchange)
        if earlier is None:
            ask.headers = [field for field in ask.headers if field[0].lower() not in CONDITIONAL_HEADERS]
            return await self._client.fetch(ask)
        return earlier

    def _ask(self, request: Request) -> FetchRequest:
        meta = request.meta
        return FetchRequest(
            request.url,
            # Of a dict: the method of `Headers` copies every list.
            headers=[(name, value) for name, values in dict.items(request.headers) for value in values],
            method=request.method,
            body=request.body,
            timeout=meta.get("download_timeout", self._timeout),
            max_size=meta.get("download_maxsize", self._max_size),
            on_head=self._on_head(request),
            proxy=meta.get("proxy") or "",
            # A server may have been accepted since the last request.
            policy=meta.get("egress") or getattr(self.crawler.spider, "egress", None),
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
        """Open a page in the browser; raise `LocalResourceError` if it could not be started for want of something."""
        try:
            async with self._starting:
                if self._handler is None:
                    self._handler = await self._start()
            response: Response = await self._handler.download_request(request)
        except Exception as error:
            # The message of Playwright has that of the browser.
            if isinstance(error, OSError) or BROWSER_LAUNCH in str(error):
                raise launch_error(error) or error from error
            raise
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
