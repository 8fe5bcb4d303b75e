"""CSV has no cell that a spreadsheet runs, with any separator, and keeps numbers."""

from __future__ import annotations

import ast
import csv
import re
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.csv_text import csv_text

PACKAGE = Path(__file__).parents[2] / "tarantula"
SEPARATORS = ",;\t|"
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?([,;\t|\r\n\"]|\Z)")
AWKWARD = st.text(alphabet=st.sampled_from("=+-@\t\r\n ,;|\"'x15.＝é"), max_size=12)


def cells_as_read(text: str) -> set[str]:
    """Return what programs of other locales may take for cells: they honour quotation marks, or do not."""
    found = set(re.split(r"[,;\t|\r\n]", text))
    for separator in SEPARATORS:
        found |= {cell for row in csv.reader(StringIO(text, newline=""), delimiter=separator) for cell in row}
        found |= {cell for line in text.splitlines() for cell in line.split(separator)}
    return found


def is_formula(cell: str) -> bool:
    """Whether a program may compute a cell: not a number, whatever separator or quotation mark follows it."""
    begins = cell.lstrip(' "\t\r\n').startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    return begins and not NUMBER.match(cell.strip('"'))


@given(rows=st.lists(st.lists(AWKWARD, min_size=1, max_size=3), min_size=1, max_size=3))
def test_no_cell_is_a_formula_with_any_separator(rows: list[list[str]]) -> None:
    assert not {cell for cell in cells_as_read(csv_text(rows)) if is_formula(cell)}


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"),
        ("x\t@SUM(1)", "x\t'@SUM(1)"),
        ('x;"=1"', 'x;\'"=1"'),
        ("\tx", "'\tx"),
        ("＝1", "'＝1"),
        ("-x", "'-x"),
        ("-5", "-5"),
        ("+3.25e-7", "+3.25e-7"),
        (-5, "-5"),
        (-0.5, "-0.5"),
        (None, ""),
        ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00"),
        ("http://a.pt/b-c?d=e", "http://a.pt/b-c?d=e"),
        ("1;-5", "1;-5"),
        ("1;-5x", "1;'-5x"),
    ],
)
def test_texts_are_neutralised_and_numbers_stay(cell: object, written: str) -> None:
    assert next(csv.reader(StringIO(csv_text([[cell, "z"]]), newline=""))) == [written, "z"]


def test_all_csv_is_written_by_one_function() -> None:
    """A file that is named here writes CSV of its own, which a spreadsheet may run."""
    others = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            used = [node.attr] if isinstance(node, ast.Attribute) else []
            if {"writer", "DictWriter", "to_csv", "write_csv", "CSVWriter"} & {*used, *named}:
                module = node.module if isinstance(node, ast.ImportFrom) else ast.unparse(node)
                if module in ("csv", "csv.writer", "csv.DictWriter", "pyarrow.csv") or "_csv" in str(module):
                    others.add(path.relative_to(PACKAGE).as_posix())
    assert others == {"core/csv_text.py"}
