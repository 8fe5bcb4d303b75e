"""The URL scheduler of the 2021 specification, in memory, and its command files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.frontier.strategies import Strategy, load_strategy

PROTOCOL = "http://"
WWW = "www."
NOT_HTML = frozenset({".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf"})
ALL_URLS = sys.maxsize


def read_url(text: str) -> tuple[str, str, int] | None:
    """Return host, URL and depth by the rules of the specification, or ``None`` for a discarded URL."""
    if text[:7].lower() != PROTOCOL:
        return None
    address, mark, query = text[7:].partition("#")[0].rstrip("/").partition("?")
    host, slash, path = address.partition("/")
    host = host.lower().removeprefix(WWW)
    if not host or path[-4:].lower() in NOT_HTML:
        return None
    return host, f"{PROTOCOL}{host}{slash}{path}{mark}{query}", len(slash) + path.count("/")


class EscalonaHost:
    """Waiting URLs of one host: smaller depth first, then those known first."""

    __slots__ = ("_arrived", "_depths", "_leaving", "known", "name", "offered", "on_growth", "waiting")

    def __init__(self, name: str, known: int) -> None:
        self.name = name
        self.known = known
        self.waiting = 0
        self.offered = False
        self.on_growth: Callable[[EscalonaHost], object] | None = None
        # Two lists per depth instead of a deque: there may be a million hosts, and an empty deque takes 760 bytes.
        self._arrived: dict[int, list[str]] = {}
        self._leaving: dict[int, list[str]] = {}
        """The oldest URLs of each depth, in reverse order."""
        self._depths: list[int] = []

    def __len__(self) -> int:
        return self.waiting

    def __iter__(self) -> Iterator[str]:
        for depth in sorted(self._depths):
            yield from reversed(self._leaving.get(depth, ()))
            yield from self._arrived.get(depth, ())

    def push(self, url: str, depth: int) -> None:
        """Add a URL."""
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
        """Remove and return the first URL."""
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
    """Holds each waiting URL once, and returns URLs in the order of a strategy."""

    def __init__(self, strategy_name: str = "depth-first") -> None:
        self._strategy_name = strategy_name
        self.clear()

    def clear(self) -> None:
        """Remove all URLs and hosts, and restart the strategy."""
        self._strategy: Strategy[EscalonaHost] = load_strategy(self._strategy_name)
        self._hosts: dict[str, EscalonaHost] = {}
        self._waiting: set[str] = set()

    def hosts(self) -> list[str]:
        """Return all hosts in the order in which they became known, including hosts without URLs."""
        return list(self._hosts)

    def add(self, text: str) -> bool:
        """Add a URL unless it waits already; return whether the rules allow it."""
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
        """Remove and yield up to *count* URLs."""
        for _ in range(count):
            host = self._next_host()
            if host is None:
                return
            url = self._pop(host)
            if host.waiting:
                self._offer(host)
            yield url

    def schedule_host(self, name: str, count: int = ALL_URLS) -> Iterator[str]:
        """Remove and yield up to *count* URLs of one host, out of turn."""
        host = self._find(name)
        if host is not None:
            for _ in range(min(count, host.waiting)):
                yield self._pop(host)

    def urls(self, name: str) -> list[str]:
        """Return the waiting URLs of a host, in order."""
        return list(self._find(name) or ())

    def clear_host(self, name: str) -> None:
        """Remove the URLs of a host; the host keeps its place."""
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


HOST, QUANTITY = "<host>", "<quantidade>"
ADD_URLS = "ADD_URLS"
SCHEDULING: dict[str, tuple[tuple[str, ...], Callable[..., Iterable[str] | None]]] = {
    "ESCALONA_TUDO": ((), UrlScheduler.schedule),
    "ESCALONA": ((QUANTITY,), UrlScheduler.schedule),
    "ESCALONA_HOST": ((HOST, QUANTITY), UrlScheduler.schedule_host),
    "VER_HOST": ((HOST,), UrlScheduler.urls),
    "LISTA_HOSTS": ((), UrlScheduler.hosts),
    "LIMPA_HOST": ((HOST,), UrlScheduler.clear_host),
    "LIMPA_TUDO": ((), UrlScheduler.clear),
}
COMMANDS = (ADD_URLS, *SCHEDULING)
BLANKS = " \t\r\n"
MAX_DIGITS = 18
MAX_SHOWN_CHARACTERS = 80
"""Characters of an invalid word in a message."""


def run_command_file(path: Path, strategy_name: str = "depth-first") -> Path:
    """Execute a file of commands and return the output file; it is kept if a later command fails."""
    scheduler = UrlScheduler(strategy_name)
    output = path.parent / f"{path.stem}-out{path.suffix}"
    with _open(path, "r") as lines, _open(output, "w") as answers:
        answers.writelines(f"{answer}\n" for answer in CommandFile(str(path), lines, scheduler).execute())
    return output


class CommandFile:
    """Executes commands while their lines are read."""

    def __init__(self, name: str, lines: Iterable[str], scheduler: UrlScheduler) -> None:
        self._name = name
        self._lines = iter(lines)
        self._scheduler = scheduler
        self._line = 0

    def execute(self) -> Iterator[str]:
        """Execute all commands; yield the lines of their output."""
        for text in self._lines:
            self._line += 1
            words = text.split()
            if words:
                yield from self._command(*words) or ()

    def _command(self, name: str, *words: str) -> Iterable[str] | None:
        if name == ADD_URLS:
            return self._add_urls(*self._arguments(name, (QUANTITY,), words))
        if name in SCHEDULING:
            wanted, method = SCHEDULING[name]
            return method(self._scheduler, *self._arguments(name, wanted, words))
        shown = name[:MAX_SHOWN_CHARACTERS]
        raise self._wrong(f"There is no command {shown}.{did_you_mean(shown.upper(), COMMANDS)}")

    def _arguments(self, name: str, wanted: tuple[str, ...], words: tuple[str, ...]) -> list[Any]:
        if len(words) != len(wanted):
            raise self._wrong(f"The command is written {' '.join((name, *wanted))}.")
        return [self._number(word) if kind is QUANTITY else word for kind, word in zip(wanted, words, strict=True)]

    def _number(self, word: str) -> int:
        if not (word.isascii() and word.isdecimal() and len(word) <= MAX_DIGITS):
            raise self._wrong(f"{word[:MAX_SHOWN_CHARACTERS]} is not a number of 1 to {MAX_DIGITS} digits.")
        return int(word)

    def _add_urls(self, count: int) -> Iterable[str]:
        start, add = self._line, self._scheduler.add
        for text in islice(self._lines, count):
            self._line += 1
            if not add(text.strip(BLANKS)) and _is_command(text):
                raise self._short(start, count, f"line {self._line} is a command")
        if self._line < start + count:
            raise self._short(start, count, f"the file ends with line {self._line}")
        return ()

    def _short(self, start: int, count: int, why: str) -> TarantulaError:
        self._line = start
        return self._wrong(f"{ADD_URLS} {count} announces more lines than follow: {why}.")

    def _wrong(self, sentence: str) -> TarantulaError:
        return TarantulaError("{name}, line {line}: {sentence}", name=self._name, line=self._line, sentence=sentence)


def _is_command(text: str) -> bool:
    words = text.split(maxsplit=1)
    return bool(words) and words[0] in COMMANDS


def _open(path: Path, mode: Literal["r", "w"]) -> IO[str]:
    """Open a file in a way that copies bytes unchanged, in any encoding."""
    encoding = "utf-8-sig" if mode == "r" else "utf-8"
    try:
        return path.open(mode, encoding=encoding, errors="surrogateescape", newline="\n")
    except OSError as error:
        done = "read" if mode == "r" else "written"
        raise TarantulaError(
            "{path} cannot be {done} ({error}).", path=path, done=done, error=error.strerror
        ) from error
