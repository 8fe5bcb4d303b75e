"""The baseline: a bare Scrapy spider that follows every link and stores nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class BareSpider(Spider):
    """Run by ``scrapy runspider`` outside any project, with Scrapy's default settings except the log level."""

    name = "bare"
    extractor = LinkExtractor()

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(**options)
        self.url = url

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.url)

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:
        assert isinstance(response, TextResponse)
        for link in self.extractor.extract_links(response):
            yield Request(link.url)
