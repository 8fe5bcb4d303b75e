"""What every Scrapy component of ours has: the crawler, and through it the collection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, cast

from tarantula.core.errors import TarantulaError

if TYPE_CHECKING:
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler

    from tarantula.crawl.collection import Collection
    from tarantula.spiders.publication import PublicationSpider


class Component:
    """Keeps the crawler; all else is asked of it when it is needed."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    @property
    def spider(self) -> PublicationSpider:
        """The spider that is running."""
        return cast("PublicationSpider", self.crawler.spider)

    @property
    def engine(self) -> ExecutionEngine:
        """The engine that runs it."""
        assert self.crawler.engine is not None
        return self.crawler.engine

    @property
    def collection(self) -> Collection:
        """The stages of this collection."""
        return self.spider.collection

    def stop(self, error: TarantulaError) -> None:
        """End the collection, which cannot go on."""
        if self.collection.trouble is None:
            self.collection.trouble = error
            self._closing = asyncio.ensure_future(self.engine.close_spider_async(reason="store_failed"))

    def count(self, stat: str, number: int = 1) -> None:
        """Add to a stat, which `publish` shows to others."""
        self.collection.counts[stat] += number

    def publish(self) -> None:
        """Hand what was counted to Scrapy's stats: one by one it would cost as much as a download."""
        assert self.crawler.stats is not None
        for stat, number in self.collection.counts.items():
            self.crawler.stats.set_value(stat, number)
