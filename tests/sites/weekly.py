"""A site whose pages change at random, each at its own rate, by a clock that a test starts."""

from __future__ import annotations

import asyncio
import time
from base64 import b32encode
from bisect import bisect_right
from hashlib import sha1
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tests.sites.server import NOT_FOUND, Answer, Visit, Web

Floats = NDArray[np.float64]


def rates_of(pages: int, seed: int) -> Floats:
    """Return changes per week: three fifths of the pages are an archive, a fifth news, a fifth counters."""
    archive, news = pages * 3 // 5, pages // 5
    rates = np.concatenate(
        [
            np.geomspace(0.002, 0.02, archive),
            np.geomspace(7.0, 28.0, news),
            np.geomspace(168.0, 5000.0, pages - archive - news),
        ]
    )
    return np.random.default_rng(seed).permutation(rates)


class WeeklyWeb(Web):
    """The same pages on many servers, with the same changes; nothing changes before the week begins."""

    def __init__(self, rates: Floats, week: float, seed: int, servers: int) -> None:
        super().__init__({}, [f"127.0.0.{number + 1}" for number in range(servers)], fallback=self._answer)
        chance = np.random.default_rng(seed)
        self.changes = [np.sort(chance.random(chance.poisson(rate)) * week).tolist() for rate in rates]
        """Times of the changes of each page, in seconds of the week."""
        self.week = week
        self.begins = float("inf")
        """Begin of the week, in seconds since 1970."""
        self._links = "".join(f'<a href="/{page}">{page}</a>' for page in range(len(rates)))

    def page(self, number: int, version: int) -> str:
        """Return the body of a page after a number of changes."""
        return f"<title>Page {number}</title><p>This is version {version}."

    def versions(self, number: int) -> dict[str, int]:
        """Return the versions of a page by the digest of the body."""
        bodies = (self.page(number, version).encode() for version in range(len(self.changes[number]) + 1))
        return {f"sha1:{b32encode(sha1(body).digest()).decode()}": version for version, body in enumerate(bodies)}

    def freshness(self, number: int, seen: list[tuple[float, int]]) -> float:
        """Return the share of the week in which the last seen version was current; *seen* are times and versions."""
        edges = [0.0, *self.changes[number], self.week]
        fresh = 0.0
        for (since, version), (until, _) in pairwise([*seen, (self.week, -1)]):
            fresh += max(min(until, edges[version + 1]) - max(since, edges[version]), 0.0)
        return fresh / self.week

    async def _answer(self, visit: Visit, _transport: asyncio.Transport) -> Answer:
        if visit.path == "/":
            servers = [self.url("/", address) for address in self.addresses[1:]]
            return Answer(self._links + "".join(f'<a href="{url}">{url}</a>' for url in servers))
        number = visit.path[1:]
        if not number.isdigit() or int(number) >= len(self.changes):
            return NOT_FOUND
        version = bisect_right(self.changes[int(number)], time.time() - self.begins)
        etag = f'"{version}"'
        if visit.headers.get("if-none-match") == etag:
            return Answer(type=None, status=304, headers={"ETag": etag})
        return Answer(self.page(int(number), version), headers={"ETag": etag})
