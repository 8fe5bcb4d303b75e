"""Export of an item as one file or folder, which appears complete or not at all.

A format is a subclass of `Exporter`, chosen by name or import path. Built in are ``wacz`` and ``bagit``; the setting
``TARANTULA_EXPORTERS`` adds names.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from sqlalchemy.orm import Session

from tarantula.archive.export.records import ExportProgress
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.core.registry import Registry, named_component_paths
from tarantula.core.states import ItemState
from tarantula.models import Item
from tarantula.store.listings import find_item

UNFINISHED_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING})


class ExportFormat(StrEnum):
    """Names of the built-in formats."""

    WACZ = "wacz"
    BAGIT = "bagit"


class Exporter(ABC):
    """An export format; its constructor takes no arguments."""

    suffix: ClassVar[str]
    """End of the name of the file or folder, with the dot."""

    @abstractmethod
    def write(
        self, session: Session, installation: Config, item: Item, path: Path, scratch: Path, progress: ExportProgress
    ) -> dict[str, int]:
        """Write an item to *path*, with temporary files in *scratch*; return the number of records, pages and so on."""

    def is_export(self, folder: Path) -> bool:
        """Whether an existing folder is an export that may be replaced; by default, whether it is a BagIt bag."""
        return (folder / "bagit.txt").exists()


EXPORTERS: Registry[type[Exporter]] = Registry(
    "export format",
    {
        ExportFormat.WACZ: "tarantula.archive.export.wacz.WaczExporter",
        ExportFormat.BAGIT: "tarantula.archive.export.bagit.BagitExporter",
    },
    base=Exporter,
)


def export_formats(installation: Config) -> Registry[type[Exporter]]:
    """Return the built-in formats and those of ``TARANTULA_EXPORTERS`` (``name=package.module.Class``)."""
    added = named_component_paths(installation.exporters, EXPORTERS.kind)
    return EXPORTERS.extended(added) if added else EXPORTERS


def default_export_path(installation: Config, urn: str, format_name: str) -> Path:
    """Return the path of an item's export in the home."""
    return installation.home / "exports" / f"{urn}{export_formats(installation).load(format_name).suffix}"


@dataclass(frozen=True, slots=True)
class ExportResult:
    """Result of an export."""

    urn: str
    format: str
    path: str
    bytes: int
    contents: dict[str, int]
    """Number of records, and of pages or files."""
    problems: list[str]
    """A message for everything that was skipped."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; the keys are a stable interface."""
        return asdict(self)


def export_item(
    installation: Config,
    database: Database,
    urn: str,
    format_name: str,
    output: Path | None = None,
    force: bool = False,
    progress: ExportProgress | None = None,
) -> ExportResult:
    """Export an item to the path or folder *output*, by default to ``exports`` in the home."""
    progress = progress or ExportProgress()
    exporter = export_formats(installation).create(format_name)
    with database.reading() as session:
        item = find_item(session, urn)
        if item.state in UNFINISHED_STATES:
            raise ConflictError(f"Item {urn} is {item.state}. Export it when it has been collected.")
        path = _target_path(output or installation.home / "exports", urn, exporter, output is None)
        if path.exists() and not force:
            raise ConflictError(f"{path} exists already. Replace it with --force, or name another with --output.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
            written = Path(scratch, path.name)
            contents = exporter.write(session, installation, item, written, Path(scratch), progress)
            size = _sync(written)
            _replace(path, written, Path(scratch, "replaced"))
    return ExportResult(urn, str(format_name), str(path), size, contents, progress.problems)


def _target_path(output: Path, urn: str, exporter: Exporter, is_folder: bool) -> Path:
    """Return *output*, or a path within it if it is a folder other than an export."""
    output = output.expanduser().absolute()
    if is_folder or (output.is_dir() and not exporter.is_export(output)):
        return output / f"{urn}{exporter.suffix}"
    return output


def _sync(written: Path) -> int:
    """Sync all files of an export to disk; return their total size."""
    files = [written] if written.is_file() else [path for path in written.rglob("*") if path.is_file()]
    for path in files:
        with path.open("rb") as file:
            os.fsync(file)
    return sum(path.stat().st_size for path in files)


def _replace(path: Path, written: Path, old: Path) -> None:
    if path.is_dir():
        # A folder cannot be replaced in one step.
        path.rename(old)
    written.rename(path)
