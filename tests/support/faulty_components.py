"""Scrapy components with mistakes, for publications that name them in their settings."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from scrapy.exceptions import DropItem, IgnoreRequest

from tarantula.items import CollectedDocument
from tarantula.signals import document_stored


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


class Rewriting:
    """A downloader middleware that sends requests for one page to another URL."""

    def process_request(self, request: Any) -> Any:
        return request.replace(url=request.url.replace("/old/", "/new/")) if "/old/" in request.url else None


class NeverDone:
    """A pipeline that waits for ever."""

    async def process_item(self, item: Any) -> Any:
        await asyncio.Event().wait()


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


class ReturnsDict:
    """A pipeline that returns another item."""

    def process_item(self, item: Any) -> dict[str, Any]:
        return {"url": item.entry.url}


class Fails:
    """A pipeline, downloader middleware or spider middleware that raises an exception on everything."""

    def process_item(self, item: Any) -> Any:
        raise RuntimeError("broken")

    def process_request(self, request: Any) -> Any:
        raise RuntimeError("broken")

    def process_spider_input(self, response: Any) -> None:
        raise RuntimeError("broken")


class Ignores:
    """A downloader middleware that drops some requests."""

    def process_request(self, request: Any) -> None:
        if "issue" in request.url:
            raise IgnoreRequest("no issues, please")


class Exits:
    """A component whose constructor ends the process."""

    def __init__(self) -> None:
        raise SystemExit(5)


class WaitsForFile:
    """An extension that is made when its collector has begun its item, and delays it until a file appears."""

    MADE, GO = "extension-made", "extension-go"

    @classmethod
    def from_crawler(cls, _crawler: Any) -> Self:
        home = Path(os.environ["TARANTULA_HOME"])
        (home / cls.MADE).touch()
        while not (home / cls.GO).exists():
            time.sleep(0.05)
        return cls()


class HoldsOpenFiles:
    """An extension that opens all files that the process may open, except a few, and closes them after a while."""

    LEFT_FREE = 4
    SECONDS = 1.5

    def __init__(self) -> None:
        self._held: list[int] = []
        self._is_done = False

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        extension = cls()
        crawler.signals.connect(extension.hold, document_stored)
        return extension

    def hold(self) -> None:
        """Open files until the limit, after the first document: the WARC file is open by then."""
        if self._is_done:
            return
        self._is_done = True
        with suppress(OSError):
            while True:
                self._held.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(self.LEFT_FREE):
            os.close(self._held.pop())
        asyncio.get_running_loop().call_later(self.SECONDS, self.release)

    def release(self) -> None:
        """Close the files."""
        while self._held:
            os.close(self._held.pop())


class OutOfMemoryOnce:
    """Downloader middleware that fails on the first request, as Python does without memory."""

    has_failed = False

    def process_request(self, request: Any) -> None:
        if not self.has_failed:
            self.has_failed = True
            request.meta["on_head"] = _fail_without_memory


def _fail_without_memory(_head: Any) -> None:
    raise MemoryError
