"""What every spider of ours does: says who it is, asks for what is needed beside, and knows what an answer is to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from tarantula.crawl.responses import exchange_for
from tarantula.fetch.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

    from tarantula.crawl.collection import Collection
    from tarantula.streams.reading.reader import StreamReader

SIDE_TIMEOUT_SECONDS = 60.0
"""Seconds that a visit waits for something that is needed beside it."""


class BaseSpider(Spider):
    """Visits what its collection, or whoever reads streams, hands out."""

    collection: Collection | StreamReader

    def request_headers(self) -> dict[str, str]:
        """Return what every request says of us."""
        return {
            "User-Agent": str(self.settings["USER_AGENT"]),
            "From": self.collection.installation.mail,
            "Accept": "*/*",
            "Accept-Language": "*",
            "Accept-Encoding": "gzip, deflate",
        }

    def side_request(self, url: str, server: str) -> Request:
        """Return a request for something beside a document or a source: a robots.txt, a script for the browser."""
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
        """Nothing: what is visited waits in the tables."""
        return
        yield


def entry_and_exchange(response: Response) -> tuple[Any, Exchange]:
    """Return what an answer is to, as it was handed out, and the exchange that brought it."""
    assert response.request is not None
    meta = response.request.meta
    exchange: Exchange | None = meta.get("exchange")
    return meta["entry"], exchange or exchange_for(response.request, response)
