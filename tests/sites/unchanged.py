"""A site that announces changes of its pages in every way that servers do; for some pages, not at all."""

from __future__ import annotations

import asyncio
import gzip
from random import Random

from tests.sites.server import Answer, Route, Visit, Web

PAGES = 12
LAST_MODIFIED = "Fri, 12 Jun 2026 22:00:00 GMT"
WORDS = [
    f"{a}{b}{c}" for a in ("pa", "lo", "tir", "es") for b in ("bri", "co", "na", "vel") for c in ("do", "s", "mos")
]


class UnchangedWeb(Web):
    """Pages in a row, each with its own picture; page 0 is at the root."""

    def __init__(self, pages: int = PAGES) -> None:
        super().__init__({"/robots.txt": Answer(status=404)})
        for number in range(pages):
            self.routes[path_of(number)] = telling(number, page(number, pages))
            self.routes[f"/{number}.jpg"] = telling(number + 1, Answer(picture(number), "image/jpeg"))

    def change(self, number: int, words: str) -> None:
        """Change the text of a page."""
        before = page(number, PAGES).body
        assert isinstance(before, str)
        self.routes[path_of(number)] = telling(number, Answer(f"{before}<p>{words}"), version=words)


def path_of(number: int) -> str:
    """Return the path of a page."""
    return f"/{number}.html" if number else "/"


def page(number: int, pages: int) -> Answer:
    """Return a page that links to its picture and to the next page."""
    text = " ".join(Random(number).choices(WORDS, k=6000))
    following = f'<a href="{path_of(number + 1)}">next</a>' if number + 1 < pages else ""
    return Answer(f'<!doctype html><title>Página {number}</title><img src="/{number}.jpg">{following}<p>{text}')


def picture(number: int) -> bytes:
    """Return incompressible bytes."""
    return b"\xff\xd8\xff" + Random(number).randbytes(20_000)


def telling(number: int, answer: Answer, version: str = "1") -> Route:
    """Return a route with an ETag, a date, both, or neither, and then in chunks."""
    etag, way = f'"{number}-{version}"', number % 5
    headers = {"ETag": etag} if way in (0, 1) else {}
    headers |= {"Last-Modified": LAST_MODIFIED} if way in (1, 2) else {}
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    if way == 3:
        return Answer(gzip.compress(body, mtime=0), answer.type, headers={"Content-Encoding": "gzip"})

    async def tell(visit: Visit, transport: asyncio.Transport) -> Answer | None:
        asked = visit.headers
        if asked.get("if-none-match") == etag or (way == 2 and asked.get("if-modified-since") == LAST_MODIFIED):
            return Answer(type=None, status=304, headers=headers)
        if way < 3:
            return Answer(body, answer.type, headers=headers)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {answer.type}\r\nTransfer-Encoding: chunked\r\n\r\n"
        transport.write(head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        return None

    return tell
