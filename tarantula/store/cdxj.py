"""The CDXJ index of an item: a sorted line for every answer, by which replay tools find it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tarantula.store.errors_part_disk import write_errors

SORT_RUN_LINES = 200_000


class IndexRow(NamedTuple):
    """An answer, and where its record is."""

    url: str
    collected_at: datetime
    """What its record says in WARC-Date."""
    mime: str | None
    status: int
    """An HTTP code, or a state of our own, of which replay tools know nothing."""
    digest: str
    length: int
    offset: int
    filename: str


def write_cdxj(rows: Iterable[IndexRow], path: Path, run: int = SORT_RUN_LINES) -> int:
    """Write the index of *rows* to *path* in the place of an older one, and return how many lines it has.

    No more than *run* lines are in memory at a time.
    """
    lines = map(cdxj_line, rows)
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".index-", dir=path.parent) as scratch, ExitStack() as stack:
            runs = [stack.enter_context(file.open("rb")) for file in _write_runs(lines, Path(scratch), run)]
            result = Path(scratch, path.name)
            count = _write_lines(merge(*runs), result)
            with result.open("rb") as file:
                os.fsync(file)
            os.replace(result, path)
    return count


def cdxj_line(row: IndexRow) -> bytes:
    """Return the line of an answer."""
    fields = {
        "url": row.url,
        "mime": row.mime,
        "status": str(row.status) if row.status > 0 else None,
        "digest": row.digest,
        "length": str(row.length),
        "offset": str(row.offset),
        "filename": row.filename,
    }
    timestamp = row.collected_at.astimezone(UTC).strftime("%Y%m%d%H%M%S")
    content = json.dumps({name: value for name, value in fields.items() if value})
    # It brings half of what starting a collector would otherwise import, and is wanted at the end.
    from surt import surt

    return f"{surt(row.url)} {timestamp} {content}\n".encode()


def _write_runs(lines: Iterator[bytes], directory: Path, size: int) -> Iterator[Path]:
    number = 0
    while run := sorted(islice(lines, size)):
        file = directory / f"{number}.run"
        _write_lines(run, file)
        yield file
        number += 1


def _write_lines(lines: Iterable[bytes], path: Path) -> int:
    count = 0
    with path.open("xb") as file:
        for line in lines:
            file.write(line)
            count += 1
    return count
