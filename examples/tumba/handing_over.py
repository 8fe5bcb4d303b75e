"""TUMBA, a search engine: documents are passed to another program as they are collected.

The program is started with the collection, and reads one JSON object a line from its standard input::

    tarantula publication edit fcul --set 'ITEM_PIPELINES={"examples.tumba.handing_over.HandingOver": 950}' \\
        --set 'TUMBA_COMMAND=["python", "indexer.py"]'

Its order is above that of the store (900), so it gets committed documents only. A slow program slows the collection
down instead of filling the memory; if the program exits, a line in the log says so, and the collection continues.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from tarantula.items import CollectedDocument
from tarantula.services.deposit import text_of

logger = logging.getLogger(__name__)


class HandingOver:
    """A pipeline that writes collected documents to a program."""

    def __init__(self, crawler: Crawler, command: list[str]) -> None:
        self.crawler = crawler
        self._command = command
        self._is_there = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not (command := crawler.settings.getlist("TUMBA_COMMAND")):
            raise NotConfigured("TUMBA_COMMAND names no program")
        return cls(crawler, command)

    async def open_spider(self) -> None:
        self._program = await asyncio.create_subprocess_exec(*self._command, stdin=asyncio.subprocess.PIPE)

    async def process_item(self, item: Any) -> Any:
        if self._is_there and isinstance(item, CollectedDocument) and item.state == 200 and item.exchange is not None:
            await self._write(item)
        return item

    async def close_spider(self) -> None:
        assert self._program.stdin is not None
        self._program.stdin.close()
        await self._program.wait()

    async def _write(self, document: CollectedDocument) -> None:
        assert document.exchange is not None
        row = {
            "item": self.crawler.spider.collection.urn,
            "url": document.entry.url,
            "type": document.type,
            "text": text_of(document.exchange.body, document.exchange.get(b"content-type")),
            "links": [link.url for link in document.links],
        }
        assert self._program.stdin is not None
        try:
            self._program.stdin.write(json.dumps(row).encode() + b"\n")
            await self._program.stdin.drain()
        except (OSError, RuntimeError):
            # uvloop raises the second for a closed pipe.
            self._is_there = False
            logger.error("%s is gone; what it misses is in the deposit.", self._command[0])
