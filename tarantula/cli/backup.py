"""``tarantula backup`` and ``tarantula restore``: copy the installation, check the copies, and restore one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from tarantula.cli.terminal import Json, ending_early, local_time, progress_bar, write_json
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.termination import EXIT_INCOMPLETE
from tarantula.services import backup as service
from tarantula.services.backup import BackupCheck
from tarantula.services.context import local_context
from tarantula.store.backup.backup import BackupResult
from tarantula.store.backup.restore import RestoreResult

Generation = Annotated[
    str | None, typer.Option("--generation", metavar="NAME", help="One backup in the directory, by its name.")
]


def backup(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The directory of backups, on another disk.")],
    with_mirrors: Annotated[bool, typer.Option("--with-mirrors", help="Also copy the mirrors of items.")] = False,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, metavar="N", help="Then remove all but the newest N backups.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Take no backup; read the backups in TARGET and compare their digests.")
    ] = False,
    generation: Generation = None,
    as_json: Json = False,
) -> None:
    """Copy the database and the files of the home, while collections continue."""
    if verify:
        _check(target, generation, as_json)
        return
    if generation is not None:
        raise TarantulaError("--generation chooses a backup to check: give it together with --verify.")
    unfinished = "The backup is not complete. The same command continues with what is missing."
    with ending_early(unfinished), local_context() as context, progress_bar("Copying") as progress:
        made = service.back_up(context, target, with_mirrors=with_mirrors, keep=keep, progress=progress)
    if as_json:
        write_json(made.as_dict())
    else:
        _print_backup(made)
    if made.problems:
        raise typer.Exit(EXIT_INCOMPLETE)


def restore(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The directory of backups.")],
    generation: Generation = None,
    home: Annotated[
        Path | None, typer.Option("--home", metavar="PATH", help="The empty home; default TARANTULA_HOME.")
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option("--database-url", metavar="URL", help="The new database; default TARANTULA_DATABASE_URL."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only read the backup and compare its digests.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Then build the mirrors and the search index.")] = False,
    as_json: Json = False,
) -> None:
    """Restore a backup, by default the newest, into an empty home and a new database."""
    if check:
        _check(source, generation, as_json, newest=True)
        return
    given = {"home": home, "database_url": database_url}
    installation = Config(**{name: value for name, value in given.items() if value is not None})
    with (
        ending_early("The restore is not complete. The same command continues it."),
        progress_bar("Restoring") as progress,
    ):
        restored = service.restore_backup(installation, source, generation, progress)
    not_built: list[str] = []
    if rebuild:
        with progress_bar("Building mirrors and index") as progress:
            not_built = service.rebuild(installation, progress)
    if as_json:
        write_json(restored.as_dict() | {"not_built": not_built})
    else:
        _print_restore(restored, rebuild)
    for sentence in not_built:
        typer.echo(sentence, err=True)
    if restored.problems or not_built:
        raise typer.Exit(EXIT_INCOMPLETE)


def _check(target: Path, generation: str | None, as_json: bool, newest: bool = False) -> None:
    with progress_bar("Reading") as progress:
        found = service.check_backups(target, generation, progress, newest=newest)
    if as_json:
        write_json(found.model_dump())
    else:
        _print_check(found)
    if found.problems or not found.checked:
        raise typer.Exit(1)


def _print_check(found: BackupCheck) -> None:
    for name in found.incomplete:
        typer.echo(f"{name} is incomplete: it was interrupted. The next backup removes it.")
    for sentence in found.problems:
        typer.echo(sentence, err=True)
    if not found.checked:
        typer.echo(f"{found.target} has no complete backup.", err=True)
    elif not found.problems:
        typer.echo(f"Every file is as its digest says, in: {', '.join(found.checked)}.")


def _print_backup(made: BackupResult) -> None:
    typer.echo(
        f"{made.target} has the backup {made.generation}: {made.files:,} files and the database, "
        f"{decimal(made.bytes)}; {made.copied_files:,} files were copied, {decimal(made.copied_bytes)}."
    )
    typer.echo(f"Not in it, because they can be built again: {', '.join(made.left_out)}.")
    if made.removed:
        typer.echo(f"Removed: {', '.join(made.removed)}.")
    _print_problems("The backup is not whole", made.problems)


def _print_restore(restored: RestoreResult, is_rebuilt: bool) -> None:
    typer.echo(
        f"The backup {restored.generation}, of {local_time(restored.created_at)}, is restored: "
        f"{restored.files:,} files, {decimal(restored.bytes)}, in {restored.home} and {restored.database}."
    )
    for urn in restored.unfinished:
        typer.echo(f"Item {urn} was unfinished. A daemon continues it, or `tarantula item resume {urn}`.")
    if not is_rebuilt:
        typer.echo(
            f"Not in the backup: {', '.join(restored.left_out)}. `tarantula index` builds the search index, "
            "`tarantula item convert URN` a mirror, `tarantula item export URN` an export."
        )
    _print_problems("The backup was not whole", restored.problems)


def _print_problems(title: str, problems: list[str]) -> None:
    if problems:
        typer.echo(f"{title}:", err=True)
    for sentence in problems:
        typer.echo(sentence, err=True)
