"""A bare Scrapy crawl with our download handler, as a program: base URL, paths to stop, settings as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.exceptions import StopDownload
from scrapy.http import Response

from tarantula.core.states import DocumentState
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import RefusedByRule, ResponseHead

HANDLER = "tarantula.engine.downloader.ExchangeDownloadHandler"
SETTINGS = {
    "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
    "RETRY_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "HTTPERROR_ALLOW_ALL": True,
}


def refuse(head: ResponseHead) -> None:
    raise RefusedByRule(DocumentState.TYPE_NOT_WANTED, f"{head.status} is not wanted.", "SomeRule")


METAS: dict[str, dict[str, Any]] = {
    "html": {},
    "gzip": {},
    "xml": {},
    "binary": {},
    "garbage": {},
    "refused": {"on_head": refuse},
    "large": {"download_maxsize": 10},
    "late": {"download_timeout": 0.2},
}


class HandlerSpider(Spider):
    """Requests a few documents and yields the result of each."""

    name = "handler"
    egress = EgressPolicy(allow_private=True)
    base: str
    paths: list[str]
    stopping: str

    async def start(self) -> AsyncIterator[Request]:
        for path in self.paths:
            meta = METAS.get(path, {"playwright": True})
            yield Request(self.base + path, self.parse, errback=self.failed, headers={"X-From": "spider"}, meta=meta)

    def stop(self) -> None:
        raise StopDownload(fail=self.stopping == "fail")

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        exchange = response.meta.get("exchange")
        yield {
            "path": response.url.removeprefix(self.base),
            "class": type(response).__name__,
            "body": response.body.decode("latin-1"),
            "headers": sorted(name.decode() for name in response.headers),
            "address": str(response.ip_address),
            "protocol": response.protocol,
            "wire": exchange and exchange.raw_body.hex(),
            "latency": response.meta.get("download_latency"),
            "flags": response.flags,
        }

    def failed(self, failure: Any) -> Iterator[dict[str, Any]]:
        response = getattr(failure.value, "response", None)
        yield {
            "path": failure.request.url.removeprefix(self.base),
            "error": type(failure.value).__name__,
            "reason": str(failure.value),
            "flags": response.flags if response is not None else [],
        }


def main(base: str, paths: str, stopping: str, settings: str) -> None:
    """Crawl, and print every item as JSON."""
    items: list[dict[str, Any]] = []

    def keep(item: dict[str, Any]) -> None:
        items.append(item)

    def listen(spider: HandlerSpider) -> None:
        if stopping:
            crawler.signals.connect(spider.stop, signals.headers_received)

    given = json.loads(settings)
    if given.pop("public_only", False):
        del HandlerSpider.egress
    process = CrawlerProcess({**SETTINGS, **given})
    crawler: Crawler = process.create_crawler(HandlerSpider)
    crawler.signals.connect(keep, signals.item_scraped)
    crawler.signals.connect(listen, signals.spider_opened)
    process.crawl(crawler, base=base, paths=paths.split(), stopping=stopping)
    process.start()
    json.dump(items, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
