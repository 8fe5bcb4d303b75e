"""Scrapy's downloader without its slots: the frontier alone decides when a server is visited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.core.downloader import Downloader
from twisted.internet.defer import Deferred

from tarantula.engine.component import Component

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class FrontierDownloader(Component, Downloader):
    """Sends a request as soon as its middlewares let it pass; Scrapy's own would queue it once more, for its server."""

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        Downloader.__init__(self, crawler)

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        """Take a request through the middlewares, to its server and back."""
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
