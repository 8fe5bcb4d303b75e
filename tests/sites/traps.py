"""A site of endless crawler traps, with some normal pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime
from itertools import count
from typing import Any, Self
from urllib.parse import parse_qs

from tests.sites.drawing import page
from tests.sites.server import NOT_FOUND, Answer, Visit, Web

HONEST = (
    "/honest/index.html",
    "/honest/1998/04/25/expo.html",
    "/honest/2026/11/",
    "/honest/src/main/java/pt/ul/fc/di/tarantula/frontier/Frontier.java",
    "/honest/article.php?sid=1234",
    "/honest/00/00/00/00/12/record",
    "/honest/?page=10",
)
SAME = page("Sign in", ["north/index.html", "south/index.html"])


class Traps:
    """The site, served while the context lasts."""

    def __init__(self) -> None:
        self._sessions = count(1)
        self.makers: dict[str, Callable[[str, str], str]] = {
            "/repeats/": lambda path, _: page(path, ["left/right/"]),
            "/deep/": lambda path, _: page(path, [f"{len(path)}/"]),
            "/longer": lambda path, query: page(path + query, [f"/longer?q={query}a", "/honest/?page=10"]),
            "/calendar": self._month,
            "/dates/": self._day,
            "/shop/": self._shop,
            "/same/": lambda path, query: SAME,
            "/honest/": lambda path, query: page(path + query),
        }
        """Return the response for a path with this beginning."""
        self.web = Web({}, fallback=self._answer)

    def __enter__(self) -> Self:
        self.web.__enter__()
        today = datetime.now(UTC).date()
        doors = ["/repeats/", "/deep/", "/longer?q=", "/shop/", "/same/index.html", *HONEST]
        doors += [f"/calendar?year={today.year}&month={today.month}", f"/dates/{today.isoformat()}"]
        self.web.routes["/"] = Answer(page("Traps", doors))
        return self

    def __exit__(self, *_: object) -> None:
        self.web.__exit__()

    @property
    def publication(self) -> dict[str, Any]:
        """Fields of a publication that collects the site, without its name; its depth limit stops no trap."""
        return {"base_url": self.web.url(), "depth": 1000, "robots": False, "profile": "HTML_com_IMAGENS"}

    def visited(self, prefix: str) -> int:
        """Return the number of requests for paths with this beginning."""
        return sum(visit.path.startswith(prefix) for visit in self.web.visits)

    async def _answer(self, visit: Visit, _connection: asyncio.Transport) -> Answer:
        path, _, query = visit.path.partition("?")
        for prefix, make in self.makers.items():
            if path.startswith(prefix):
                return Answer(make(path, query.partition("=")[2] if prefix == "/longer" else query))
        return NOT_FOUND

    def _month(self, _: str, query: str) -> str:
        values = parse_qs(query)
        months = int(values["year"][0]) * 12 + int(values["month"][0]) - 1
        beside = [(months + step) for step in (-1, 1, 12)]
        return page(query, [f"/calendar?year={one // 12}&month={one % 12 + 1}" for one in beside])

    def _day(self, path: str, _: str) -> str:
        day = date.fromisoformat(path.removeprefix("/dates/"))
        return page(path, [f"/dates/{date.fromordinal(day.toordinal() + step)}" for step in (-1, 1)])

    def _shop(self, path: str, _: str) -> str:
        session = f"{next(self._sessions):032x}"
        shelves = [f"/shop/{shelf}?PHPSESSID={session}" for shelf in ("books", "maps", "prints")]
        return page(path + session, [*shelves, f"/shop/cart;jsessionid={session.upper()}"])
