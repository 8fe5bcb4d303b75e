"""What was read, out again: CSV, JSON, Parquet, an Atom feed, Prometheus."""

from tarantula.streams.export.atom import atom_of
from tarantula.streams.export.formats import Format, check, exported
from tarantula.streams.export.formats_part_csv_rows import csv_of
from tarantula.streams.export.formats_part_json_rows import json_of
from tarantula.streams.export.formats_part_parquet import parquet_of
from tarantula.streams.export.prometheus import last_numbers, prometheus_of
from tarantula.streams.export.rows import Chosen, chosen

__all__ = [
    "Chosen",
    "Format",
    "atom_of",
    "check",
    "chosen",
    "csv_of",
    "exported",
    "json_of",
    "last_numbers",
    "parquet_of",
    "prometheus_of",
]
