"""The URL scheduler of the 2021 specification: hosts that are known, and what waits at each of them.

Its strategies are those of the collection. Everything is in memory, and nothing is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from tarantula.frontier.strategies import Strategy, load_strategy

PROTOCOL = "http://"
WWW = "www."
NOT_HTML = frozenset({".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf"})
ALL_URLS = sys.maxsize


def read_url(text: str) -> tuple[str, str, int] | None:
    """Return host, URL and depth as the rules have them, or ``None`` for what they discard."""
    if text[:7].lower() != PROTOCOL:
        return None
    address, mark, query = text[7:].partition("#")[0].rstrip("/").partition("?")
    host, slash, path = address.partition("/")
    host = host.lower().removeprefix(WWW)
    if not host or path[-4:].lower() in NOT_HTML:
        return None
    return host, f"{PROTOCOL}{host}{slash}{path}{mark}{query}", len(slash) + path.count("/")


class EscalonaHost:
    """The URLs that wait at one host: those nearer to the root first, then those known first."""

    __slots__ = ("_arrived", "_depths", "_leaving", "known", "name", "offered", "on_growth", "waiting")

    def __init__(self, name: str, known: int) -> None:
        self.name = name
        self.known = known
        self.waiting = 0
        self.offered = False
        self.on_growth: Callable[[EscalonaHost], object] | None = None
        # Two lists a depth, and no deque: there may be a million hosts, and an empty deque has 760 bytes.
        self._arrived: dict[int, list[str]] = {}
        self._leaving: dict[int, list[str]] = {}
        """Those that arrived first, last one first."""
        self._depths: list[int] = []

    def __len__(self) -> int:
        return self.waiting

    def __iter__(self) -> Iterator[str]:
        for depth in sorted(self._depths):
            yield from reversed(self._leaving.get(depth, ()))
            yield from self._arrived.get(depth, ())

    def push(self, url: str, depth: int) -> None:
        """Take a new URL."""
        if depth in self._arrived:
            self._arrived[depth].append(url)
        else:
            self._arrived[depth] = [url]
            if depth not in self._leaving:
                heappush(self._depths, depth)
        self.waiting += 1
        if self.on_growth is not None:
            self.on_growth(self)

    def pop(self) -> str:
        """Hand out the first URL."""
        depth = self._depths[0]
        if depth not in self._leaving:
            self._leaving[depth] = self._arrived.pop(depth)[::-1]
        leaving = self._leaving[depth]
        url = leaving.pop()
        if not leaving:
            del self._leaving[depth]
            if depth not in self._arrived:
                heappop(self._depths)
        self.waiting -= 1
        return url


class UrlScheduler:
    """Holds every URL once while it waits, and hands URLs out in the order of a strategy."""

    def __init__(self, strategy_name: str = "depth-first") -> None:
        self._strategy_name = strategy_name
        self.clear()

    def clear(self) -> None:
        """Forget the URLs, the hosts, and whose turn it is."""
        self._strategy: Strategy[EscalonaHost] = load_strategy(self._strategy_name)
        self._hosts: dict[str, EscalonaHost] = {}
        self._waiting: set[str] = set()

    def hosts(self) -> list[str]:
        """Return the hosts in the order in which they became known, also those where nothing waits."""
        return list(self._hosts)

    def add(self, text: str) -> bool:
        """Take a URL, unless it waits already; return whether the rules allow it."""
        read = read_url(text)
        if read is None:
            return False
        name, url, depth = read
        if url not in self._waiting:
            self._waiting.add(url)
            host = self._hosts.get(name)
            if host is None:
                host = self._hosts[name] = EscalonaHost(name, len(self._hosts))
            host.push(url, depth)
            if not host.offered:
                self._offer(host)
        return True

    def schedule(self, count: int = ALL_URLS) -> Iterator[str]:
        """Hand out so many URLs, or as many as there are."""
        for _ in range(count):
            host = self._next_host()
            if host is None:
                return
            url = self._pop(host)
            if host.waiting:
                self._offer(host)
            yield url

    def schedule_host(self, name: str, count: int = ALL_URLS) -> Iterator[str]:
        """Hand out so many URLs of one host, out of turn."""
        host = self._find(name)
        if host is not None:
            for _ in range(min(count, host.waiting)):
                yield self._pop(host)

    def urls(self, name: str) -> list[str]:
        """Return what waits at a host, in order."""
        return list(self._find(name) or ())

    def clear_host(self, name: str) -> None:
        """Forget the URLs of a host. It stays known, in its place."""
        for _ in self.schedule_host(name):
            pass

    def _find(self, name: str) -> EscalonaHost | None:
        name = name.lower().removeprefix(PROTOCOL).rstrip("/")
        return self._hosts.get(name if name in self._hosts else name.removeprefix(WWW))

    def _offer(self, host: EscalonaHost) -> None:
        host.offered = True
        self._strategy.offer(host)

    def _next_host(self) -> EscalonaHost | None:
        while (host := self._strategy.take()) is not None:
            host.offered = False
            if host.waiting:
                return host
        return None

    def _pop(self, host: EscalonaHost) -> str:
        url = host.pop()
        self._waiting.remove(url)
        return url
