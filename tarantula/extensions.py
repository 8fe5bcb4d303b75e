"""Scrapy extensions: end an item or a stream reader, show progress, give a state to dropped documents."""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from rich.live import Live
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions.corestats import CoreStats as ScrapyCoreStats

from tarantula.core.errors import DatabaseUnreachableError
from tarantula.core.output import SafeConsole
from tarantula.core.process import collect_and_freeze
from tarantula.core.reasons import ItemReason, Reason, as_reason
from tarantula.core.registry import ComponentError
from tarantula.core.states import DocumentState
from tarantula.core.termination import EXIT_TERMINATED, is_terminating
from tarantula.crawl.responses import failed_document
from tarantula.crawl.terminal import TerminalProgress
from tarantula.engine.blame import error_text
from tarantula.engine.component import Component
from tarantula.fetch.exchange import RefusedByRule
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.lifecycle.coordinator import end_item, hand_over_item
from tarantula.signals import collection_over, document_stored, memory_low

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from tarantula.crawl.collection import Collection
    from tarantula.streams.reading.reader import StreamReader

logger = logging.getLogger(__name__)

INTERRUPTION_REASONS = {
    # Ctrl-C: SIGTERM does not reach Scrapy.
    "shutdown": ItemReason.STOPPED,
    "cancelled": ItemReason.STOPPED,
    "closespider_timeout": ItemReason.DEADLINE,
}
"""Reason of the item by Scrapy's reason for closing the spider."""
COLLECTION_OVER = "collection_over"
STOP_CHECK_SECONDS = 0.2
"""Interval of the check whether the collection must end; the database is read with each heartbeat."""
OPEN_REQUESTS_SECONDS = 2.0
"""Time that open requests have to end when an item is handed over: those that are cancelled are made twice."""
HANDOVER_SECONDS = 8.0
"""Time after which a collector that hands its item over no longer waits for open requests and pages."""


class CoreStats(ScrapyCoreStats):
    """Scrapy's core stats, without signals for each document: these are counted where documents are stored."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler.stats)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.item_dropped, signals.item_dropped)
        return extension


class ItemLife(Component):
    """Closes the spider when its item must end, and ends the item when the spider is closed."""

    collection: Collection

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Start the check whether the collection must end."""
        collect_and_freeze()
        self._over_reason: Reason | None = None
        self._hands_over = False
        self._cancel_timer: asyncio.TimerHandle | None = None
        self.crawler.signals.connect(self.collection.discovery.forget, memory_low)
        self._check()

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        self._over_reason = self.collection.over
        self._hands_over = self._over_reason is None and (is_terminating() or self.collection.is_drained)
        if self._over_reason is None and not self._hands_over:
            self._check_timer: asyncio.TimerHandle | None = loop.call_later(STOP_CHECK_SECONDS, self._check)
            return
        self._check_timer = None
        if self._hands_over:
            logger.info("%s is left to the next collector.", self.collection.urn)
            self._cancel_timer = loop.call_later(OPEN_REQUESTS_SECONDS, self._cancel_requests)
            self._check_timer = loop.call_later(HANDOVER_SECONDS, self._leave_at_once)
        else:
            self._cancel_requests()
        self._closing = asyncio.ensure_future(self.engine.close_spider_async(reason=COLLECTION_OVER))

    def _cancel_requests(self) -> None:
        self.crawler.signals.send_catch_log(collection_over)

    def spider_closed(self, reason: str) -> None:
        """End the item: converting or archived if it is complete, handed over, or interrupted with a reason."""
        for timer in (self._check_timer, self._cancel_timer):
            if timer is not None:
                timer.cancel()
        for rule, number in self.collection.discovery.refused.items():
            self.count(f"scope/rejected_count/{rule}", number)
        self.publish()
        trouble = self.collection.trouble
        if isinstance(trouble, DatabaseUnreachableError):
            # Documents that could not be stored wait again; only a user's stop interrupts the item.
            is_left = reason not in INTERRUPTION_REASONS
        else:
            is_left = self._hands_over and reason == COLLECTION_OVER and trouble is None
        if is_left:
            hand_over_item(self.collection)
        else:
            end_item(self.collection, self._interruption(reason))

    def _leave_at_once(self) -> None:
        """Hand the item over and exit, although a request or a page does not end."""
        logger.warning("%s: open requests did not end in %g s and are left.", self.collection.urn, HANDOVER_SECONDS)
        hand_over_item(self.collection)
        logging.shutdown()
        os._exit(EXIT_TERMINATED)

    def _interruption(self, close_reason: str) -> Reason | None:
        if close_reason in INTERRUPTION_REASONS and isinstance(self.collection.trouble, DatabaseUnreachableError):
            return Reason.of(INTERRUPTION_REASONS[close_reason])
        if self.collection.trouble is not None:
            return Reason.of(ItemReason.ERROR, error=str(self.collection.trouble))
        if close_reason == COLLECTION_OVER:
            return self._over_reason
        if close_reason == "finished":
            return None
        if close_reason in INTERRUPTION_REASONS:
            return Reason.of(INTERRUPTION_REASONS[close_reason])
        return Reason.of(ItemReason.SPIDER_CLOSED, close_reason=close_reason)


class ReadingLife(Component):
    """Starts and ends the stream reader; ends it when its parent process has exited."""

    collection: StreamReader

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Start housekeeping and the check whether the reader must end."""
        # Imported here: collections have these extensions, too, and need none of it.
        from tarantula.streams.ingest.failures import StreamMaintenance

        collect_and_freeze()
        self._parent = self.crawler.settings.getint("TARANTULA_BESIDE")
        self._maintenance = StreamMaintenance(self.collection.installation, self.collection.database)
        self._maintenance.start()
        self._check()

    def _check(self) -> None:
        self._check_timer = asyncio.get_running_loop().call_later(STOP_CHECK_SECONDS, self._check)
        self._maintenance.is_enabled = self.collection.is_reading
        slot = self.engine._slot
        if slot is not None and slot.closing is not None:
            # Open requests would delay the end; the next reader repeats them.
            self._check_timer.cancel()
            self.crawler.signals.send_catch_log(collection_over)
        elif self.collection.is_done:
            self._end("finished")
        elif is_terminating() or self.collection.is_drained or (self._parent and os.getppid() != self._parent):
            self.crawler.signals.send_catch_log(collection_over)
            self._end(COLLECTION_OVER)

    def _end(self, reason: str) -> None:
        self._check_timer.cancel()
        self._closing = asyncio.ensure_future(self.engine.close_spider_async(reason=reason))

    def spider_closed(self) -> None:
        """Store pending readings."""
        self._check_timer.cancel()
        self._maintenance.close()
        self.publish()
        self.collection.end()
        self.collection.database.close()


class ProgressDisplay(Component):
    """Shows the progress as a live table in a terminal, or as a line every ten seconds elsewhere."""

    collection: Collection

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not crawler.settings.getbool("TARANTULA_PROGRESS"):
            raise NotConfigured
        self._console = SafeConsole(stderr=True)
        self._live: Live | None = None
        self._refresh_timer: asyncio.TimerHandle | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.document_stored, document_stored)
        return extension

    def spider_opened(self) -> None:
        """Start the display."""
        self._progress = TerminalProgress(
            self.collection.urn, self.collection.frontier, lambda: self.collection.visit_progress
        )
        if self._console.is_terminal:
            self._live = Live(
                self._progress.table(),
                console=self._console,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._refresh()

    def document_stored(self, document: CollectedDocument) -> None:
        """Count a document."""
        self._progress.stored(document)

    def spider_closed(self) -> None:
        """Show the final progress, and stop."""
        if self._refresh_timer is not None:
            self._refresh_timer.cancel()
        if self._live is not None:
            self._live.update(self._progress.table(), refresh=True)
            self._live.stop()
        else:
            self._console.print(self._progress.line(), soft_wrap=True)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._progress.table(), refresh=True)
        elif self._progress.done or self.collection.visit_progress is not None:
            self._console.print(self._progress.line(), soft_wrap=True)
        seconds = 0.5 if self._live is not None else 10.0
        self._refresh_timer = asyncio.get_running_loop().call_later(seconds, self._refresh)


class LostDocuments(Component):
    """Gives a state to documents that a pipeline dropped, or that custom code failed on."""

    collection: Collection

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.item_dropped, signals.item_dropped)
        crawler.signals.connect(extension.item_error, signals.item_error)
        crawler.signals.connect(extension.spider_error, signals.spider_error)
        return extension

    def item_dropped(self, item: Any, exception: Exception) -> None:
        """Store a document that a pipeline refused with ``DropItem("why")``."""
        if isinstance(item, CollectedDocument):
            reason = Reason.of("dropped_by_pipeline", why=str(exception))
            self._store(item.entry, DocumentState.OVER_LIMIT, reason, "DropItem")

    def item_error(self, item: Any, failure: Failure) -> None:
        """Store a document on which a pipeline failed."""
        if isinstance(item, CollectedDocument):
            reason = Reason.of("pipeline_failed", error=self._error_text(failure))
            if isinstance(failure.value, ComponentError):
                # Its sentence names the pipeline.
                reason = as_reason(str(failure.value))
            self._store(item.entry, DocumentState.SYSTEM_ERROR, reason, "PipelineError")

    def spider_error(self, failure: Failure, response: Any) -> None:
        """Store a document for a response on which the spider or a spider middleware failed."""
        request = getattr(response, "request", None)
        if request is not None and "entry" in request.meta:
            reason = Reason.of("spider_failed", error=self._error_text(failure))
            self._store(request.meta["entry"], DocumentState.SYSTEM_ERROR, reason, "SpiderError")

    def _error_text(self, failure: Failure) -> str:
        assert failure.value is not None
        return error_text(failure.value, self.crawler.settings)

    def _store(self, entry: FrontierEntry, state: DocumentState, reason: Reason, rule: str) -> None:
        refused = failed_document(entry, RefusedByRule(state, reason, rule), datetime.now(UTC))
        asyncio.ensure_future(self.collection.store(refused))  # noqa: RUF006  ends before the writer does
