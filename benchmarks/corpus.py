"""Synthetic documents and queries, the same in every run; word frequencies follow Zipf's law."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from sqlalchemy import insert, select

from tarantula.core.database import Database
from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document, LinkWeight
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.search.ranks.graph import BEST_PAGE_FACTOR
from tarantula.search.texts.content import ExtractedText
from tarantula.search.texts.reader import store_texts
from tarantula.search.texts.similarity import SIGNATURE_BYTES
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome, DocumentTable
from tarantula.store.listings import find_item

WORDS = 100_000
"""Distinct words."""
LENGTH = 350
"""Mean number of words of a document."""
LINKS = 10
"""Links of a document."""
HEAVIEST = 2**BEST_PAGE_FACTOR - 2
"""Largest link weight in an index."""
SERVERS = 50
TOGETHER = 100
"""Documents in one transaction."""
MIX = "words as frequent as in the texts: 30 % one, 40 % two, 20 % three, 10 % two as a phrase; every tenth with site:"
LENGTHS = (2, 1, 1, 1, 2, 2, 2, 2, 3, 3)
"""Numbers of words of ten queries; the first is a phrase."""
SYLLABLES = [consonant + vowel for consonant in "bcdfglmnprstv" for vowel in "aeiou"]


class Texts:
    """Generates documents and queries, the same in every run."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(2026)
        numbers = self._random.permutation(len(SYLLABLES) ** 3)[:WORDS]
        self._words = np.array(["".join(_syllables(int(number))) for number in numbers])
        frequency = 1.0 / np.arange(1, WORDS + 1) ** 1.05
        self._up_to = np.cumsum(frequency / frequency.sum())

    def words(self, number: int) -> list[str]:
        """Return a number of words, drawn by their frequency."""
        drawn = np.searchsorted(self._up_to, self._random.random(number))
        return [str(word) for word in self._words[np.minimum(drawn, WORDS - 1)]]

    def content(self) -> ExtractedText:
        """Return the text of a document."""
        length = int(np.clip(self._random.lognormal(np.log(LENGTH) - 0.18, 0.6), 50, 3000))
        words = self.words(length)
        return ExtractedText(
            *(" ".join(words[:6]), " ".join(words[6:12]), "", " ".join(words), " ".join(words[:30]), "en"),
            anchors=[(self._random.bytes(16).hex(), word) for word in words[:LINKS]],
            signature=self._random.bytes(SIGNATURE_BYTES).hex(),
        )

    def question(self, number: int) -> str:
        """Return a query of the mix."""
        words = " ".join(self.words(LENGTHS[number % 10]))
        if number % 10 == 0:
            words = f'"{words}"'
        return f"{words} site:s{number % SERVERS}.example" if number // 10 % 10 == number % 10 else words


def _syllables(number: int) -> Iterator[str]:
    for _ in range(3):
        number, rest = divmod(number, len(SYLLABLES))
        yield SYLLABLES[rest]


def fill(database: Database, documents: int) -> None:
    """Insert documents into the tables, as after collection and text extraction."""
    texts, numbers = Texts(), iter(range(documents))
    with database.session() as session:
        registry.add_publication(session, read_config({"name": "made-up", "base_url": "http://s0.example/"}))
        urn = create_item(session, registry.get_publication(session, "made-up"), datetime.now(UTC)).urn
    while chunk := list(islice(numbers, TOGETHER)):
        with database.session() as session:
            _write(session, find_item(session, urn).id, {_url(number): texts.content() for number in chunk})


def _url(number: int) -> str:
    return f"http://s{number % SERVERS}.example/section-{number % 7}/page-{number}.html"


def _write(session: Any, item: int, contents: dict[str, ExtractedText]) -> None:
    table, connection, now = DocumentTable(item), session.connection(), datetime.now(UTC)
    waiting = int(DocumentState.WAITING)
    found = [
        DiscoveredUrl(key_of(url), url, urlsplit(url).netloc, 1, 0, 0, 0, 1, waiting, None, None) for url in contents
    ]
    table.insert_urls(connection, found)
    ids = dict(connection.execute(select(Document.url, Document.id).where(Document.url.in_(contents))).all())
    outcomes = [
        DocumentOutcome(ids[url], 200, type="text/html", digest=f"sha1:{url}", collected_at=now) for url in contents
    ]
    table.finish(connection, outcomes)
    weights = [_weight(number, item, ids[url]) for number, url in enumerate(contents)]
    connection.execute(insert(LinkWeight), weights)
    store_texts(connection, item, {ids[url]: content for url, content in contents.items()})


def _weight(number: int, item: int, document: int) -> dict[str, Any]:
    """Return the link weight of a document: none for every second one, much for few."""
    weight = HEAVIEST * (number / TOGETHER) ** 8 if number % 2 else 0.0
    columns = {"rank": 1.0, "rank_of_all": 1.0, "weight": weight, "inlinks": LINKS, "inlinks_of_others": 0}
    return {"document_id": document, "item_id": item, "anchors": "", **columns}
