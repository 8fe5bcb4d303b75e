"""The spider that collects one item of a publication."""

from __future__ import annotations

import logging
import pprint
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import IgnoreRequest
from scrapy.settings import overridden_settings
from twisted.python.failure import Failure

from tarantula.browser.chromium import browser_settings
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import Reason
from tarantula.core.secrets import MASK, check_readable, has_text
from tarantula.core.states import DocumentState
from tarantula.core.termination import note_sigterm
from tarantula.crawl.collection import Collection
from tarantula.crawl.responses import MIDDLEWARE_ERROR, document_of, failed_document, truncated_document
from tarantula.engine.blame import error_text, failed_component
from tarantula.engine.settings import check_publication_settings, set_components
from tarantula.fetch.exchange import (
    DownloadError,
    Exchange,
    FetchAbandoned,
    LocalResourceError,
    RefusedByRule,
    TruncatedBody,
)
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.lifecycle.coordinator import abandon_item, begin_item
from tarantula.publications.scrapy_settings import COMPONENT_SETTINGS
from tarantula.spiders.base import BaseSpider, entry_and_exchange

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tarantula.engine.page_renderer import PageRenderer

logger = logging.getLogger(__name__)


def hide_settings(crawler: Crawler, names: set[str]) -> None:
    """Mask settings in the line with which Scrapy logs all of them."""

    def masked(record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("Overridden settings") and isinstance(record.args, Mapping):
            settings = dict(overridden_settings(crawler.settings))
            settings |= dict.fromkeys(names & settings.keys(), MASK)
            record.args = {"settings": pprint.pformat(settings)}
        return True

    logging.getLogger("scrapy.crawler").addFilter(masked)


class PublicationSpider(BaseSpider):
    """Collects one item of one publication: ``scrapy crawl publication -a name=fcul``, or ``-a item=URN``."""

    name = "publication"
    arguments = frozenset({"name", "item"})
    collection: Collection
    _renderer: PageRenderer | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Begin the item first: the publication's settings must be set before components are created."""
        cls.check_arguments(kwargs)
        # Scrapy has just set its own handler, which would treat SIGTERM like Ctrl-C.
        note_sigterm()
        collection = begin_item(Config(), publication_name(cls.name, kwargs), kwargs.get("item"))
        try:
            check_readable(*collection.config.settings.values())
            check_publication_settings(collection.config.settings)
        except TarantulaError as error:
            abandon_item(collection, str(error))
            raise
        for key, value in collection.config.settings.items():
            if key in COMPONENT_SETTINGS:
                # The components of a publication are added to the others; they do not replace them.
                set_components(crawler.settings, key, {**crawler.settings.getdict(key), **value})
            else:
                crawler.settings.set(key, value, priority="spider")
        hide_settings(crawler, {key for key, value in collection.config.settings.items() if has_text(value)})
        if crawler.settings.getbool("TARANTULA_PROGRESS"):
            crawler.settings.set("LOG_FILE", str(collection.directory / "crawl.log"), priority="spider")
        spider = super().from_crawler(crawler, *args, **{**kwargs, "name": collection.config.name})
        spider.collection = collection
        if collection.config.render:
            spider.prepare_rendering()
        return spider

    def prepare_rendering(self) -> None:
        """Set the browser settings, and create the renderer."""
        from tarantula.engine.page_renderer import PageRenderer

        for key, value in browser_settings(self.settings["USER_AGENT"]).items():
            self.settings.set(key, value, priority="spider")
        self._renderer = PageRenderer(self.crawler)

    @property
    def callback(self) -> Callable[..., Any]:
        """The callback of document requests."""
        return self.parse_rendered if self.collection.config.render else self.parse

    def parse(self, response: Response, **_: Any) -> list[CollectedDocument]:
        """Return the document of a response."""
        return [self._document(*entry_and_exchange(response))]

    async def parse_rendered(self, response: Response, **_: Any) -> list[CollectedDocument]:
        """Return the document of a response, rendered in the browser."""
        entry, exchange = entry_and_exchange(response)
        assert self._renderer is not None
        try:
            document = self._document(entry, exchange)
            await self._renderer.render(document)
        except FetchAbandoned:
            return []
        except LocalResourceError as error:
            # It is requested and rendered again when the browser can be started.
            return [failed_document(entry, error, datetime.now(UTC))]
        finally:
            self.collection.release(entry)
        return [document]

    def _document(self, entry: FrontierEntry, exchange: Exchange) -> CollectedDocument:
        try:
            return document_of(entry, exchange, self.collection.scope)
        except MemoryError:
            return failed_document(entry, DownloadError(Reason.of("memory_of_machine")), exchange.started_at)

    def failed(self, failure: Failure) -> list[CollectedDocument]:
        """Return the document of an exchange that failed or was refused by a rule."""
        entry: FrontierEntry = failure.request.meta["entry"]  # type: ignore[attr-defined]
        error = failure.value
        if isinstance(error, FetchAbandoned):
            # The document waits again when the collector ends.
            return []
        if isinstance(error, TruncatedBody) and error.exchange is not None:
            return [truncated_document(entry, error, self.collection.scope)]
        assert error is not None
        return [failed_document(entry, self._download_error(error), datetime.now(UTC))]

    def _download_error(self, error: BaseException) -> DownloadError:
        """Return what a document ends with: a middleware that drops it or fails is not the server's failure."""
        if isinstance(error, DownloadError):
            return error
        if isinstance(error, IgnoreRequest):
            reason = Reason.of("dropped_by_middleware", why=str(error))
            return RefusedByRule(DocumentState.OVER_LIMIT, reason, "IgnoreRequest")
        reason = Reason.of("not_collected", error=error_text(error, self.settings))
        # Scrapy raises a TypeError, which names the middleware, for a wrong result.
        if isinstance(error, TypeError) or failed_component(error, self.settings) is not None:
            logger.error("A middleware failed on a request.", exc_info=error)
            return RefusedByRule(DocumentState.SYSTEM_ERROR, reason, MIDDLEWARE_ERROR)
        return DownloadError(reason)


def publication_name(spider: str, arguments: Mapping[str, str]) -> str | None:
    """Return the publication that a spider collects with some arguments; ``None`` if only the item says which."""
    return arguments.get("name") or (spider if spider != PublicationSpider.name else None)


def spider_for(publication: str) -> type[PublicationSpider]:
    """Create the spider class of one publication."""
    return type("PublicationSpider", (PublicationSpider,), {"name": publication})
