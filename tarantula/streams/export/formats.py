"""The formats in which what was read goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.streams.export.atom import atom_of
from tarantula.streams.export.formats_part_csv_rows import csv_of
from tarantula.streams.export.formats_part_json_rows import json_of
from tarantula.streams.export.formats_part_parquet import parquet_of
from tarantula.streams.export.prometheus import numbers_of, prometheus_of
from tarantula.streams.export.rows import Chosen
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Source


class Format(StrEnum):
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
            Format.CSV: "text/csv; charset=utf-8; header=present",
            Format.JSON: "application/json",
            Format.PARQUET: "application/vnd.apache.parquet",
            Format.ATOM: "application/atom+xml",
            Format.PROMETHEUS: "text/plain; version=0.0.4; charset=utf-8",
        }[self]


_OF_ROWS: dict[Format, Callable[[Session, Chosen], Iterator[bytes]]] = {
    Format.CSV: csv_of,
    Format.JSON: json_of,
    Format.PARQUET: parquet_of,
}


def check(what: Chosen, form: Format) -> None:
    """Refuse to write something in a way that has no place for it."""
    if form not in _OF_ROWS and what.grain is not Grain.EVENT:
        raise TarantulaError(
            f"What is summed up is written as {', '.join(_OF_ROWS)}; as {form}, single events are. "
            "Choose another format, or leave the grain out."
        )


def exported(session: Session, source: Source, what: Chosen, form: Format, address: str = "") -> Iterator[bytes]:
    """Yield what was read in a format, piece after piece; *address* is where it will be had."""
    if form in _OF_ROWS:
        yield from _OF_ROWS[form](session, what)
    elif form is Format.ATOM:
        yield atom_of(session, source, what, address)
    else:
        yield prometheus_of(numbers_of(session, what))
