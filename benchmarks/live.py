"""Cost of fifty open pages of a running item for its collector, and the delay until they show a document.

Collections without open pages and collections with fifty open pages, which receive live updates, are timed in turns.
All processes share this machine, so the work of the readers counts against the pages. In one more collection, one
reader records when it is notified of how many finished documents, while another query counts the committed ones.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

from benchmarks.crawl import BIN, NAME, ROOT, check_visited, describe, environment, run
from benchmarks.postgresql import cpu_of
from tarantula.core.config import Config
from tarantula.lifecycle.coordinator import prepare_item
from tests.sites.large import LargeWeb

PAGES = 50
"""Pages that are open at the same time."""
ROUNDS = 3
GLANCE = 0.02
"""Seconds between two queries for committed documents."""


def measure(pages: int = 3000, servers: int = 64, rounds: int = ROUNDS) -> dict[str, Any]:
    """Compare documents per second with and without open pages, and measure the display delay."""
    alone: list[float] = []
    watched: list[float] = []
    delays: list[float] = []
    used = 0.0
    with LargeWeb(pages, servers) as web:
        for _ in range(rounds):
            alone.append(_collect(web, 0).seconds)
            result = _collect(web, PAGES)
            watched.append(result.seconds)
            used += result.cpu
        _collect(web, PAGES, delays)
    ratio = median(alone) / median(watched)
    return {
        "ratio_watched_to_alone": round(ratio, 3),
        "alone_documents_per_second": round(pages / median(alone), 1),
        "watched_documents_per_second": round(pages / median(watched), 1),
        "pages_open": PAGES,
        "seen_after_ms_median": round(median(delays) * 1000),
        "seen_after_ms_p95": round(quantiles(delays, n=20)[18] * 1000),
        "seen_after_ms_longest": round(max(delays) * 1000),
        "documents_seen": len(delays),
        "pages_cpu_share": round(used / rounds, 3),
        "documents": pages,
        "rounds": rounds,
    }


class CollectionTime:
    """Result of one collection."""

    def __init__(self, seconds: float, cpu: float) -> None:
        self.seconds = seconds
        self.cpu = cpu
        """CPU share of the web server, in cores."""


def _collect(web: LargeWeb, readers: int, delays: list[float] | None = None) -> CollectionTime:
    web.visits.clear()
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        describe(web, work)
        # The pages are open before the collection starts.
        urn = prepare_item(Config(home=work / "home", database_url=""), NAME)
        with (
            _served(work) as (process, address, cookie),
            _read_streams(address, cookie, urn, readers, work, delays),
        ):
            before, began = cpu_of(process.pid), time.monotonic()
            run(work, "scrapy", "crawl", NAME, "-a", f"item={urn}")
            ended = time.monotonic()
            used = (cpu_of(process.pid) - before) / (ended - began)
        check_visited(web)
    return CollectionTime(ended - web.visits[0].time, used)


@contextmanager
def _served(work: Path) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int], str]]:
    """Start the web server and log in with the printed link."""
    process = subprocess.Popen(
        [str(BIN / "tarantula"), "web", "--port", "0"],
        cwd=ROOT,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        link = urlsplit(process.stdout.readline().strip())
        address = (link.hostname or "", link.port or 0)
        yield process, address, _cookie(address, f"{link.path}?{link.query}")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _cookie(address: tuple[str, int], path: str) -> str:
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(_request(path, address, ""))
        answer = connection.recv(65536).decode("latin-1")
    lines = [line.partition(":")[2] for line in answer.split("\r\n") if line.lower().startswith("set-cookie:")]
    return "; ".join(f"{name}={one.value}" for line in lines for name, one in SimpleCookie(line.strip()).items())


def _request(path: str, address: tuple[str, int], cookie: str) -> bytes:
    host, port = address
    return f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n\r\n".encode()


@contextmanager
def _read_streams(
    address: tuple[str, int], cookie: str, urn: str, readers: int, work: Path, delays: list[float] | None
) -> Iterator[None]:
    """Open a number of pages and read their event streams, in a separate process."""
    if not readers:
        yield
        return
    _open_pages(address, cookie, urn, readers)
    context = multiprocessing.get_context("spawn")
    stop, results = context.Event(), context.SimpleQueue()
    noted = work / "home" / "tarantula.sqlite" if delays is not None else None
    process = context.Process(target=_read, args=(address, cookie, urn, readers, noted, stop, results))
    process.start()
    # All pages are open.
    results.get()
    try:
        yield
        # The last commit is shown within a second, or never.
        time.sleep(1.5)
    finally:
        stop.set()
        seen, committed = results.get()
        process.join()
    if len(seen) < len(committed):
        raise SystemExit(f"Only {len(seen)} of {len(committed)} documents were ever shown as done.")
    if delays is not None:
        delays += [max(shown - at, 0.0) for shown, at in zip(seen, committed, strict=False)]


def _open_pages(address: tuple[str, int], cookie: str, urn: str, readers: int) -> None:
    """Load the page as often as browsers do before they open the event stream."""
    for _ in range(readers):
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(_request(f"/items/{urn}", address, cookie))
            if b" 200 " not in connection.recv(4096):
                raise SystemExit("The page of the item is not served.")


def _read(
    address: tuple[str, int], cookie: str, urn: str, readers: int, noted: Path | None, stop: Any, results: Any
) -> None:
    """Read the event streams; record what the first one shows, and in parallel what is committed."""
    selector = DefaultSelector()
    connections = [socket.create_connection(address, timeout=30) for _ in range(readers)]
    for connection in connections:
        connection.sendall(_request(f"/api/items/{urn}/live", address, cookie))
        connection.setblocking(False)
        selector.register(connection, EVENT_READ)
    results.put(None)
    database = sqlite3.connect(noted) if noted is not None else None
    kept, seen, committed = b"", list[float](), list[float]()
    while not stop.is_set():
        for key, _ in selector.select(GLANCE if database else 0.1):
            reader: Any = key.fileobj
            piece = reader.recv(1 << 16)
            if reader is connections[0]:
                kept = _see(kept + piece, seen)
            if not piece:
                selector.unregister(reader)
        if database:
            _note_commits(database, committed)
    results.put((seen, committed))


def _see(kept: bytes, seen: list[float]) -> bytes:
    """Record when each document was first shown as done; return the incomplete rest of a message."""
    now = time.monotonic()
    *messages, rest = kept.split(b"\n\n")
    for message in messages:
        _, found, data = message.partition(b"data: ")
        if found and data.startswith(b'{"urn"'):
            seen += [now] * (json.loads(data)["done"] - len(seen))
    return rest


def _note_commits(database: sqlite3.Connection, committed: list[float]) -> None:
    """Record when each document was first visible in the database."""
    number = database.execute("SELECT count(*) FROM document WHERE collected_at IS NOT NULL").fetchone()[0]
    committed += [time.monotonic()] * (number - len(committed))
