"""Values and moments as the reader's language writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from tarantula.streams.kinds import Kind
from tarantula.streams.values import format_value
from tarantula.streams.views.cells import Cell, Column
from tarantula.web.i18n import language

NOTHING = "–"
SMALL = 1000
"""Below it, five figures are shown of what was worked out; above, two behind the point."""


def shown(cell: Cell | None, column: Column) -> str:
    """Write a value; what is missing is a dash."""
    if cell is None:
        return NOTHING
    if not column.source and cell.number is not None:
        return plain_number(cell.number)
    kind = Kind.DECIMAL if column.kind == Kind.INTEGER and not _is_whole(cell.text) else column.kind
    return format_value(cell.text, kind, column.unit, language())


def number_shown(number: float, column: Column) -> str:
    """Write a number of a column that was drawn."""
    return shown(Cell(f"{number:.12g}", number), column)


def plain_number(number: float) -> str:
    """Write a number that was worked out, and has no unit."""
    return format_value(_rounded(number), Kind.DECIMAL, "", language())


def at_shown(at: int | None) -> str:
    """Write a moment, in microseconds since 1970, on the clocks of this machine."""
    if at is None:
        return NOTHING
    return datetime.fromtimestamp(at / 1_000_000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _rounded(number: float) -> str:
    """Write what was worked out as exactly as anybody wants to read it."""
    exact = Decimal(repr(number))
    return format(round(exact, 2) if abs(number) >= SMALL else Decimal(f"{number:.5g}"), "f")


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdigit()
