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
from tarantula.archive.export.records_part_watching import Watcher
from tarantula.archive.export.wacz import write_wacz
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import NotNow, TarantulaError
from tarantula.core.states import ItemState
from tarantula.store.listings import find_item
from tarantula.tables.publications import Item


class Format(StrEnum):
    """What an item can be exported as."""

    WACZ = "wacz"
    BAGIT = "bagit"


def parse_format(text: str) -> Format:
    """Return the format of that name, or say which there are."""
    try:
        return Format(text)
    except ValueError:
        raise TarantulaError(f"{text[:40]!r} is not a format. Write one of: {', '.join(Format)}.") from None


Write = Callable[[Session, Config, Item, Path, Path, Watcher], dict[str, int]]
WRITERS: dict[Format, Write] = {Format.WACZ: write_wacz, Format.BAGIT: write_bag}
SUFFIXES = {Format.WACZ: ".wacz", Format.BAGIT: ".bag"}
UNFINISHED = frozenset({ItemState.WAITING, ItemState.COLLECTING})


@dataclass(frozen=True, slots=True)
class Exported:
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
    form: Format,
    output: Path | None = None,
    force: bool = False,
    watcher: Watcher | None = None,
) -> Exported:
    """Write an item for deposit; in the home's ``exports`` unless told."""
    watcher = watcher or Watcher()
    with database.reading() as session:
        item = find_item(session, urn)
        if item.state in UNFINISHED:
            raise NotNow(f"Item {urn} is {item.state}. Export it when it has been collected.")
        path = _place(output or installation.home / "exports", urn, form, output is None)
        if path.exists() and not force:
            raise NotNow(f"{path} is there already. Replace it with --force, or name another with --output.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
            made = Path(scratch, path.name)
            contents = WRITERS[form](session, installation, item, made, Path(scratch), watcher)
            size = _sync(made)
            _put(made, path, Path(scratch, "replaced"))
    return Exported(urn, form, str(path), size, contents, watcher.problems)


def _place(output: Path, urn: str, form: Format, is_folder: bool) -> Path:
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
