"""Print what a command left out, and exit with the code that says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from tarantula.archive.omissions import Omission
from tarantula.cli.entry_point import EXIT_INCOMPLETE

MAX_PRINTED = 20
"""Maximum number of omissions printed; ``--json`` prints all."""


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
