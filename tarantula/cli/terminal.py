"""Terminal input and output of the commands: tables, JSON, progress bars, text files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from textwrap import indent, wrap
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tarantula.core.errors import TarantulaError

FILE_WIDTH = 1000
"""Columns, where nobody looks at a screen: nothing is cut short on its way to a file."""


def console() -> Console:
    """Return what is written to: as wide as the terminal, or as the longest line."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False)


def table(*columns: str, numbers: tuple[str, ...] = (), whole: str = "", title: str | None = None) -> Table:
    """Return an empty table; *numbers* are aligned to the right, and the *whole* column is never broken."""
    made = Table(box=None, title=title, title_justify="left", title_style="bold", header_style="dim", pad_edge=False)
    for column in columns:
        made.add_column(
            column, justify="right" if column in numbers else "left", overflow="fold", no_wrap=column == whole
        )
    return made


def write_json(value: Any) -> None:
    """Write a value for a program to read."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def write_json_rows(rows: Iterable[Any]) -> None:
    """Write a list for a program to read, one part after the other, however long it is."""
    between = "[\n"
    for row in rows:
        print(between + indent(json.dumps(row, indent=2, ensure_ascii=False), "  "), end="")
        between = ",\n"
    print("[]" if between == "[\n" else "\n]")


def local_time(moment: datetime | None) -> str:
    """Write a moment in the time zone of this machine."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Give what shows how many are done, and of how many, while somebody looks at a screen."""
    screen = Console(stderr=True)
    with Progress(
        *Progress.get_default_columns(), console=screen, transient=True, disable=not screen.is_terminal
    ) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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


def read_text(file: Path) -> str:
    """Return the text of a file; ``-`` is what comes in."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TarantulaError(f"{file} is not a text in UTF-8.") from error
