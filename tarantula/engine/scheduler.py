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
from tarantula.crawl.responses import rewritten_document
from tarantula.engine.component import Component
from tarantula.items import FrontierEntry
from tarantula.links.link import LinkKind

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tarantula.crawl.collection import Collection
    from tarantula.publications.config import PublicationConfig
    from tarantula.streams.reading.reader import StreamReader
    from tarantula.streams.reading.visits import StreamVisit
    from tarantula.streams.sources.config import SourceConfig


class TurnScheduler(Component, BaseScheduler):
    """Base of the schedulers: wakes an idle engine when the next request is due."""

    collection: Collection | StreamReader
    _tick_timer: asyncio.TimerHandle

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        self._queue: deque[Request] = deque()
        self._is_idle = False
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0

    @abstractmethod
    def take_turn(self) -> Request | None:
        """Return the next request that may be sent now, if there is one."""

    @abstractmethod
    def _tick(self) -> None:
        """Look after the work at an interval; sets its own timer."""

    @abstractmethod
    def next_turn(self) -> float | None:
        """Return the loop time of the next request, if it is known."""

    def make_request(
        self, entry: FrontierEntry | StreamVisit, config: PublicationConfig | SourceConfig, **fields: Any
    ) -> Request:
        """Return the request of a document or a source, with its limits of time and size."""
        return Request(
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
            **fields,
        )

    def open(self, spider: Any) -> None:
        """Begin the work."""
        self._loop = asyncio.get_running_loop()
        # As pairs, which a request copies in half the time that it takes to copy `Headers`.
        self._headers = list(dict.items(Headers(self.spider.request_headers())))
        self.collection.begin(self._loop, self.on_new_work)
        self._tick()

    def close(self, reason: str) -> None:
        """Cancel timers and tasks."""
        self._tick_timer.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def next_request(self) -> Request | None:
        if self._queue:
            return self._queue.popleft()
        request = self.take_turn()
        if request is None:
            self._is_idle = True
            self._set_timer()
        return request

    def on_new_work(self) -> None:
        """Wake the engine, if it is idle."""
        if self._is_idle:
            self._wake_engine()

    def _set_timer(self) -> None:
        due = self.next_turn()
        if due is None:
            return
        if self._timer is not None:
            if self._timer_at <= due:
                return
            self._timer.cancel()
        self._timer, self._timer_at = asyncio.get_running_loop().call_at(due, self._on_timer), due

    @property
    def is_closing(self) -> bool:
        """Whether the spider is being closed, as soon as its open requests and documents are done."""
        return self.engine._slot is not None and self.engine._slot.closing is not None

    def _on_timer(self) -> None:
        self._timer = None
        self._wake_engine()

    def _wake_engine(self) -> None:
        """Pass a request to an idle engine, which then asks for further ones itself."""
        request = self.take_turn()
        if request is None:
            self._set_timer()
            return
        self._is_idle = False
        self.engine.crawl(request)


LEASE_CHECK_SECONDS = 0.5
"""Interval of the check of the leased servers."""
ROOT_ENTRY = FrontierEntry(id=0, url="", server="", depth=0, kind=LinkKind.NAVIGATION)
"""Stands for the linking document of a request that does not come from a page."""


class FrontierScheduler(TurnScheduler):
    """Turns rows of the frontier into requests when their turn comes."""

    collection: Collection

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, spider: Any) -> None:
        """Begin the collection."""
        self._frontier = self.collection.frontier
        super().open(spider)

    def close(self, reason: str) -> None:
        """Cancel timers and tasks."""
        super().close(reason)
        for work in self._tasks:
            work.cancel()

    def has_pending_requests(self) -> bool:
        return bool(self._queue or self._tasks) or not self._frontier.is_empty()

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request of the frontier; add the URL of any other request to the frontier."""
        entry: FrontierEntry | None = request.meta.get("entry")
        if entry is not None and entry.url != request.url:
            self._run_task(self._rewrite(entry, request))
        elif entry is not None:
            self._queue.append(request)
        else:
            self._run_task(self.collection.discover(ROOT_ENTRY, request.url))
        return True

    async def _rewrite(self, entry: FrontierEntry, request: Request) -> None:
        """Add the URL that a middleware wants to request instead of a document's to the frontier."""
        await self.collection.store(rewritten_document(entry, request.url))
        is_released = "asked" in request.meta and not self.collection.holds(entry)
        if not is_released:
            self._frontier.release(entry, not_before=0.0)

    def take_turn(self) -> Request | None:
        """Return a request for the next waiting document of a server that may be visited now."""
        if not self.collection.writer.has_leases:
            return None
        entry = self._frontier.next(self._loop.time())
        return self._request(entry) if entry is not None else None

    def next_turn(self) -> float | None:
        """Return the loop time at which the first pause ends."""
        return self._frontier.next_due() if self.collection.writer.has_leases else None

    def _request(self, entry: FrontierEntry) -> Request:
        self.collection.writer.started(entry)
        if self._frontier.is_dry:
            self._run_task(self.collection.refill())
        request = self.make_request(entry, self.collection.config)
        if entry.earlier is not None and (conditions := entry.earlier.conditions):
            request.headers.update(conditions)
            request.meta["recall"] = partial(self.collection.recall, entry)
        return request

    def _tick(self) -> None:
        """Return unneeded leases, and look for more work if the engine is idle."""
        self._tick_timer = self._loop.call_later(LEASE_CHECK_SECONDS, self._tick)
        self.publish()
        if self.is_closing:
            self.collection.writer.stop_waiting()
        self.collection.tidy()
        if not self._tasks and (self._is_idle or self._frontier.is_empty()):
            self._run_task(self.collection.look_for_more())

    def _run_task(self, work: Awaitable[None]) -> None:
        task = self._loop.create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self.has_pending_requests() and self.engine._slot is not None:
            # Otherwise the engine would notice the end at its next heartbeat, up to five seconds later.
            self.engine._slot.nextcall.schedule()

    async def _run(self, work: Awaitable[None]) -> None:
        try:
            await work
        except TarantulaError as error:
            self.stop(error)
        self.on_new_work()


logger = logging.getLogger(__name__)

SOURCE_CHECK_SECONDS = 0.25
"""Interval of the check for servers that will be needed."""


class StreamScheduler(TurnScheduler):
    """Turns sources that are due into requests. Never ends by itself."""

    collection: StreamReader

    def has_pending_requests(self) -> bool:
        return True

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request of the reader; drop any other."""
        if "entry" not in request.meta:
            logger.warning("Only sources are read here: %s was dropped.", request)
            return False
        self._queue.append(request)
        return True

    def take_turn(self) -> Request | None:
        """Return a request for the sources that are due."""
        visit = self.collection.next()
        return self._request(visit) if visit is not None else None

    def next_turn(self) -> float | None:
        """Return the loop time of the next visit."""
        return self.collection.next_time()

    def _tick(self) -> None:
        self._tick_timer = self._loop.call_later(SOURCE_CHECK_SECONDS, self._tick)
        self.collection.tick()
        self.publish()
        if self.is_closing:
            self.collection.writer.stop_waiting()
        if self.collection.writer.failure is not None:
            self.stop(self.collection.writer.failure)
        self.on_new_work()

    def _request(self, visit: StreamVisit) -> Request:
        request = self.make_request(visit, visit.config, method=visit.sent.method, body=visit.sent.body)
        request.meta.update(egress=self.collection.egress_of(visit), ignores_robots=not visit.config.robots)
        request.headers.update({**visit.sent.fields, **visit.conditions})
        return request
