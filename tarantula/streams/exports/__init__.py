"""What was read, out again: CSV, JSON, Parquet, an Atom feed, Prometheus."""

from tarantula.streams.exports.atom import atom_of
from tarantula.streams.exports.csv_rows import csv_of
from tarantula.streams.exports.formats import Format, check, exported
from tarantula.streams.exports.json_rows import json_of
from tarantula.streams.exports.parquet import parquet_of
from tarantula.streams.exports.prometheus import last_numbers, prometheus_of
from tarantula.streams.exports.rows import Chosen, chosen

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
