"""Item pipelines: store documents (body, metadata and links together) and readings of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tarantula import signals
from tarantula.core.errors import TarantulaError
from tarantula.crawl.responses import retry_entry
from tarantula.engine.component import Component
from tarantula.items import CollectedDocument

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tarantula.crawl.collection import Collection
    from tarantula.streams.reading.reader import StreamReader


class KeepPipeline(Component):
    """Stores readings of sources; passes other items on."""

    collection: StreamReader
    stores_items = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Imported here: collections load this module, and need nothing of streams.
        from tarantula.streams.reading.visits import ReadAttempt

        self._attempt_class = ReadAttempt

    async def process_item(self, item: Any) -> Any:
        """Store a reading; returns after the commit."""
        if not isinstance(item, self._attempt_class):
            return item
        try:
            await self.collection.store(item)
        except TarantulaError as error:
            self.stop(error)
        return item


class StorePipeline(Component):
    """Stores documents; passes other items on."""

    collection: Collection
    stores_items = True

    async def process_item(self, item: Any) -> Any:
        """Store a document; returns after the commit."""
        self.count("item_scraped_count")
        if not isinstance(item, CollectedDocument):
            return item
        retry = retry_entry(item, self.collection.politeness)
        try:
            await self.collection.store(item)
        except TarantulaError as error:
            self.stop(error)
            return item
        if retry is not None:
            self.collection.frontier.again(retry)
        if self.collection.frontier.is_empty():
            await self.collection.look_for_work()
        self._count(item)
        self.crawler.signals.send_catch_log(signals.document_stored, document=item, spider=self.spider)
        return item

    def _count(self, document: CollectedDocument) -> None:
        self.count(f"document/state_count/{document.state}")
        self.count("document/link_count", len(document.links))
        if document.exchange is not None:
            self.count("document/bytes", document.size or 0)
            if document.exchange.not_modified is not None:
                self.count("document/not_modified_count")
