"""What surrounds a collection: the life of its item, and care for documents that lost their way."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions.corestats import CoreStats as ScrapyCoreStats

from tarantula.core.process import collect_and_freeze
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import DocumentState
from tarantula.crawl.responses import failed_document
from tarantula.crawl.terminal import TerminalProgress
from tarantula.engine.component import Component
from tarantula.fetch.errors import RefusedByRule
from tarantula.items import CollectedDocument
from tarantula.lifecycle.coordinator import end_item
from tarantula.signals import collection_over, document_stored
from tarantula.streams.ingest.maintenance import StreamMaintenance

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from tarantula.crawl.collection import Collection
    from tarantula.streams.reading.reader import StreamReader


INTERRUPTION_REASONS = {
    "shutdown": ItemReason.STOPPED,
    "cancelled": ItemReason.STOPPED,
    "closespider_timeout": ItemReason.DEADLINE,
}
"""Reason of the item by Scrapy's reason for closing the spider."""
COLLECTION_OVER = "collection_over"
STOP_CHECK_SECONDS = 0.2
"""Seconds between two looks at whether the item may be collected any longer; the database is asked at every beat."""


class CoreStats(ScrapyCoreStats):
    """Scrapy's own, but what comes with every document is counted where it is stored, without a signal."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler.stats)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.item_dropped, signals.item_dropped)
        return extension


class ItemLife(Component):
    """Ends the spider when its item may not go on, and the item when its spider ends."""

    collection: Collection

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Begin to look at the clock, and at what the database says."""
        collect_and_freeze()
        self._over: Reason | None = None
        self._look()

    def _look(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(STOP_CHECK_SECONDS, self._look)
        self._over = self.collection.over
        if self._over is not None:
            self._looking.cancel()
            self.crawler.signals.send_catch_log(collection_over)
            self._closing = asyncio.ensure_future(self.engine.close_spider_async(reason=COLLECTION_OVER))

    def spider_closed(self, reason: str) -> None:
        """Convert or archive what is finished; what is not is interrupted, with the reason."""
        self._looking.cancel()
        for rule, number in self.collection.discovery.refused.items():
            self.count(f"scope/rejected_count/{rule}", number)
        self.publish()
        end_item(self.collection, self._interruption(reason))

    def _interruption(self, close_reason: str) -> Reason | None:
        if self.collection.trouble is not None:
            return Reason.of(ItemReason.ERROR, error=str(self.collection.trouble))
        if close_reason == COLLECTION_OVER:
            return self._over
        if close_reason == "finished":
            return None
        if close_reason in INTERRUPTION_REASONS:
            return Reason.of(INTERRUPTION_REASONS[close_reason])
        return Reason.of(ItemReason.SPIDER_CLOSED, close_reason=close_reason)


class ReadingLife(Component):
    """Begins and ends whoever reads streams, and does not outlive the process beside which it runs."""

    collection: StreamReader

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Begin to look at whether there is a reason to end."""
        collect_and_freeze()
        self._parent = self.crawler.settings.getint("TARANTULA_BESIDE")
        self._maintenance = StreamMaintenance(self.collection.installation, self.collection.database)
        self._maintenance.start()
        self._look()

    def _look(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(STOP_CHECK_SECONDS, self._look)
        self._maintenance.is_enabled = self.collection.is_reading
        slot = self.engine._slot
        if slot is not None and slot.closing is not None:
            # Whatever is under way would keep it from ending; it is read again by whoever comes next.
            self._looking.cancel()
            self.crawler.signals.send_catch_log(collection_over)
        elif self.collection.is_done:
            self._end("finished")
        elif self._parent and os.getppid() != self._parent:
            self.crawler.signals.send_catch_log(collection_over)
            self._end(COLLECTION_OVER)

    def _end(self, reason: str) -> None:
        self._looking.cancel()
        self._closing = asyncio.ensure_future(self.engine.close_spider_async(reason=reason))

    def spider_closed(self) -> None:
        """Keep what is left."""
        self._looking.cancel()
        self._maintenance.close()
        self.publish()
        self.collection.end()
        self.collection.database.close()


class ProgressDisplay(Component):
    """Draws a collection while it runs, in a terminal; elsewhere it prints a line now and then."""

    collection: Collection

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not crawler.settings.getbool("TARANTULA_PROGRESS"):
            raise NotConfigured
        self._console = Console(stderr=True)
        self._live: Live | None = None
        self._loop: asyncio.TimerHandle | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.document_stored, document_stored)
        return extension

    def spider_opened(self) -> None:
        """Begin to draw."""
        self._progress = TerminalProgress(
            self.collection.urn, self.collection.frontier, lambda: self.collection.standing
        )
        if self._console.is_terminal:
            self._live = Live(self._progress.draw(), console=self._console, auto_refresh=False)
            self._live.start()
        self._draw()

    def document_stored(self, document: CollectedDocument) -> None:
        """Count it."""
        self._progress.stored(document)

    def spider_closed(self) -> None:
        """Draw once more, and stop."""
        if self._loop is not None:
            self._loop.cancel()
        if self._live is not None:
            self._live.update(self._progress.draw(), refresh=True)
            self._live.stop()
        else:
            self._console.print(self._progress.line(), highlight=False, soft_wrap=True)

    def _draw(self) -> None:
        if self._live is not None:
            self._live.update(self._progress.draw(), refresh=True)
        elif self._progress.done or self.collection.standing is not None:
            self._console.print(self._progress.line(), highlight=False, soft_wrap=True)
        seconds = 0.5 if self._live is not None else 10.0
        self._loop = asyncio.get_running_loop().call_later(seconds, self._draw)


class LostDocuments(Component):
    """Gives a state to documents that a pipeline dropped, or that met an error in code of one's own."""

    collection: Collection

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.item_dropped, signals.item_dropped)
        crawler.signals.connect(extension.item_error, signals.item_error)
        crawler.signals.connect(extension.spider_error, signals.spider_error)
        return extension

    def item_dropped(self, item: Any, exception: Exception) -> None:
        """A refusal is ``DropItem("why")``."""
        if isinstance(item, CollectedDocument):
            self._store(item, DocumentState.OVER_LIMIT, f"A pipeline dropped it: {exception}.", "DropItem")

    def item_error(self, item: Any, failure: Failure) -> None:
        """A pipeline failed."""
        if isinstance(item, CollectedDocument):
            self._store(item, DocumentState.SYSTEM_ERROR, f"A pipeline failed: {failure.value!r}.", "PipelineError")

    def spider_error(self, failure: Failure, response: Any) -> None:
        """The spider, or a spider middleware, failed before there was a document."""
        request = getattr(response, "request", None)
        if request is not None and "entry" in request.meta:
            document = CollectedDocument(request.meta["entry"], 0, "")
            self._store(document, DocumentState.SYSTEM_ERROR, f"The spider failed: {failure.value!r}.", "SpiderError")

    def _store(self, document: CollectedDocument, state: DocumentState, reason: str, rule: str) -> None:
        refused = failed_document(document.entry, RefusedByRule(state, reason, rule), datetime.now(UTC))
        asyncio.ensure_future(self.collection.store(refused))  # noqa: RUF006  ends before the writer does
