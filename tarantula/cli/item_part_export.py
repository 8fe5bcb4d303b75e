"""``tarantula item export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tarantula.archive.export.exporter import ExportFormat, ExportResult, export_item
from tarantula.archive.export.records_part_watching import ExportProgress
from tarantula.cli.terminal import write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database


def export(
    urn: Annotated[str, typer.Argument(metavar="URN", help="The item.")],
    form: Annotated[
        ExportFormat, typer.Option("--format", help="As one WACZ file, or as a BagIt folder.")
    ] = ExportFormat.WACZ,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to; the home's exports unless told.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Write an item for deposit, whole: with the bodies that earlier items have."""
    installation = Config()
    with open_database(installation) as database, ExportProgressDisplay() as watcher:
        exported = export_item(installation, database, urn, form, output, force, watcher)
    if as_json:
        write_json(exported.as_dict())
    else:
        print(_sentence(exported))


def _sentence(exported: ExportResult) -> str:
    contents = ", ".join(f"{number:,} {what}" for what, number in exported.contents.items())
    return f"{exported.path}: {decimal(exported.bytes)}, {contents}."


class ExportProgressDisplay(ExportProgress):
    """Draws a bar in a terminal; says what is wrong wherever it is."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn()
        self._bars = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task: TaskID | None = None

    def __enter__(self) -> ExportProgressDisplay:
        self._bars.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._bars.stop()

    def begin(self, stage: str, total: int | None = None) -> None:
        """Begin another bar."""
        self._task = self._bars.add_task(stage, total=total)

    def advance(self, amount: int = 1) -> None:
        """Draw some more of it."""
        if self._task is not None:
            self._bars.advance(self._task, amount)

    def warn(self, sentence: str) -> None:
        """Say it above the bars."""
        super().warn(sentence)
        self._console.print(sentence)
