"""Log formatter that writes no line for collected documents."""

from __future__ import annotations

from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.logformatter import LogFormatter


class QuietLogFormatter(LogFormatter):
    """Omits the lines that Scrapy writes for every request; the document table has the information."""

    def crawled(self, request: Request, response: Response, spider: Spider) -> None:  # type: ignore[override]
        return None

    def scraped(self, item: Any, response: Any, spider: Spider) -> None:  # type: ignore[override]
        return None
