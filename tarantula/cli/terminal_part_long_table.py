"""Tables of thousands of rows: as those of `tarantula.cli.terminal`, without the time that Rich takes for each cell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich.cells import cell_len

from tarantula.cli.terminal import console

COLUMN_GAP = 2
"""Spaces between two columns."""
MIN_LAST_COLUMN_WIDTH = 20
"""Letters of the last column, however little room there is."""


def write_long_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table; what is too long for the last column goes on in the next line."""
    written = list(rows)
    widths = [max(map(cell_len, cells)) + COLUMN_GAP for cells in zip(columns, *written, strict=True)][:-1]
    screen = console()
    left = max(screen.width - sum(widths), MIN_LAST_COLUMN_WIDTH)
    screen.print(_line(columns, widths), style="dim", no_wrap=True, overflow="ignore", crop=False)
    for cells in written:
        first, *others = wrap(cells[-1], left) or [""]
        sys.stdout.write(f"{_line([*cells[:-1], first], widths)}\n")
        sys.stdout.writelines(f"{' ' * sum(widths)}{line}\n" for line in others)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    filled = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False)]
    return ("".join(filled) + cells[-1]).rstrip()
