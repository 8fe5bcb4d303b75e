"""Output in a terminal: tables, progress, numbers, and what a command left out."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.progress import Progress
from rich.table import Table

from tarantula.archive.omissions import Omission
from tarantula.core.errors import TarantulaError
from tarantula.core.output import SafeConsole, escape_line
from tarantula.core.termination import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_TERMINATED, Terminated, raise_on_sigterm

MAX_PRINTED = 20
"""Maximum number of omissions printed; ``--json`` prints all."""


Json = Annotated[bool, typer.Option("--json", help="JSON output.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Urn = Annotated[str, typer.Argument(metavar="URN", help="The item.")]

FILE_WIDTH = 1000
"""Columns when the output is not a terminal, so that no line is cut in a file."""
COLUMN_GAP = 2
"""Spaces between two columns of a long table."""
MIN_LAST_COLUMN_WIDTH = 20


def console() -> SafeConsole:
    """Return the console for standard output: as wide as the terminal, or `FILE_WIDTH`."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_WIDTH
    return SafeConsole(width=width)


class _LineTable(Table):
    """A table in which newlines in foreign text do not look like further rows."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row; texts become one line."""
        super().add_row(*(escape_line(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def table(
    *columns: str, numbers: tuple[str, ...] = (), whole: str = "", title: str | None = None, lines: bool = False
) -> Table:
    """Return an empty table; columns in *numbers* are right-aligned, the column *whole* is never wrapped.

    With *lines*, cells may have several lines.
    """
    kind = Table if lines else _LineTable
    made = kind(box=None, title=title, title_justify="left", title_style="bold", header_style="dim", pad_edge=False)
    for column in columns:
        made.add_column(
            column, justify="right" if column in numbers else "left", overflow="fold", no_wrap=column == whole
        )
    return made


def write_long_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table of thousands of rows, wrapping the last column, without the cost of Rich for each cell."""
    cells_of_rows = [[escape_line(cell) for cell in cells] for cells in rows]
    widths = [max(map(cell_len, cells)) + COLUMN_GAP for cells in zip(columns, *cells_of_rows, strict=True)][:-1]
    screen = console()
    last_width = max(screen.width - sum(widths), MIN_LAST_COLUMN_WIDTH)
    screen.print(_table_line(columns, widths), style="dim", no_wrap=True, overflow="ignore", crop=False)
    for cells in cells_of_rows:
        first, *others = wrap(cells[-1], last_width) or [""]
        sys.stdout.write(f"{_table_line([*cells[:-1], first], widths)}\n")
        sys.stdout.writelines(f"{' ' * sum(widths)}{line}\n" for line in others)


def write_json(value: Any) -> None:
    """Write a value as indented JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def write_json_rows(rows: Iterable[Any]) -> None:
    """Write rows as an indented JSON list, one at a time, without holding the list in memory."""
    between = "[\n"
    for row in rows:
        text = json.dumps(row, indent=2, ensure_ascii=False)
        # Not textwrap.indent, which splits strings at separators of lines that JSON permits.
        print(between + "  " + text.replace("\n", "\n  "), end="")
        between = ",\n"
    print("[]" if between == "[\n" else "\n]")


def local_time(moment: datetime | None) -> str:
    """Format a moment to the minute, in the time zone of this machine."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""


def yes_or_no(value: bool) -> str:
    """Format a boolean."""
    return "yes" if value else "no"


ProgressFunction = Callable[[int, int], None]
"""Called with the done and the total number."""


@contextmanager
def progress_phases() -> Iterator[Callable[[str], ProgressFunction]]:
    """Show a progress bar on a terminal; yields a function that returns the one to call in a phase of that title."""
    screen = SafeConsole(stderr=True)
    with Progress(
        *Progress.get_default_columns(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda title: lambda done, total: bar.update(task, description=title, completed=done, total=total)


@contextmanager
def progress_bar(title: str) -> Iterator[ProgressFunction]:
    """Show a progress bar on a terminal; yields the function to call with the done and the total number."""
    with progress_phases() as phase:
        yield phase(title)


@contextmanager
def ending_early(message: str) -> Iterator[None]:
    """On Ctrl-C or SIGTERM, let the body clean up, then print a message and exit with code 130 or 143."""
    before = signal.getsignal(signal.SIGTERM)
    raise_on_sigterm()
    try:
        yield
    except KeyboardInterrupt as ending:
        typer.echo(message, err=True)
        raise typer.Exit(EXIT_TERMINATED if isinstance(ending, Terminated) else EXIT_INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def read_text(file: Path) -> str:
    """Return the text of a file; ``-`` is standard input."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TarantulaError("{file} is not UTF-8 text.", file=file) from error


def write_text(text: str, file: Path | None) -> None:
    """Write a text to a file, or to standard output."""
    if file is None:
        print(text, end="")
    else:
        file.write_text(text, encoding="utf-8")


def _table_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    filled = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False)]
    return ("".join(filled) + cells[-1]).rstrip()


def print_omissions(omissions: Sequence[Omission], listed_in: Path | None = None) -> None:
    """Print the first omissions on the error stream, and where the others are listed."""
    for url, cause, reason in omissions[:MAX_PRINTED]:
        typer.echo(f"Left out, {cause}: {f'{url}: ' if url else ''}{reason}", err=True)
    if len(omissions) > MAX_PRINTED:
        typer.echo(f"… and {len(omissions) - MAX_PRINTED:,} more; --json prints them all.", err=True)
    if omissions and listed_in is not None:
        typer.echo(f"The whole list is in {listed_in}.", err=True)


def exit_incomplete_if(omissions: Sequence[Omission]) -> None:
    """Exit with code 3 if something was left out."""
    if omissions:
        raise typer.Exit(EXIT_INCOMPLETE)
