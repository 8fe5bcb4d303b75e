"""The rows of a report's tables, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tarantula.archive.quality.report import UNKNOWN_TYPE, ItemReport
from tarantula.services.reports import REPORT_TABLES
from tarantula.web.format_part_figures import format_number, format_share, format_size
from tarantula.web.i18n import _, mark

TABLE_TITLES: Mapping[str, str] = {
    "states": mark("States of the documents"),
    "types": mark("Types of the collected documents"),
    "sizes": mark("Sizes of the collected documents"),
    "servers": mark("Servers that were visited"),
}

_COUNTS = (("documents", mark("Documents"), True), ("percent", mark("Share"), True))
_BYTES = ("bytes", mark("Size"), True)
TABLE_HEADINGS: Mapping[str, tuple[tuple[str, str, bool], ...]] = {
    "states": (("name", mark("State"), False), *_COUNTS),
    "types": (("name", mark("Type"), False), *_COUNTS, _BYTES),
    "sizes": (("name", mark("Size (KB)"), False), *_COUNTS),
    "servers": (("name", mark("Server"), False), *_COUNTS, _BYTES),
}
"""The columns of each table: key, heading, and whether it is a number."""


def table_rows(report: ItemReport, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table of an item."""
    chosen = REPORT_TABLES[table]
    return [
        {
            "key": chosen.key(row),
            "name": _name(table, row),
            "documents": row.documents,
            "percent": format_share(row.percent),
            "bytes": format_size(getattr(row, "bytes", 0)),
        }
        for row in chosen.rows(report)
    ]


def documents_by_name(report: ItemReport, table: str) -> dict[str, int]:
    """Return how many documents each thing has that a table counts."""
    return {_name(table, row): row.documents for row in REPORT_TABLES[table].rows(report)}


def ordered_names(found: Sequence[ItemReport], table: str) -> list[str]:
    """Return what a table counts in any of the items: sizes from the smallest, all else as it is met."""
    rows = [row for report in found for row in REPORT_TABLES[table].rows(report)]
    if table == "sizes":
        rows.sort(key=lambda row: row.to_kb)
    return list(dict.fromkeys(_name(table, row) for row in rows))


def _name(table: str, row: Any) -> str:
    if table == "states":
        return f"{row.state} · {_(row.meaning)}"
    if table == "sizes":
        return f"{format_number(row.from_kb)} – {format_number(row.to_kb)}"
    name = str(row.type if table == "types" else row.server)
    return _(name) if name == UNKNOWN_TYPE else name
