"""A custom spider middleware, written as Scrapy's documentation teaches.

It drops links to printable versions of pages, and adds the table of contents that a journal has next to every issue
without linking to it.

Give it to one publication by its import path::

    tarantula publication edit journal --set 'SPIDER_MIDDLEWARES={"examples.print_pages.PrintPages": 500}'
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request
from scrapy.http import Response


class PrintPages:
    """Drops ``?print=1`` links and adds ``contents.html`` next to every ``issue.html``."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, Request) and "print=1" in output.url:
                continue
            yield output
        if response.url.endswith("/issue.html"):
            yield Request(response.urljoin("contents.html"))
