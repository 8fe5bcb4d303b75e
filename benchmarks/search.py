"""How quickly made-up documents are indexed on one core, and how long questions take through a gateway.

Words are as frequent as in languages (Zipf), and documents a few hundred words long, with links and with what nearly
equal ones are told by. They are in the tables of a database as the reader writes them; an index takes them from there.
Then a barrel and a gateway are started as anybody starts them, and several ask without a pause.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from sqlalchemy import select

from benchmarks.crawl import BIN, ROOT, environment
from benchmarks.postgresql import cpu_of
from tarantula.config import Config
from tarantula.db import Database, open_database
from tarantula.listings import find_item
from tarantula.models import Document
from tarantula.new_items import create_item
from tarantula.publications import registry
from tarantula.publications.config import read
from tarantula.search.content import Content
from tarantula.search.likeness import BINS
from tarantula.search.reader import store_texts
from tarantula.states import DocumentState
from tarantula.store.documents import DocumentTable, Outcome
from tarantula.store.found import Found
from tarantula.urls import key_of

CLIENTS = 8
QUESTIONS = 2_000
WORDS = 100_000
"""Different ones."""
LENGTH = 350
"""Words of a document, on the average."""
LINKS = 10
"""Of a document."""
MIX = "words as frequent as in the texts: 30 % one, 40 % two, 20 % three, 10 % two as a phrase; every tenth with site:"
SERVERS = 50
TOGETHER = 100
"""Documents that are read in one transaction."""
LENGTHS = (2, 1, 1, 1, 2, 2, 2, 2, 3, 3)
"""Words of ten questions; the first are a phrase."""
SYLLABLES = [consonant + vowel for consonant in "bcdfglmnprstv" for vowel in "aeiou"]


class Texts:
    """Makes up documents and questions, always the same."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(2026)
        numbers = self._random.permutation(len(SYLLABLES) ** 3)[:WORDS]
        self._words = np.array(["".join(_syllables(int(number))) for number in numbers])
        frequency = 1.0 / np.arange(1, WORDS + 1) ** 1.05
        self._up_to = np.cumsum(frequency / frequency.sum())

    def words(self, number: int) -> list[str]:
        """Return so many words, as frequent as they are."""
        drawn = np.searchsorted(self._up_to, self._random.random(number))
        return [str(word) for word in self._words[np.minimum(drawn, WORDS - 1)]]

    def content(self) -> Content:
        """Return what a document says."""
        length = int(np.clip(self._random.lognormal(np.log(LENGTH) - 0.18, 0.6), 50, 3000))
        words = self.words(length)
        return Content(
            *(" ".join(words[:6]), " ".join(words[6:12]), "", " ".join(words), " ".join(words[:30]), "en"),
            anchors=[(self._random.bytes(16).hex(), word) for word in words[:LINKS]],
            likeness=self._random.bytes(BINS).hex(),
        )

    def question(self, number: int) -> str:
        """Return a question of the mix."""
        words = " ".join(self.words(LENGTHS[number % 10]))
        if number % 10 == 0:
            words = f'"{words}"'
        return f"{words} site:s{number % SERVERS}.example" if number // 10 % 10 == number % 10 else words


def _syllables(number: int) -> Iterator[str]:
    for _ in range(3):
        number, rest = divmod(number, len(SYLLABLES))
        yield SYLLABLES[rest]


def measure(documents: int = 100_000) -> dict[str, Any]:
    """Index, ask, and weigh."""
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        installation = Config(home=work / "home", database_url="")
        with open_database(installation) as database:
            fill(database, documents)
        indexed = _indexed(installation, work / "barrel")
        asked = _asked(work)
    return {"documents": documents, **indexed, **asked, "clients": CLIENTS, "questions": QUESTIONS, "mix": MIX}


def fill(database: Database, documents: int) -> None:
    """Write documents into the tables, as they are when they were collected and read."""
    texts, numbers = Texts(), iter(range(documents))
    with database.session() as session:
        registry.add(session, read({"name": "made-up", "base_url": "http://s0.example/"}))
        urn = create_item(session, registry.get(session, "made-up"), datetime.now(UTC)).urn
    while chunk := list(islice(numbers, TOGETHER)):
        with database.session() as session:
            _write(session, find_item(session, urn).id, {_url(number): texts.content() for number in chunk})


def _url(number: int) -> str:
    return f"http://s{number % SERVERS}.example/section-{number % 7}/page-{number}.html"


def _write(session: Any, item: int, contents: dict[str, Content]) -> None:
    table, connection, now = DocumentTable(item), session.connection(), datetime.now(UTC)
    waiting = int(DocumentState.WAITING)
    found = [Found(key_of(url), url, urlsplit(url).netloc, 1, 0, 0, 0, 1, waiting, None, None) for url in contents]
    table.insert_found(connection, found)
    ids = dict(connection.execute(select(Document.url, Document.id).where(Document.url.in_(contents))).all())
    outcomes = [Outcome(ids[url], 200, type="text/html", digest=f"sha1:{url}", collected_at=now) for url in contents]
    table.finish(connection, outcomes)
    store_texts(connection, item, {ids[url]: content for url, content in contents.items()})


def _indexed(installation: Config, folder: Path) -> dict[str, Any]:
    """Build an index in a process of its own, which has one core."""
    told = multiprocessing.get_context("spawn").SimpleQueue()
    process = multiprocessing.get_context("spawn").Process(target=_index, args=(installation, folder, told))
    process.start()
    documents, seconds, cpu = told.get()
    process.join()
    return {
        "indexed_per_second": round(documents / seconds),
        "indexed_per_cpu_second": round(documents / cpu),
        "index_mb": round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6),
    }


def _index(installation: Config, folder: Path, told: Any) -> None:
    from tarantula.search.index import Index
    from tarantula.search.indexer import Indexer

    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    with open_database(installation) as database:
        index = Index(folder, is_for_writing=True)
        indexer = Indexer(database, index, in_order=True)
        began, cpu, documents = time.monotonic(), time.process_time(), 0
        while not (step := indexer.step()).is_up_to_date:
            documents += step.documents
        told.put((documents, time.monotonic() - began, time.process_time() - cpu))
        index.close()


def _asked(work: Path) -> dict[str, Any]:
    with (
        _started(work, "barrel", "--folder", str(work / "barrel")) as (barrel, _),
        _started(work, "gateway", "--port", "0") as (gateway, address),
    ):
        _wait(address)
        texts = Texts()
        questions = [texts.question(number) for number in range(QUESTIONS)]
        seconds: list[float] = []
        used, began = (cpu_of(barrel.pid), cpu_of(gateway.pid)), time.monotonic()
        clients = [
            Thread(target=_ask, args=(address, questions[number::CLIENTS], seconds)) for number in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        took = time.monotonic() - began
        used = cpu_of(barrel.pid) - used[0], cpu_of(gateway.pid) - used[1]
        status = Path(f"/proc/{barrel.pid}/status").read_text()
    if len(seconds) != QUESTIONS:
        raise SystemExit(f"Only {len(seconds)} of {QUESTIONS} questions were answered")
    return {
        "median_ms": round(median(seconds) * 1000, 1),
        "p95_ms": round(quantiles(seconds, n=20)[18] * 1000, 1),
        "longest_ms": round(max(seconds) * 1000, 1),
        "answers_per_second": round(QUESTIONS / took),
        "barrel_cpu_ms": round(used[0] / QUESTIONS * 1000, 2),
        "gateway_cpu_ms": round(used[1] / QUESTIONS * 1000, 2),
        "barrel_mb": _megabytes(status, "VmHWM"),
        "barrel_without_files_mb": _megabytes(status, "RssAnon"),
    }


def _megabytes(status: str, what: str) -> int:
    return round(int(re.findall(rf"{what}:\s+(\d+) kB", status)[0]) / 1000)


def _wait(address: str) -> None:
    """Wait until the barrel has caught up."""
    ends = time.monotonic() + 120
    while _post(HTTPConnection(urlsplit(address).netloc), "nothing") != 200:
        if time.monotonic() > ends:
            raise SystemExit("The barrel is never ready")
        time.sleep(0.2)


def _ask(address: str, questions: list[str], seconds: list[float]) -> None:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=30)
    for question in questions:
        began = time.monotonic()
        if _post(connection, question) == 200:
            seconds.append(time.monotonic() - began)


def _post(connection: HTTPConnection, question: str) -> int:
    connection.request("POST", "/find", json.dumps({"query": question}), {"Content-Type": "application/json"})
    with connection.getresponse() as answer:
        answer.read()
        return answer.status


@contextmanager
def _started(work: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [str(BIN / "tarantula"), *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(work), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)
