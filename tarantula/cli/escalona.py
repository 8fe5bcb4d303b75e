"""``tarantula escalona``: run a command file of the URL scheduler of 2021."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tarantula.frontier.escalona import run_command_file


def escalona(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Commands, one a line.")],
    strategy: Annotated[
        str,
        typer.Option("--strategy", help="depth-first, breadth-first, best-first, or the import path of a class."),
    ] = "depth-first",
) -> None:
    """Run a file of commands."""
    print(f"{run_command_file(file, strategy)} is written.")
