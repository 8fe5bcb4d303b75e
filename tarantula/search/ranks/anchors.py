"""Anchor texts of links to each page, counted in bounded memory."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Self

from tarantula.core.errors import TarantulaError

LONGEST_ANCHOR_TEXT = 400
"""Most characters of all anchor texts of a page."""
MOST_IN_MEMORY = 200_000
"""Most counts held in memory before they are written to the temporary file."""
MOST_NAMED_PAGES = 20
"""A text on links to more pages than this, and to more than one in a hundred, is ignored."""

GENERIC_ANCHORS = frozenset(
    {
        *("aqui", "clique aqui", "carregue aqui", "mais", "ler mais", "leia mais", "saber mais", "saiba mais"),
        *("ver mais", "veja mais", "mais informações", "ver", "ver tudo", "ver todos", "continuar", "continuar a ler"),
        *("seguinte", "próximo", "próxima", "anterior", "voltar", "topo", "início da página", "detalhes", "ligação"),
        *("here", "click here", "more", "read more", "see more", "learn more", "find out more", "more info", "this"),
        *("view", "view all", "see all", "continue", "continue reading", "next", "previous", "back", "top", "details"),
        *("back to top", "link", "this link", "this page", "esta página", "este link", "permalink", "www", "http"),
    }
)
"""Link texts that say nothing about their targets."""

_WORDS = re.compile(r"[^\W_]+")
_TABLES = """
    PRAGMA journal_mode = OFF;
    CREATE TABLE said (target INTEGER, words TEXT, times INTEGER);
    CREATE TABLE name (target INTEGER, words TEXT, times INTEGER, PRIMARY KEY (target, words)) WITHOUT ROWID;
    CREATE TABLE generic (words TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_COUNT = """
    INSERT INTO name SELECT target, words, sum(times) FROM said GROUP BY target, words ORDER BY target, words
"""
_FIND_GENERIC = "INSERT INTO generic SELECT words FROM name GROUP BY words HAVING count(*) > ?"
_NAMES = """
    SELECT target, words FROM name
    WHERE target >= ? AND target < ? AND words NOT IN (SELECT words FROM generic)
    ORDER BY target, times DESC, words
"""


class AnchorTexts:
    """Collects anchor texts, then returns those of each page; uses an unnamed temporary file."""

    def __init__(self) -> None:
        # SQLite deletes a temporary database when it opens it, so nothing remains after a crash.
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.executescript(_TABLES)
        self._in_memory = Counter[tuple[int, str]]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._file.close()
        if isinstance(error, sqlite3.OperationalError):
            raise TarantulaError(
                "Anchor texts cannot be written to the folder for temporary files ({error}). "
                "Free space there, or choose another folder with SQLITE_TMPDIR.",
                error=error,
            ) from error

    def add(self, links: Iterable[tuple[int, str]]) -> None:
        """Count the anchor texts of one page's links, each once per target."""
        self._in_memory.update({(target, words) for target, text in links if (words := anchor_words(text))})
        if len(self._in_memory) > MOST_IN_MEMORY:
            self._flush()

    def count(self, pages: int) -> None:
        """Aggregate all counts; *pages* is the number of possible targets."""
        self._flush()
        self._file.execute(_COUNT)
        self._file.execute("DROP TABLE said")
        self._file.execute(_FIND_GENERIC, (max(MOST_NAMED_PAGES, pages // 100),))

    def names(self, begin: int, end: int) -> dict[int, str]:
        """Return the anchor texts of pages from *begin* to *end*, the most frequent first."""
        rows: Iterator[tuple[int, str]] = self._file.execute(_NAMES, (begin, end))
        return {target: _lines(words for _, words in group) for target, group in groupby(rows, itemgetter(0))}

    def _flush(self) -> None:
        self._file.execute("BEGIN")
        rows = ((target, words, times) for (target, words), times in self._in_memory.items())
        self._file.executemany("INSERT INTO said VALUES (?, ?, ?)", rows)
        self._file.execute("COMMIT")
        self._in_memory.clear()


@lru_cache(100_000)
def anchor_words(text: str) -> str:
    """Return the words of a link text; empty for numbers and generic texts."""
    words = " ".join(_WORDS.findall(text.lower()))
    return "" if words in GENERIC_ANCHORS or words.replace(" ", "").isdigit() else words


def _lines(names: Iterable[str]) -> str:
    selected: list[str] = []
    remaining = LONGEST_ANCHOR_TEXT
    for name in names:
        remaining -= len(name) + 1
        if remaining < 0:
            break
        selected.append(name)
    return "\n".join(selected)
