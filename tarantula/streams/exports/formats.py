"""The formats in which rows go out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from sqlalchemy.orm import Session

from tarantula.streams.exports.csv_rows import csv_of
from tarantula.streams.exports.json_rows import json_of
from tarantula.streams.exports.parquet import parquet_of
from tarantula.streams.exports.rows import Chosen


class Format(StrEnum):
    """How rows are written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        """What an answer that has it says it is."""
        return {
            Format.CSV: "text/csv; charset=utf-8; header=present",
            Format.JSON: "application/json",
            Format.PARQUET: "application/vnd.apache.parquet",
        }[self]


_WRITERS: dict[Format, Callable[[Session, Chosen], Iterator[bytes]]] = {
    Format.CSV: csv_of,
    Format.JSON: json_of,
    Format.PARQUET: parquet_of,
}


def exported(session: Session, what: Chosen, form: Format) -> Iterator[bytes]:
    """Yield the rows in a format, piece after piece."""
    return _WRITERS[form](session, what)
