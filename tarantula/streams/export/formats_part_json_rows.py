"""JSON: a list of objects, one a line, so that a program may also read line after line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy.orm import Session

from tarantula.store.bulk import chunks
from tarantula.streams.export.rows import ExportQuery, export_rows, moment_of


def json_chunks(session: Session, what: ExportQuery) -> Iterator[bytes]:
    """Yield the list; values are texts, exact, and ``number`` is what they are for drawing."""
    yield b"["
    between = "\n"
    for some in chunks(export_rows(session, what)):
        lines = []
        for row in some:
            named = dict(zip(what.columns, (moment_of(row[0]).isoformat(), *row[1:]), strict=True))
            lines.append(json.dumps(named, ensure_ascii=False, allow_nan=False))
        yield (between + ",\n".join(lines)).encode()
        between = ",\n"
    yield b"\n]\n"
