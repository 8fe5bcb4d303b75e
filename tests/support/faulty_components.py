"""Scrapy components with mistakes, for publications that name them in their settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from scrapy.exceptions import DropItem

from tarantula.items import CollectedDocument


class Clumsy:
    """A spider middleware that raises on some pages, and drops documents of others."""

    async def process_spider_output(self, response: Any, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if response.url.endswith("article.html") and isinstance(output, CollectedDocument):
                continue
            if response.url.endswith("issue.html"):
                raise ValueError("clumsy")
            yield output


class OldFashioned:
    """A spider middleware with a synchronous ``process_spider_output``, which Scrapy no longer supports."""

    def process_spider_output(self, response: Any, result: Iterable[Any]) -> Iterator[Any]:
        yield from result


class Choosy:
    """A pipeline that drops one document and raises on another."""

    def process_item(self, item: Any) -> Any:
        if item.entry.url.endswith("logo.png"):
            raise DropItem("no logos, please")
        if item.entry.url.endswith("print=1"):
            raise ValueError("choosy")
        return item


class FailsInConstructor:
    """A component whose constructor raises an exception."""

    def __init__(self) -> None:
        raise RuntimeError("no configuration file")


class FailsAtStart:
    """A pipeline whose open_spider raises an exception."""

    def open_spider(self) -> None:
        raise RuntimeError("no connection")

    def process_item(self, item: Any) -> Any:
        return item


class ReturnsNothing:
    """A pipeline that forgets to return the item."""

    def process_item(self, item: Any) -> None:
        item.reason += " Seen."
