"""The spider that reads streams. Scrapy imports it for every command: what only streams need is imported later."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, cast

from twisted.python.failure import Failure

from tarantula.browser.chromium import browser_settings
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.termination import note_sigterm
from tarantula.engine.settings import set_components
from tarantula.spiders.base import BaseSpider, entry_and_exchange
from tarantula.store.database import open_database
from tarantula.streams import require_packages

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tarantula.engine.stream_responses import StreamResponses
    from tarantula.streams.reading.reader import StreamReader
    from tarantula.streams.reading.visits import ReadAttempt

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
    _responses: StreamResponses

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Open the database first, and replace the components of a collection by those of streams."""
        require_packages()
        cls.check_arguments(kwargs)
        from tarantula.engine.stream_responses import StreamResponses
        from tarantula.streams.reading.reader import PollReader, StreamReader

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
        spider._responses = StreamResponses(crawler, spider.collection)
        return spider

    @property
    def callback(self) -> Callable[..., Any]:
        """The method that parses responses."""
        return self.parse

    async def parse(self, response: Response, **_: Any) -> list[ReadAttempt]:
        """Return the attempts of the sources that wanted a response."""
        return await self._responses.parse(*entry_and_exchange(response))

    def failed(self, failure: Failure) -> list[ReadAttempt]:
        """Return the failed attempts of an exchange that failed."""
        return self._responses.failed(failure.request.meta["entry"], cast("Exception", failure.value))  # type: ignore[attr-defined]
