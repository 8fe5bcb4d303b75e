"""An item leaves: as one file or folder that is there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy.orm import Session

from tarantula.archive.export.bagit import write_bag
from tarantula.archive.export.records import ExportProgress
from tarantula.archive.export.wacz import write_wacz
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Item
from tarantula.store.listings import find_item


class ExportFormat(StrEnum):
    """What an item can be exported as."""

    WACZ = "wacz"
    BAGIT = "bagit"


def parse_export_format(text: str) -> ExportFormat:
    """Return the format of that name, or say which there are."""
    try:
        return ExportFormat(text)
    except ValueError:
        raise TarantulaError(f"{text[:40]!r} is not a format. Write one of: {', '.join(ExportFormat)}.") from None


ExportWriter = Callable[[Session, Config, Item, Path, Path, ExportProgress], dict[str, int]]
WRITERS: dict[ExportFormat, ExportWriter] = {ExportFormat.WACZ: write_wacz, ExportFormat.BAGIT: write_bag}
SUFFIXES = {ExportFormat.WACZ: ".wacz", ExportFormat.BAGIT: ".bag"}
UNFINISHED_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING})


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written."""

    urn: str
    format: str
    path: str
    bytes: int
    contents: dict[str, int]
    """How many records, and pages or files."""
    problems: list[str]
    """What was left out, and why: a sentence each."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return asdict(self)


def export_item(
    installation: Config,
    database: Database,
    urn: str,
    form: ExportFormat,
    output: Path | None = None,
    force: bool = False,
    watcher: ExportProgress | None = None,
) -> ExportResult:
    """Write an item for deposit; in the home's ``exports`` unless told."""
    watcher = watcher or ExportProgress()
    with database.reading() as session:
        item = find_item(session, urn)
        if item.state in UNFINISHED_STATES:
            raise ConflictError(f"Item {urn} is {item.state}. Export it when it has been collected.")
        path = _place(output or installation.home / "exports", urn, form, output is None)
        if path.exists() and not force:
            raise ConflictError(f"{path} is there already. Replace it with --force, or name another with --output.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
            made = Path(scratch, path.name)
            contents = WRITERS[form](session, installation, item, made, Path(scratch), watcher)
            size = _sync(made)
            _put(made, path, Path(scratch, "replaced"))
    return ExportResult(urn, form, str(path), size, contents, watcher.problems)


def _place(output: Path, urn: str, form: ExportFormat, is_folder: bool) -> Path:
    """Return the path of an export: the one that was named, or within the folder that was."""
    output = output.expanduser().absolute()
    if is_folder or (output.is_dir() and not (output / "bagit.txt").exists()):
        return output / f"{urn}{SUFFIXES[form]}"
    return output


def _sync(made: Path) -> int:
    """Hand everything to the disk; return how much it is."""
    files = [made] if made.is_file() else [path for path in made.rglob("*") if path.is_file()]
    for path in files:
        with path.open("rb") as file:
            os.fsync(file)
    return sum(path.stat().st_size for path in files)


def _put(made: Path, path: Path, aside: Path) -> None:
    if path.is_dir():
        # A folder cannot be replaced in one step.
        path.rename(aside)
    made.rename(path)
