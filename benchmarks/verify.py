"""Verification of stored files: megabytes per second of processor time, and the memory of the process.

One file of 8 KB pages without rows is read with a stored digest, as after a collection, and without one, where each
record is decompressed and hashed. An item of small documents, with rows on SQLite, is verified in a separate process,
as by `tarantula verify`, without and with `--full`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import insert, select, update

from benchmarks.crawl import ROOT
from benchmarks.large_items import new_item
from tarantula.archive.fixity import verify_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.core.urls import key_of
from tarantula.models import Document, Item
from tarantula.store.database import open_database
from tarantula.store.warc_check import StoredPosition, check_file
from tarantula.store.warc_files import register_files
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import HTML, answer, exchange

PAGE_BYTES = 8192
SMALL_BYTES = 3072
DOCUMENTS = 50_000
DOCUMENTS_PER_INSERT = 1000


def measure(pages: int = 3000, documents: int = DOCUMENTS) -> dict[str, Any]:
    """Write a file and an item, and verify each in both ways."""
    with tempfile.TemporaryDirectory() as directory:
        path, positions = _write(Path(directory), pages)
        size = path.stat().st_size
        seconds, digest = _seconds(path, positions, None)
        known, _ = _seconds(path, positions, digest)
    return {
        "pages": pages,
        "file_megabytes": round(size / 1e6, 1),
        "known_digest_megabytes_per_second": round(size / 1e6 / known),
        "each_record_megabytes_per_second": round(size / 1e6 / seconds),
        "small_documents": documents,
        **_small_documents(documents),
    }


def _small_documents(documents: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        config = Config(home=Path(directory), database_url="")
        with open_database(config) as database:
            urn = _write_item(config, database, documents)
        environment = {**os.environ, "TARANTULA_HOME": directory, "TARANTULA_DATABASE_URL": ""}
        measured = {}
        for name, option in (("default", ""), ("full", "--full")):
            command = [sys.executable, "-m", "benchmarks.verify", urn, option]
            done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
            measured[name] = json.loads(done.stdout)
    return measured


def _write_item(config: Config, database: Database, documents: int) -> str:
    """Store an archived item of small documents, one file; return its urn."""
    number, dice = new_item(database), Random(1)
    with database.engine.begin() as connection:
        urn = connection.execute(select(Item.urn)).scalar_one()
        server_id = connection.execute(select(Document.server_id)).scalar_one()
        with WarcWriter(config.items / urn / "archive", urn, {}, 1 << 60) as writer:
            for first in range(0, documents, DOCUMENTS_PER_INSERT):
                some = range(first, min(first + DOCUMENTS_PER_INSERT, documents))
                connection.execute(insert(Document), [_stored(writer, dice, number, server_id, one) for one in some])
        register_files(connection, number, writer.closed)
        connection.execute(update(Item).where(Item.id == number).values(state=ItemState.ARCHIVED))
    return urn


def _stored(writer: WarcWriter, dice: Random, item_id: int, server_id: int, number: int) -> dict[str, Any]:
    url = f"http://base.example.org/section-{number % 7}/page-{number}.html"
    one = writer.write(exchange(url, answer(HTML), b64encode(dice.randbytes(SMALL_BYTES * 3 // 4))))
    return {
        "item_id": item_id,
        "server_id": server_id,
        "key": key_of(url),
        "url": url,
        "depth": 3,
        "kind": 0,
        "redirects": 0,
        "rank": 2,
        "tries": 1,
        "state": 200,
        "type": "text/html",
        "size": SMALL_BYTES,
        "links": 27,
        "collected_at": datetime.now(UTC),
        "digest": one.digest,
        "warc": one.file,
        "warc_offset": one.offset,
        "warc_length": one.length,
    }


def _verify(urn: str, full: bool) -> dict[str, Any]:
    """Verify an item in this process; return seconds, bytes and peak memory."""
    config = Config()
    with open_database(config) as database:
        begin = time.process_time()
        check = verify_item(config, database, urn, full=full)
        seconds = time.process_time() - begin
    assert check.is_whole, check
    return {
        "file_megabytes": round(check.bytes / 1e6, 1),
        "cpu_seconds": round(seconds, 2),
        "megabytes_per_second": round(check.bytes / 1e6 / seconds),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _write(directory: Path, pages: int) -> tuple[Path, list[StoredPosition]]:
    dice = Random(1)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(5000)]
    positions = []
    with WarcWriter(directory, "verify", {}, 1 << 60) as writer:
        for number in range(pages):
            body = " ".join(dice.choices(words, k=PAGE_BYTES // 4)).encode()[:PAGE_BYTES]
            url = f"http://www.example.org/{number}"
            stored = writer.write(exchange(url, answer(HTML), body))
            positions.append(StoredPosition(stored.offset, stored.length, number, key_of(url), stored.digest.encode()))
    return directory / stored.file, positions


def _seconds(path: Path, positions: list[StoredPosition], digest: str | None) -> tuple[float, str]:
    """Return the processor time of a check, and the digest of the file."""

    def all_positions() -> Iterator[StoredPosition]:
        return iter(positions)

    begin = time.process_time()
    check = check_file(path, all_positions, None, digest)
    assert not check.problem, check.problem
    return time.process_time() - begin, check.sha256


if __name__ == "__main__":
    print(json.dumps(_verify(sys.argv[1], sys.argv[2] == "--full")))
