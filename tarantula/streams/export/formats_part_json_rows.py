"""JSON: a list of objects, one a line, so that a program may also read line after line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy.orm import Session

from tarantula.store.bulk import chunks
from tarantula.streams.export.rows import Chosen, moment, rows_of


def json_of(session: Session, what: Chosen) -> Iterator[bytes]:
    """Yield the list; values are texts, exact, and ``number`` is what they are for drawing."""
    yield b"["
    between = "\n"
    for some in chunks(rows_of(session, what)):
        lines = []
        for row in some:
            named = dict(zip(what.columns, (moment(row[0]).isoformat(), *row[1:]), strict=True))
            lines.append(json.dumps(named, ensure_ascii=False, allow_nan=False))
        yield (between + ",\n".join(lines)).encode()
        between = ",\n"
    yield b"\n]\n"
