"""Indexing rate of synthetic documents on one core, and query latency through a gateway.

Documents have a few hundred words, links, link weights and the fingerprints by which near-duplicates are found. They
are in the tables of a database, as text extraction writes them; an index reads them from there. Then a barrel and a
gateway are started with their commands, and several clients send queries without a pause.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from statistics import median, quantiles
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from benchmarks.corpus import MIX, Texts, fill
from benchmarks.crawl import BIN, ROOT, environment
from benchmarks.postgresql import cpu_of
from tarantula.core.config import Config
from tarantula.search.barrels.signatures import RequestSigner, SearchKeys
from tarantula.store.database import open_database

CLIENTS = 8
QUESTIONS = 2_000
HEAD = (
    b"POST /find HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Tarantula-Signature: %b\r\nContent-Length: %d\r\n\r\n"
)
SIZE = 1 << 16
"""Bytes read from a response at once."""


def measure(documents: int = 100_000) -> dict[str, Any]:
    """Measure indexing, queries and the size of the index."""
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        installation = Config(home=work / "home", database_url="")
        with open_database(installation) as database:
            fill(database, documents)
        indexed = _indexed(installation, work / "barrel")
        asked = _asked(work)
    return {"documents": documents, **indexed, **asked, "clients": CLIENTS, "questions": QUESTIONS, "mix": MIX}


def _indexed(installation: Config, folder: Path) -> dict[str, Any]:
    """Build an index in a separate process on one core."""
    results = multiprocessing.get_context("spawn").SimpleQueue()
    process = multiprocessing.get_context("spawn").Process(target=_index, args=(installation, folder, results))
    process.start()
    documents, seconds, cpu = results.get()
    process.join()
    return {
        "indexed_per_second": round(documents / seconds),
        "indexed_per_cpu_second": round(documents / cpu),
        "index_mb": round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6),
    }


def _index(installation: Config, folder: Path, results: Any) -> None:
    from tarantula.search.index.indexer import Indexer
    from tarantula.search.index.storage import SearchIndex

    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    with open_database(installation) as database:
        index = SearchIndex(folder, is_for_writing=True)
        indexer = Indexer(database, index, in_order=True)
        began, cpu, documents = time.monotonic(), time.process_time(), 0
        while not (step := indexer.step()).is_up_to_date:
            documents += step.documents
        results.put((documents, time.monotonic() - began, time.process_time() - cpu))
        index.close()


def _asked(work: Path) -> dict[str, Any]:
    with (
        _started(work, "barrel", "--folder", str(work / "barrel")) as (barrel, _),
        _started(work, "gateway", "--port", "0") as (gateway, address),
    ):
        signer = RequestSigner(SearchKeys(Config(home=work / "home")))
        _wait(address, signer)
        texts = Texts()
        questions = [texts.question(number) for number in range(QUESTIONS)]
        seconds: list[float] = []
        used, began = (cpu_of(barrel.pid), cpu_of(gateway.pid)), time.monotonic()
        clients = [
            Thread(target=_ask, args=(address, signer, questions[number::CLIENTS], seconds))
            for number in range(CLIENTS)
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


def _wait(address: str, signer: RequestSigner) -> None:
    """Wait until the barrel has caught up."""
    ends = time.monotonic() + 120
    with _connected(address) as connection:
        while _post(connection, signer, "nothing") != HTTPStatus.OK:
            if time.monotonic() > ends:
                raise SystemExit("The barrel is never ready")
            time.sleep(0.2)


def _ask(address: str, signer: RequestSigner, questions: list[str], seconds: list[float]) -> None:
    with _connected(address) as connection:
        for question in questions:
            began = time.monotonic()
            if _post(connection, signer, question) == HTTPStatus.OK:
                seconds.append(time.monotonic() - began)


def _connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def _post(connection: socket.socket, signer: RequestSigner, question: str) -> int:
    """Send a query and read the response; a client library would cost as much CPU as the gateway."""
    body = json.dumps({"query": question}).encode()
    signature = signer.sign("", "/find", body)
    assert signature is not None
    connection.sendall(HEAD % (signature.header.encode(), len(body)) + body)
    head, _, got = connection.recv(SIZE).partition(b"\r\n\r\n")
    missing = int(re.findall(rb"Content-Length: (\d+)", head)[0]) - len(got)
    while missing > 0 and (got := connection.recv(SIZE)):
        missing -= len(got)
    return int(head.split()[1]) if not missing else 0


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
