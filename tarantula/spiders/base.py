"""Base class of the spiders: request headers, side requests, and the exchange behind a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Request, Spider

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.core.process import raise_open_files_limit
from tarantula.crawl.responses import exchange_for
from tarantula.engine.settings import apply_collection_settings
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from tarantula.crawl.collection import Collection
    from tarantula.streams.reading.reader import StreamReader

SIDE_TIMEOUT_SECONDS = 60.0
"""Timeout of a side request, such as for robots.txt."""


class BaseSpider(Spider):
    """Visits the URLs that its collection or stream reader hands out."""

    collection: Collection | StreamReader
    arguments: ClassVar[frozenset[str]] = frozenset()
    """Arguments that ``-a`` may give."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Add the components of a collection."""
        super().update_settings(settings)
        apply_collection_settings(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Create the spider in a process that may open as many files as the system allows."""
        raise_open_files_limit()
        return super().from_crawler(crawler, *args, **kwargs)

    @classmethod
    def check_arguments(cls, given: Iterable[str]) -> None:
        """Reject arguments that the spider does not know."""
        for name in given:
            if name not in cls.arguments:
                raise TarantulaError(
                    "The spider {spider} has no argument {name}.{hint} It takes {arguments}.",
                    spider=cls.name,
                    name=name,
                    hint=did_you_mean(name, sorted(cls.arguments)),
                    arguments=", ".join(sorted(cls.arguments)),
                )

    @property
    def egress(self) -> EgressPolicy:
        """Which addresses requests without a policy of their own may connect to."""
        return self.collection.egress

    def request_headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        return {
            "User-Agent": str(self.settings["USER_AGENT"]),
            "From": self.collection.installation.mail,
            "Accept": "*/*",
            "Accept-Language": "*",
            "Accept-Encoding": "gzip, deflate",
        }

    def side_request(self, url: str, server: str) -> Request:
        """Return a request that is not for a document or a source, such as for robots.txt or a script of a page."""
        limits = self.collection.config
        return Request(
            url,
            headers=self.request_headers(),
            meta={
                "download_slot": server,
                "download_timeout": min(limits.timeout, SIDE_TIMEOUT_SECONDS),
                "download_maxsize": limits.max_size,
                "verbatim_url": True,
            },
        )

    async def start(self) -> AsyncIterator[Any]:
        """Yield nothing: the scheduler reads URLs from the tables."""
        return
        yield


def entry_and_exchange(response: Response) -> tuple[Any, Exchange]:
    """Return the frontier entry or stream visit of a response, and its exchange."""
    assert response.request is not None
    meta = response.request.meta
    exchange: Exchange | None = meta.get("exchange")
    return meta["entry"], exchange or exchange_for(response.request, response)
