"""The formats in which what was read goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.streams.export.atom import atom_feed
from tarantula.streams.export.formats_part_csv_rows import csv_chunks
from tarantula.streams.export.formats_part_json_rows import json_chunks
from tarantula.streams.export.formats_part_parquet import parquet_chunks
from tarantula.streams.export.prometheus import prometheus_text, selected_numbers
from tarantula.streams.export.rows import ExportQuery
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Source


class StreamFormat(StrEnum):
    """How it is written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ATOM = "atom"
    """A feed of the newest events."""
    PROMETHEUS = "prometheus"
    """The last values that are numbers."""

    @property
    def media_type(self) -> str:
        """What an answer that has it says it is."""
        return {
            StreamFormat.CSV: "text/csv; charset=utf-8; header=present",
            StreamFormat.JSON: "application/json",
            StreamFormat.PARQUET: "application/vnd.apache.parquet",
            StreamFormat.ATOM: "application/atom+xml",
            StreamFormat.PROMETHEUS: "text/plain; version=0.0.4; charset=utf-8",
        }[self]


_OF_ROWS: dict[StreamFormat, Callable[[Session, ExportQuery], Iterator[bytes]]] = {
    StreamFormat.CSV: csv_chunks,
    StreamFormat.JSON: json_chunks,
    StreamFormat.PARQUET: parquet_chunks,
}


def check_format(what: ExportQuery, form: StreamFormat) -> None:
    """Refuse to write something in a way that has no place for it."""
    if form not in _OF_ROWS and what.grain is not Grain.EVENT:
        raise TarantulaError(
            f"What is summed up is written as {', '.join(_OF_ROWS)}; as {form}, single events are. "
            "Choose another format, or leave the grain out."
        )


def export_chunks(
    session: Session, source: Source, what: ExportQuery, form: StreamFormat, address: str = ""
) -> Iterator[bytes]:
    """Yield what was read in a format, piece after piece; *address* is where it will be had."""
    if form in _OF_ROWS:
        yield from _OF_ROWS[form](session, what)
    elif form is StreamFormat.ATOM:
        yield atom_feed(session, source, what, address)
    else:
        yield prometheus_text(selected_numbers(session, what))
