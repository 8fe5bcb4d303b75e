"""Verification of one large WARC file: megabytes per second of one core, and the memory of the process.

The file has pages of 8 KB. Read with a stored digest, as after a collection, and without one, when each record is
decompressed and hashed.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tarantula.core.urls import key_of
from tarantula.store.warc_check import StoredPosition, check_file
from tarantula.store.warc_writer import WarcWriter
from tests.support.exchanges import HTML, answer, exchange

PAGE_BYTES = 8192


def measure(pages: int = 3000) -> dict[str, Any]:
    """Write a file, and verify it in both ways."""
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
