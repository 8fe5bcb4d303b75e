"""What the log says of a document: nothing for those that went well."""

from __future__ import annotations

from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.logformatter import LogFormatter


class QuietLogFormatter(LogFormatter):
    """Leaves out the lines that Scrapy writes for every request: the table of documents says it better."""

    def crawled(self, request: Request, response: Response, spider: Spider) -> None:  # type: ignore[override]
        return None

    def scraped(self, item: Any, response: Any, spider: Spider) -> None:  # type: ignore[override]
        return None
