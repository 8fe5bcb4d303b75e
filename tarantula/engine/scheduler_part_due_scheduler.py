"""Scrapy's scheduler for streams: a source that is due becomes a request when its server's turn comes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request
from scrapy.http import Headers

from tarantula.engine.scheduler_part_turn_scheduler import TurnScheduler

if TYPE_CHECKING:
    from tarantula.streams.reading.reader import StreamReader
    from tarantula.streams.reading.visits import StreamVisit

logger = logging.getLogger(__name__)

SOURCE_CHECK_SECONDS = 0.25
"""Seconds between two looks at the servers that will be needed."""


class StreamScheduler(TurnScheduler):
    """Never comes to an end: there is always a source that will be due."""

    @property
    def reader(self) -> StreamReader:
        """Whoever reads."""
        return cast("StreamReader", self.collection)

    def open(self, spider: Any) -> None:
        """Begin to read."""
        self._loop = asyncio.get_running_loop()
        self._headers = Headers(self.spider.request_headers())
        self.reader.begin(self._loop, self.work_came)
        self._tick()

    def close(self, reason: str) -> None:
        """Stop waiting for anything."""
        super().close(reason)
        self._ticking.cancel()

    def has_pending_requests(self) -> bool:
        return True

    def enqueue_request(self, request: Request) -> bool:
        """Take a request whose time has come; nobody else's is taken."""
        if "entry" not in request.meta:
            logger.warning("Only sources are read here: %s was left out.", request)
            return False
        self._due.append(request)
        return True

    def take_turn(self) -> Request | None:
        """Return a request for the sources whose turn it is."""
        visit = self.reader.next()
        return self._request(visit) if visit is not None else None

    def next_turn(self) -> float | None:
        """When the next visit may be."""
        return self.reader.next_time()

    def _tick(self) -> None:
        self._ticking = self._loop.call_later(SOURCE_CHECK_SECONDS, self._tick)
        self.reader.tick()
        self.publish()
        if self.reader.keeper.failure is not None:
            self.stop(self.reader.keeper.failure)
        self.work_came()

    def _request(self, visit: StreamVisit) -> Request:
        config = visit.config
        request = Request(
            visit.url,
            method=visit.sent.method,
            body=visit.sent.body,
            callback=self.spider.parse,
            errback=self.spider.failed,
            headers=self._headers,
            dont_filter=True,
            meta={
                "entry": visit,
                "download_slot": visit.server,
                "download_timeout": config.timeout,
                "download_maxsize": config.max_size,
                "verbatim_url": True,
                "allow_private": visit.may_be_private,
                "ignores_robots": not config.robots,
            },
        )
        request.headers.update({**visit.sent.fields, **visit.conditions})
        return request
