"""Base of the project's Scrapy components, and the state that they share during a crawl."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.fetch.politeness import Politeness
from tarantula.store.commit_group import GroupCommitThread

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class RequestLimits(Protocol):
    """Limits of requests that are not made for a document or a source, such as robots.txt."""

    @property
    def robots(self) -> bool: ...
    @property
    def timeout(self) -> float: ...
    @property
    def max_size(self) -> int: ...


class ServerPauses(Protocol):
    """The queue that decides when a server may be visited."""

    def postpone(self, server: str, not_before: float) -> None:
        """Extend the pause of a server after a request that did not come from the queue."""

    def release(self, entry: Any, not_before: float) -> None:
        """End a visit; the server may be visited again at *not_before*, on the loop's clock."""


class CrawlSession(Protocol):
    """State of a running crawl: a `Collection` of an item, or the `StreamReader`."""

    installation: Config
    database: Database
    politeness: Politeness
    counts: Counter[str]
    trouble: TarantulaError | None

    @property
    def writer(self) -> GroupCommitThread[Any, Any]: ...
    @property
    def config(self) -> RequestLimits: ...
    @property
    def frontier(self) -> ServerPauses: ...

    def holds(self, entry: Any) -> bool:
        """Whether the server stays occupied after the response, until a browser has rendered the page."""

    def release(self, entry: Any) -> None:
        """End a visit, and start the pause of its server."""


class SessionSpider(Protocol):
    """What components use of a spider."""

    @property
    def settings(self) -> BaseSettings: ...
    @property
    def collection(self) -> CrawlSession: ...
    @property
    def callback(self) -> Callable[..., Any]: ...
    @property
    def failed(self) -> Callable[..., Any]: ...

    def request_headers(self) -> dict[str, str]:
        """Return the headers of every request."""

    def side_request(self, url: str, server: str) -> Request:
        """Return a request for something other than a document or a source, such as robots.txt."""


class Component:
    """Keeps the crawler, and reads everything else from it when it is needed.

    A component that runs only in collections, or only with streams, declares the type of its `collection`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    @property
    def spider(self) -> SessionSpider:
        return cast("SessionSpider", self.crawler.spider)

    @property
    def engine(self) -> ExecutionEngine:
        assert self.crawler.engine is not None
        return self.crawler.engine

    @property
    def collection(self) -> CrawlSession:
        """State of the crawl."""
        return self.spider.collection

    def stop(self, error: TarantulaError) -> None:
        """Close the spider because of an error, once."""
        if self.collection.trouble is None:
            self.collection.trouble = error
            self._closing = asyncio.ensure_future(self.engine.close_spider_async(reason="store_failed"))

    def count(self, stat: str, number: int = 1) -> None:
        """Add to a counter, which `publish` copies to Scrapy's stats."""
        self.collection.counts[stat] += number

    def publish(self) -> None:
        """Copy the counters to Scrapy's stats; updating those directly would cost as much as a download."""
        assert self.crawler.stats is not None
        for stat, number in self.collection.counts.items():
            self.crawler.stats.set_value(stat, number)
