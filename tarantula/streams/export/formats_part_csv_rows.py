"""CSV, as RFC 4180 has it, in UTF-8."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

from sqlalchemy.orm import Session

from tarantula.store.bulk import chunks
from tarantula.streams.export.rows import ExportQuery, export_rows, moment_of

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_chunks(session: Session, what: ExportQuery) -> Iterator[bytes]:
    """Yield a header and a line for each row; moments in UTC, values as they are kept."""
    yield _lines([what.columns])
    for some in chunks(export_rows(session, what)):
        yield _lines((moment_of(row[0]).isoformat(), *_harmless(row[1:])) for row in some)


def _lines(rows: Any) -> bytes:
    written = StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


def _harmless(values: tuple[Any, ...]) -> Iterator[Any]:
    """Let no text of a foreign page be a formula of whoever opens the file with a spreadsheet; numbers stay."""
    for value in values:
        is_formula = isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value)
        yield f"'{value}" if is_formula else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
