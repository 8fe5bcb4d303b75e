"""Ranks and anchor texts of documents, computed from the link graph."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Self

import numpy
from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.models import Item, LinkWeight, ReadText
from tarantula.search.ranks.graph import NO_PAGE, LinkGraph, Numbers, half_keys, read_graph, score_weights
from tarantula.search.texts.content import unpack_text
from tarantula.store.journal import JournalKind, JournalRecord, append_to_journal

logger = logging.getLogger(__name__)

DOCUMENTS_PER_TRANSACTION = 500
"""Documents stored in one transaction, with one journal entry."""
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


def rank_items(database: Database, entries: Iterable[JournalRecord]) -> int:
    """Rank the documents of items that have ended; return the number of documents.

    The texts of the items must have been read before, since they hold the anchor texts.
    """
    ended = dict.fromkeys(entry.item_id for entry in entries if entry.kind is JournalKind.ENDED)
    ranking = ItemRanking(database)
    return sum(ranking.rank(item_id) for item_id in ended)


class ItemRanking:
    """Ranks items; reads the graph of all publications again only if it has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._items: list[int] = []
        self._graph: LinkGraph | None = None

    def rank(self, item_id: int) -> int:
        """Rank the documents of an item; return their number, 0 if the item was removed or is still running."""
        with self._database.reading() as session:
            item = session.get(Item, item_id)
            if item is None or item.state in {*ACTIVE_ITEM_STATES, ItemState.REMOVING}:
                return 0
            own = read_graph(session, [item_id])
            graph = self._graph_of_all(session, item, own)
        order = numpy.argsort(own.documents)
        documents, places = own.documents[order], own.pages[order]
        # The larger graph contains all of them.
        pages = graph.redirect_map.pages(own.keys[places])
        with AnchorTexts() as anchors:
            self._collect_anchors(anchors, graph, pages)
            anchors.count(len(documents))
            columns = _columns(own, places, graph, pages)
            self._store(item_id, documents, columns, anchors)
        logger.info("%s: ranked %s documents by their links.", item.urn, f"{len(documents):,}")
        return len(documents)

    def _graph_of_all(self, session: Session, item: Item, own: LinkGraph) -> LinkGraph:
        """Return the graph of an item and the latest items of the other publications."""
        ended = select(func.max(Item.id)).where(Item.finished_at.is_not(None), Item.state != ItemState.REMOVING)
        others = ended.where(Item.publication_id != item.publication_id).group_by(Item.publication_id)
        items = sorted([item.id, *session.scalars(others)])
        if items == [item.id]:
            return own
        if self._graph is None or items != self._items:
            self._graph, self._items = None, items
            self._graph = read_graph(session, items)
        return self._graph

    def _collect_anchors(self, anchors: AnchorTexts, graph: LinkGraph, pages: Numbers) -> None:
        """Collect the anchor texts of links to these pages."""
        # One more element, so that index -1 maps to -1.
        place_of = numpy.full(len(graph.keys) + 1, NO_PAGE, numpy.int32)
        place_of[pages] = numpy.arange(len(pages))
        for documents, linking_pages in graph.linking_to(pages):
            page_of = dict(zip(documents.tolist(), linking_pages.tolist(), strict=True))
            with self._database.reading() as session:
                rows = select(ReadText.document_id, ReadText.content).where(ReadText.document_id.in_(page_of))
                texts = [(page_of[number], unpack_text(content).anchors) for number, content in session.execute(rows)]
            for page, links in texts:
                target_pages = graph.redirect_map.pages(half_keys(bytes.fromhex("".join(key for key, _ in links))))
                target_pages[target_pages == page] = NO_PAGE
                places = place_of[target_pages].tolist()
                anchors.add((place, words) for place, (_, words) in zip(places, links, strict=True) if place != NO_PAGE)

    def _store(self, item_id: int, documents: Numbers, columns: dict[str, Numbers], anchors: AnchorTexts) -> None:
        for begin in range(0, len(documents), DOCUMENTS_PER_TRANSACTION):
            end = min(begin + DOCUMENTS_PER_TRANSACTION, len(documents))
            values = {name: column[begin:end].tolist() for name, column in columns.items()}
            names = anchors.names(begin, end)
            values["document_id"] = documents[begin:end].tolist()
            values["anchors"] = [names.get(place, "") for place in range(begin, end)]
            rows = [
                {"item_id": item_id, **dict(zip(values, row, strict=True))}
                for row in zip(*values.values(), strict=True)
            ]
            with self._database.session() as session:
                if not _replace(session.connection(), item_id, rows):
                    return


def _columns(own: LinkGraph, places: Numbers, graph: LinkGraph, pages: Numbers) -> dict[str, Numbers]:
    return {
        "rank": own.ranks[places] * len(own.keys),
        "rank_of_all": graph.ranks[pages] * len(graph.keys),
        "weight": numpy.maximum(score_weights(own.ranks)[places], score_weights(graph.ranks)[pages]),
        "inlinks": graph.inlinks[pages],
        "inlinks_of_others": graph.inlinks_of_others[pages],
    }


def _replace(connection: Connection, item_id: int, rows: list[dict[str, Any]]) -> bool:
    """Replace the weights of documents and add a journal entry; return whether their item still exists."""
    held = select(Item.id).where(Item.id == item_id, Item.state != ItemState.REMOVING).with_for_update(key_share=True)
    if connection.scalar(held) is None:
        return False
    numbers = [row["document_id"] for row in rows]
    connection.execute(delete(LinkWeight).where(LinkWeight.document_id.in_(numbers)))
    connection.execute(insert(LinkWeight), rows)
    append_to_journal(connection, JournalKind.RANKED, item_id, numbers)
    return True


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
