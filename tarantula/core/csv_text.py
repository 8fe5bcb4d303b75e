"""CSV that no spreadsheet runs as formulas, whichever separator its locale has."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_SEPARATORS = r",;|\t\r\n"
_FORMULA = re.compile(
    rf"""
    (?!{_NUMBER}\Z)                              # A text that is a number stays one.
    (?P<before>
        \A(?=[\t\r\n]) | \A(?=[\s"]*[=+\-@＝＋－＠])
        | [{_SEPARATORS}](?=[\s"]*[=+\-@＝＋－＠])  # Where another locale begins a cell, even within quotation marks,
        (?!{_NUMBER}(?:[{_SEPARATORS}]|\Z))      # but not with a number.
    )""",
    re.VERBOSE,
)


def csv_text(rows: Iterable[Sequence[Any]], newline: str = "\r\n") -> str:
    """Return rows as CSV (RFC 4180), with an apostrophe before what a spreadsheet would take for a formula.

    A formula begins with ``=``, ``+``, ``-``, ``@``, a tab or the end of a line; a cell begins where the file says, and
    also after a comma, semicolon, tab or ``|`` in a text. Numbers are unchanged.
    """
    written = StringIO()
    csv.writer(written, lineterminator=newline).writerows(map(_safe_cell, row) for row in rows)
    return written.getvalue()


def _safe_cell(value: Any) -> Any:
    return _FORMULA.sub(r"\g<before>'", value) if isinstance(value, str) else value
