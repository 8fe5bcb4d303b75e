"""The command language of the 2021 specification: a file of commands, and beside it a file with what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.frontier.escalona import UrlScheduler

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
"""How much of a wrong word is shown."""


def run_command_file(path: Path, strategy_name: str = "depth-first") -> Path:
    """Execute a file of commands, and return the file with what they showed: that is kept when a later one is wrong."""
    scheduler = UrlScheduler(strategy_name)
    output = path.parent / f"{path.stem}-out{path.suffix}"
    with _open(path, "r") as lines, _open(output, "w") as answers:
        answers.writelines(f"{answer}\n" for answer in CommandFile(str(path), lines, scheduler).execute())
    return output


class CommandFile:
    """Commands that are executed as their lines are read."""

    def __init__(self, name: str, lines: Iterable[str], scheduler: UrlScheduler) -> None:
        self._name = name
        self._lines = iter(lines)
        self._scheduler = scheduler
        self._line = 0

    def execute(self) -> Iterator[str]:
        """Execute command after command; yield the lines that they show."""
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
        raise self._wrong(
            f"There is no command {name[:MAX_SHOWN_CHARACTERS]}.{did_you_mean(name[:MAX_SHOWN_CHARACTERS].upper(), COMMANDS)}"
        )

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
        return TarantulaError(f"{self._name}, line {self._line}: {sentence}")


def _is_command(text: str) -> bool:
    words = text.split(maxsplit=1)
    return bool(words) and words[0] in COMMANDS


def _open(path: Path, mode: Literal["r", "w"]) -> IO[str]:
    """Open a file so that its bytes come and go as they are, whatever they mean."""
    encoding = "utf-8-sig" if mode == "r" else "utf-8"
    try:
        return path.open(mode, encoding=encoding, errors="surrogateescape", newline="\n")
    except OSError as error:
        done = "read" if mode == "r" else "written"
        raise TarantulaError(f"{path} cannot be {done} ({error.strerror}).") from error
