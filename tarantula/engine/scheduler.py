"""Scrapy schedulers on top of the frontier and of the stream reader: they push a request when its turn comes."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.http import Headers

from tarantula.core.errors import TarantulaError
from tarantula.engine.component import Component
from tarantula.items import FrontierEntry
from tarantula.links.link import LinkKind

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tarantula.crawl.collection import Collection
    from tarantula.streams.reading.reader import StreamReader
    from tarantula.streams.reading.visits import StreamVisit


class TurnScheduler(Component, BaseScheduler):
    """Turns whatever may be visited next into a request when its turn comes."""

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        self._due: deque[Request] = deque()
        self._hungry = False
        self._alarm: asyncio.Handle | None = None
        self._rings_at = 0.0

    @abstractmethod
    def take_turn(self) -> Request | None:
        """Return the next request, if something may be visited now."""

    @abstractmethod
    def next_turn(self) -> float | None:
        """When something may be visited, on the loop's clock, if that is known."""

    def close(self, reason: str) -> None:
        """Stop waiting for anything."""
        if self._alarm is not None:
            self._alarm.cancel()

    def next_request(self) -> Request | None:
        if self._due:
            return self._due.popleft()
        request = self.take_turn()
        if request is None:
            self._hungry = True
            self._set_alarm()
        return request

    def work_came(self) -> None:
        """Feed the engine, if it had found nothing to do."""
        if self._hungry:
            self._feed()

    def _set_alarm(self) -> None:
        due = self.next_turn()
        if due is None:
            return
        if self._alarm is not None:
            if self._rings_at <= due:
                return
            self._alarm.cancel()
        self._alarm, self._rings_at = asyncio.get_running_loop().call_at(due, self._ring), due

    def _ring(self) -> None:
        self._alarm = None
        self._feed()

    def _feed(self) -> None:
        """Hand a request to an engine that had found nothing to do; it then asks for the others itself."""
        request = self.take_turn()
        if request is None:
            self._set_alarm()
            return
        self._hungry = False
        self.engine.crawl(request)


LEASE_CHECK_SECONDS = 0.5
"""Seconds between two looks at the servers on lease."""
ROOT_ENTRY = FrontierEntry(id=0, url="", server="", depth=0, kind=LinkKind.NAVIGATION)
"""What stands for the naming document, when a request comes from elsewhere than a page."""


class FrontierScheduler(TurnScheduler):
    """Turns the next waiting row into a request when its turn comes."""

    collection: Collection

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._errands: set[asyncio.Task[None]] = set()

    def open(self, spider: Any) -> None:
        """Read what waits for the item."""
        self._loop = asyncio.get_running_loop()
        self._frontier = self.collection.frontier
        self._headers = Headers(self.spider.request_headers())
        self.collection.begin(self._loop, self.work_came)
        self._tick()

    def close(self, reason: str) -> None:
        """Stop waiting for anything."""
        super().close(reason)
        self._ticking.cancel()
        for errand in self._errands:
            errand.cancel()

    def has_pending_requests(self) -> bool:
        return bool(self._due or self._errands) or not self._frontier.is_empty()

    def enqueue_request(self, request: Request) -> bool:
        """Take a request whose time has come, or a URL that somebody added by hand."""
        if "entry" in request.meta:
            self._due.append(request)
        else:
            self._run_errand(self.collection.discover(ROOT_ENTRY, request.url))
        return True

    def take_turn(self) -> Request | None:
        """Return a request for the next waiting document of a server that may be visited now."""
        if not self.collection.writer.has_leases:
            return None
        entry = self._frontier.next(self._loop.time())
        return self._request(entry) if entry is not None else None

    def next_turn(self) -> float | None:
        """When the first pause is over."""
        return self._frontier.next_due() if self.collection.writer.has_leases else None

    def _request(self, entry: FrontierEntry) -> Request:
        self.collection.writer.started(entry)
        if self._frontier.is_dry:
            self._run_errand(self.collection.refill())
        config = self.collection.config
        request = Request(
            entry.url,
            callback=self.spider.callback,
            errback=self.spider.failed,
            headers=self._headers,
            dont_filter=True,
            meta={
                "entry": entry,
                "download_slot": entry.server,
                "download_timeout": config.timeout,
                "download_maxsize": config.max_size,
                "verbatim_url": True,
            },
        )
        if entry.earlier is not None and (conditions := entry.earlier.conditions):
            request.headers.update(conditions)
            request.meta["recall"] = partial(self.collection.recall, entry)
        return request

    def _tick(self) -> None:
        """Give back what is not needed, and look for more when there is nothing to do."""
        self._ticking = self._loop.call_later(LEASE_CHECK_SECONDS, self._tick)
        self.publish()
        self.collection.tidy()
        if not self._errands and (self._hungry or self._frontier.is_empty()):
            self._run_errand(self.collection.look_for_more())

    def _run_errand(self, errand: Awaitable[None]) -> None:
        task = self._loop.create_task(self._errand(errand))
        self._errands.add(task)
        task.add_done_callback(self._end_errand)

    def _end_errand(self, task: asyncio.Task[None]) -> None:
        self._errands.discard(task)
        if not self.has_pending_requests() and self.engine._slot is not None:
            # The engine would see that there is nothing left to do at its next heartbeat, in up to five seconds.
            self.engine._slot.nextcall.schedule()

    async def _errand(self, errand: Awaitable[None]) -> None:
        try:
            await errand
        except TarantulaError as error:
            self.stop(error)
        self.work_came()


logger = logging.getLogger(__name__)

SOURCE_CHECK_SECONDS = 0.25
"""Seconds between two looks at the servers that will be needed."""


class StreamScheduler(TurnScheduler):
    """Never comes to an end: there is always a source that will be due."""

    collection: StreamReader

    def open(self, spider: Any) -> None:
        """Begin to read."""
        self._loop = asyncio.get_running_loop()
        self._headers = Headers(self.spider.request_headers())
        self.collection.begin(self._loop, self.work_came)
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
        visit = self.collection.next()
        return self._request(visit) if visit is not None else None

    def next_turn(self) -> float | None:
        """When the next visit may be."""
        return self.collection.next_time()

    def _tick(self) -> None:
        self._ticking = self._loop.call_later(SOURCE_CHECK_SECONDS, self._tick)
        self.collection.tick()
        self.publish()
        if self.collection.writer.failure is not None:
            self.stop(self.collection.writer.failure)
        self.work_came()

    def _request(self, visit: StreamVisit) -> Request:
        config = visit.config
        request = Request(
            visit.url,
            method=visit.sent.method,
            body=visit.sent.body,
            callback=self.spider.callback,
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
