"""Export formats, and the writers for CSV (RFC 4180, UTF-8), JSON (one object per line) and Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from io import BytesIO
from typing import Any

from tarantula.core.csv_text import csv_text
from tarantula.core.errors import TarantulaError
from tarantula.models import Source
from tarantula.store.bulk import chunks
from tarantula.streams.export.atom import atom_feed
from tarantula.streams.export.prometheus import prometheus_text, selected_numbers
from tarantula.streams.export.rows import ExportQuery, SessionOpener, export_rows
from tarantula.streams.history import moment_of
from tarantula.streams.sources.retention import Grain

PARQUET_GROUP_ROWS = 50_000
"""Rows per row group, which is held in memory."""


def csv_chunks(reading: SessionOpener, query: ExportQuery) -> Iterator[bytes]:
    """Yield a header and a line for each row; times in UTC, values as stored."""
    yield csv_text([query.columns]).encode()
    for some in chunks(export_rows(reading, query)):
        yield csv_text((moment_of(row[0]).isoformat(), *row[1:]) for row in some).encode()


def json_chunks(reading: SessionOpener, query: ExportQuery) -> Iterator[bytes]:
    """Yield a list with one object per line; values are exact texts, ``number`` is a float."""
    yield b"["
    between = "\n"
    for some in chunks(export_rows(reading, query)):
        lines = []
        for row in some:
            named = dict(zip(query.columns, (moment_of(row[0]).isoformat(), *row[1:]), strict=True))
            lines.append(json.dumps(named, ensure_ascii=False, allow_nan=False))
        yield (between + ",\n".join(lines)).encode()
        between = ",\n"
    yield b"\n]\n"


class _ChunkBuffer(BytesIO):
    """Buffer that returns what was written since the last call."""

    def taken(self) -> bytes:
        """Return and remove the content; the writer's position is not affected."""
        data = self.getvalue()
        self.seek(0)
        self.truncate()
        return data


def parquet_chunks(reading: SessionOpener, query: ExportQuery) -> Iterator[bytes]:
    """Yield a Parquet file; times in UTC, values are exact texts, ``number`` is a float."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise TarantulaError("Parquet is written with pyarrow: pip install 'tarantula[streams]'") from error
    schema = pyarrow.schema([(column, _type(pyarrow, column)) for column in query.columns])
    outlet = _ChunkBuffer()
    with parquet.ParquetWriter(pyarrow.PythonFile(outlet, mode="w"), schema) as writer:
        for some in chunks(export_rows(reading, query), PARQUET_GROUP_ROWS):
            columns = [list(column) for column in zip(*some, strict=True)]
            arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            yield outlet.taken()
    yield outlet.taken()


def _type(pyarrow: Any, column: str) -> Any:
    if column in ("at", "start"):
        return pyarrow.timestamp("us", "UTC")
    return {"count": pyarrow.int64(), "number": pyarrow.float64()}.get(column, pyarrow.string())


class StreamFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ATOM = "atom"
    """Feed of the newest events."""
    PROMETHEUS = "prometheus"
    """Latest numeric values."""

    @property
    def media_type(self) -> str:
        return {
            StreamFormat.CSV: "text/csv; charset=utf-8; header=present",
            StreamFormat.JSON: "application/json",
            StreamFormat.PARQUET: "application/vnd.apache.parquet",
            StreamFormat.ATOM: "application/atom+xml",
            StreamFormat.PROMETHEUS: "text/plain; version=0.0.4; charset=utf-8",
        }[self]


_OF_ROWS: dict[StreamFormat, Callable[[SessionOpener, ExportQuery], Iterator[bytes]]] = {
    StreamFormat.CSV: csv_chunks,
    StreamFormat.JSON: json_chunks,
    StreamFormat.PARQUET: parquet_chunks,
}


def check_format(query: ExportQuery, form: StreamFormat) -> None:
    """Raise an error if a format cannot hold the selected rows."""
    if form not in _OF_ROWS and query.grain is not Grain.EVENT:
        raise TarantulaError(
            "Levels can be exported as {forms}; {form} holds events only. "
            "Choose another format, or leave the grain out.",
            forms=", ".join(_OF_ROWS),
            form=form,
        )


def export_chunks(
    reading: SessionOpener, source: Source, query: ExportQuery, form: StreamFormat, address: str = ""
) -> Iterator[bytes]:
    """Yield the export in chunks, with no session open between two of them.

    *address* is the URL at which a feed will be available.
    """
    if form in _OF_ROWS:
        yield from _OF_ROWS[form](reading, query)
        return
    with reading() as session:
        if form is StreamFormat.ATOM:
            whole = atom_feed(session, source, query, address)
        else:
            whole = prometheus_text(selected_numbers(session, query))
    yield whole
