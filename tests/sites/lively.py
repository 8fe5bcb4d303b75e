"""A small site on which some pages change, some vanish, and one stops responding."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.sites.drawing import page
from tests.sites.manners import silence
from tests.sites.server import NOT_FOUND, Answer, Visit, Web

ETAG = '"same"'
SLOW = "127.0.0.2"
NAMED = ("/twice.html", "/same.html", "/plain.html", "/gone.html", "/kept.html", "/moved")


class LivelyWeb(Web):
    """Changes with every request, and never in between."""

    def __init__(self) -> None:
        super().__init__({}, ("127.0.0.1", SLOW))
        self.asked: Counter[str] = Counter()
        for path in ("/", "/twice.html", "/same.html", "/gone.html", "/slow.html", "/moved"):
            self.routes[path] = self._answer
        for path in ("/plain.html", "/kept.html", "/new.html", "/newer.html"):
            self.routes[path] = Answer(page(path))

    async def _answer(self, visit: Visit, transport: asyncio.Transport) -> Answer | None:
        self.asked[visit.path] += 1
        times = self.asked[visit.path]
        match visit.path:
            case "/":
                new = ["/new.html", "/newer.html"][: times - 1]
                return Answer(page("Beginning", [*NAMED, self.url("/slow.html", SLOW), *new]))
            case "/twice.html":
                return Answer(page(f"Version {times}"))
            case "/same.html":
                if visit.headers.get("if-none-match") == ETAG:
                    return Answer(type=None, status=304, headers={"ETag": ETAG})
                return Answer(page("Same"), headers={"ETag": ETAG})
            case "/gone.html":
                return Answer(page("Here")) if times == 1 else NOT_FOUND
            case "/moved":
                where = "/same.html" if times == 1 else "/plain.html"
                return Answer(status=301, headers={"Location": where})
            case _:
                if times == 1:
                    return Answer(page("Quick"))
                await silence(visit, transport)
                return None
