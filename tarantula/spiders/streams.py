"""The spider that reads streams: turns a response into one attempt for each source that wanted it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, cast

from twisted.python.failure import Failure

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import in_parser_thread
from tarantula.core.process import note_sigterm
from tarantula.engine.settings import set_components
from tarantula.fetch.chromium import browser_settings, check_browser
from tarantula.fetch.exchange import FetchAbandoned, FetchPostponed, InvalidResponse
from tarantula.spiders.base import BaseSpider, entry_and_exchange
from tarantula.store.database import open_database
from tarantula.streams import require_packages
from tarantula.streams.reading.reader import PollReader, StreamReader
from tarantula.streams.reading.visits import (
    MAX_REDIRECTS,
    TOO_MANY_REDIRECTS,
    ReadAttempt,
    attempts_from_exchange,
    failed_attempts,
    may_wait_for_worker,
    redirect_location,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tarantula.browser.source_renderer import SourceRenderer
    from tarantula.fetch.exchange import Exchange
    from tarantula.streams.reading.visits import StreamVisit

INLINE_PARSE_BYTES = 64 * 1024
"""Pages up to this size are parsed on the event loop; larger ones in a thread."""
STREAM_SETTINGS: dict[str, Any] = {
    "SCHEDULER": "tarantula.engine.scheduler.StreamScheduler",
    # Servers that do not respond hold a slot until the timeout; the others must not wait for them.
    "CONCURRENT_REQUESTS": 512,
    "DOWNLOADER_MIDDLEWARES": {"tarantula.middlewares.ScopeMiddleware": None},
    "SPIDER_MIDDLEWARES": {
        "tarantula.middlewares.LinkUnpackMiddleware": None,
        "tarantula.middlewares.LinkPackMiddleware": None,
    },
    "ITEM_PIPELINES": {
        "tarantula.pipelines.StorePipeline": None,
        "tarantula.pipelines.KeepPipeline": 900,
    },
    "EXTENSIONS": {
        "tarantula.extensions.ItemLife": None,
        "tarantula.extensions.LostDocuments": None,
        "tarantula.extensions.ProgressDisplay": None,
        "tarantula.extensions.ReadingLife": 100,
    },
}
"""Settings that differ from those of a collection."""


class StreamsSpider(BaseSpider):
    """Reads all sources continuously (``scrapy crawl streams``), or one source once (``-a poll=NAME``)."""

    name = "streams"
    arguments = frozenset({"poll"})
    collection: StreamReader
    _renderer: SourceRenderer | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Open the database first, and replace the components of a collection by those of streams."""
        require_packages()
        cls.check_arguments(kwargs)
        note_sigterm()
        with suppress(TarantulaError):
            # The browser is started for the first source that needs it; if it is missing, that source gets the error.
            crawler.settings.setdict(browser_settings(crawler.settings["USER_AGENT"]), priority="spider")
        for key, value in STREAM_SETTINGS.items():
            if isinstance(value, dict):
                set_components(crawler.settings, key, {**crawler.settings.getdict(key), **value})
            else:
                crawler.settings.set(key, value, priority="spider")
        installation = Config()
        spider = super().from_crawler(crawler, *args, **kwargs)
        database = open_database(installation)
        spider.collection = (
            PollReader(installation, database, kwargs["poll"])
            if "poll" in kwargs
            else StreamReader(installation, database)
        )
        return spider

    @property
    def callback(self) -> Callable[..., Any]:
        """The method that parses responses."""
        return self.parse

    async def parse(self, response: Response, **_: Any) -> list[ReadAttempt]:
        """Read a response, or follow its redirect."""
        visit, exchange = entry_and_exchange(response)
        target = redirect_location(exchange)
        if target is not None:
            if visit.needs_browser:
                self.collection.release(visit)
            if visit.hops >= MAX_REDIRECTS:
                return failed_attempts(visit, InvalidResponse(TOO_MANY_REDIRECTS), self.collection.now())
            try:
                onward = visit.redirected_to(target, exchange.status)
            except InvalidResponse as error:
                return failed_attempts(visit, error, self.collection.now())
            self.collection.follow_redirect(visit, onward)
            return []
        if visit.needs_browser:
            return await self._parse_rendered(visit, exchange)
        if len(exchange.body) > INLINE_PARSE_BYTES or may_wait_for_worker(visit, exchange):
            attempts: list[ReadAttempt] = await in_parser_thread(attempts_from_exchange, visit, exchange)
            return attempts
        return attempts_from_exchange(visit, exchange)

    async def _parse_rendered(self, visit: StreamVisit, exchange: Exchange) -> list[ReadAttempt]:
        """Read a response rendered in the browser; its server stays reserved until then."""
        try:
            if not 200 <= exchange.status < 300:
                return attempts_from_exchange(visit, exchange)
            page = await self._browser().render(visit, exchange)
            attempts: list[ReadAttempt] = await in_parser_thread(attempts_from_exchange, visit, exchange, page)
            return attempts
        except FetchAbandoned:
            return []
        except Exception as error:
            return failed_attempts(visit, error, self.collection.now())
        finally:
            self.collection.release(visit)

    def _browser(self) -> SourceRenderer:
        if self._renderer is None:
            check_browser()
            from tarantula.browser.source_renderer import SourceRenderer

            self._renderer = SourceRenderer(self.crawler)
        return self._renderer

    def failed(self, failure: Failure) -> list[ReadAttempt]:
        """Return the failed attempts of an exchange that failed."""
        visit: StreamVisit = failure.request.meta["entry"]  # type: ignore[attr-defined]
        error = cast("Exception", failure.value)
        if isinstance(error, FetchPostponed):
            self.collection.postpone(visit)
            return []
        return [] if isinstance(error, FetchAbandoned) else failed_attempts(visit, error, self.collection.now())
