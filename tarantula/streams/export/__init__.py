"""Export of stored values: CSV, JSON, Parquet, an Atom feed, Prometheus."""

from tarantula.streams.export.atom import atom_feed
from tarantula.streams.export.formats import (
    StreamFormat,
    check_format,
    csv_chunks,
    export_chunks,
    json_chunks,
    parquet_chunks,
)
from tarantula.streams.export.prometheus import last_numbers, prometheus_text
from tarantula.streams.export.rows import ExportQuery, SessionOpener, select_export

__all__ = [
    "ExportQuery",
    "SessionOpener",
    "StreamFormat",
    "atom_feed",
    "check_format",
    "csv_chunks",
    "export_chunks",
    "json_chunks",
    "last_numbers",
    "parquet_chunks",
    "prometheus_text",
    "select_export",
]
