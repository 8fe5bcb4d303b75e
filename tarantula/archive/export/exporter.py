"""Exporters: the interface, the formats, and exports that later withholding makes void."""

from __future__ import annotations

import gzip
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from zipfile import BadZipFile, ZipFile

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.export.records import ExportProgress
from tarantula.archive.omissions import MISSING_LIST, IncompleteError, Omission, as_csv
from tarantula.archive.withheld_files import apply_to_item, referring_items
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, WithheldError
from tarantula.core.files import file_lock, sync_path
from tarantula.core.messages import Message
from tarantula.core.registry import Registry, named_component_paths
from tarantula.core.states import ItemState
from tarantula.models import Document, Item
from tarantula.store.bulk import chunks
from tarantula.store.cdxj import listed_urls
from tarantula.store.homes import require_files
from tarantula.store.listings import find_item
from tarantula.store.withholding import documents_of, spellings, withheld_urls

LOCK_SUFFIX = ".lock"
"""End of the name of a file that is locked while an export is written."""
UNFINISHED_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING})
WITHHOLDING_POLICY = (
    "Records of URLs that are taken down, or under embargo when the export was written, are left out. "
    "The depositor has the list."
)


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
        """Write an item to *path*, with temporary files in *scratch*; return the number of records, pages and so on.

        Report what is left out with ``progress.leave_out``. If ``progress.omissions`` is not empty at the end, write
        the list into the export too: it is only kept if an incomplete export is wanted.
        """

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


def existing_exports(installation: Config, urn: str) -> list[Path]:
    """Return the paths of an item's exports in the home, of unfinished ones, and of the lists of what is missing."""
    formats, folder = export_formats(installation), installation.home / "exports"
    names = {f"{urn}{formats.load(name).suffix}" for name in formats}
    names |= {missing_list_of(folder / name).name for name in names}
    patterns = [f".{escape(name)}{end}" for name in names for end in ("-*", LOCK_SUFFIX)]
    unfinished = (path for pattern in patterns for path in folder.glob(pattern))
    return sorted([*(path for name in names if (path := folder / name).exists()), *unfinished])


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
    """The reason of each omission."""
    missing: list[Omission]
    """Everything that was left out; empty if the export is complete."""
    withheld: int = 0
    """Number of records left out because their URL is withheld."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; the keys are a stable interface."""
        return {**asdict(self), "missing": [one._asdict() for one in self.missing]}


def export_item(
    installation: Config,
    database: Database,
    urn: str,
    format_name: str,
    output: Path | None = None,
    force: bool = False,
    progress: ExportProgress | None = None,
    partial: bool = False,
) -> ExportResult:
    """Export an item to the path or folder *output*, by default to ``exports`` in the home.

    Raise `IncompleteError` and write no export if something would be left out, unless *partial*. The list of what is
    missing is next to the export, in a file that ends in ``.missing.csv``.
    """
    progress = progress or ExportProgress()
    exporter = export_formats(installation).create(format_name)
    # A withholding of another machine may not have been applied to the mirror of this home yet.
    apply_to_item(installation, database, urn)
    with database.reading() as session:
        item = find_item(session, urn)
        if item.state in UNFINISHED_STATES:
            raise ConflictError(
                "Item {urn} is {state}. Export it when it has been collected.", urn=urn, state=Message(item.state)
            )
        require_files(session, installation, item)
        path = _target_path(output or installation.home / "exports", urn, exporter, output is None)
        if path.exists() and not force:
            raise ConflictError(
                "{path} exists already. Replace it with --force, or name another with --output.", path=path
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path), TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
            written = Path(scratch, path.name)
            contents = exporter.write(session, installation, item, written, Path(scratch), progress)
            _check_still_shown(session, database, urn)
            missing = progress.omissions
            _write_missing_list(missing_list_of(path), missing)
            if missing and not partial:
                raise _incomplete(urn, path, missing)
            size = _sync(written)
            _replace(path, written, Path(scratch, "replaced"))
        sync_path(path.parent)
    reasons = [omission.reason for omission in missing]
    return ExportResult(urn, str(format_name), str(path), size, contents, reasons, missing, progress.withheld)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time write an export; remove what earlier ones left that were killed."""
    with file_lock(path.with_name(f".{path.name}{LOCK_SUFFIX}"), remove=True) as is_free:
        if not is_free:
            raise ConflictError("Another process is writing {path}. Wait until that is done.", path=path)
        for left in path.parent.glob(f".{escape(path.name)}-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _check_still_shown(session: Session, database: Database, urn: str) -> None:
    """Raise an error if a URL was withheld since the export began."""
    with database.reading() as now:
        if withheld_urls(now).keys() - withheld_urls(session).keys():
            raise ConflictError(
                "A URL was withheld while {urn} was exported, so no export was written. Export again.", urn=urn
            )


def missing_list_of(path: Path) -> Path:
    """Return the path of the list of what the export at *path* leaves out, or would have left out."""
    return path.with_name(f"{path.name}.{MISSING_LIST}")


def _write_missing_list(path: Path, missing: list[Omission]) -> None:
    path.unlink(missing_ok=True)
    if missing:
        path.write_bytes(as_csv(missing))


def _incomplete(urn: str, path: Path, missing: list[Omission]) -> IncompleteError:
    parts = "One part" if len(missing) == 1 else f"{len(missing):,} parts"
    return IncompleteError(
        Message(
            "{parts} of {urn} cannot be exported, so no export was written. The list is in {path}. "
            "Repair the files, or write an incomplete export with --partial.",
            parts=parts,
            urn=urn,
            path=missing_list_of(path),
        ),
        missing,
    )


def _target_path(output: Path, urn: str, exporter: Exporter, is_folder: bool) -> Path:
    """Return *output*, or a path within it if it is a folder other than an export."""
    output = output.expanduser().absolute()
    if is_folder or (output.is_dir() and not exporter.is_export(output)):
        return output / f"{urn}{exporter.suffix}"
    return output


def _sync(written: Path) -> int:
    """Sync all files of an export to disk; return their total size."""
    paths = [written, *written.rglob("*")]
    for path in paths:
        sync_path(path)
    return sum(path.stat().st_size for path in paths if path.is_file())


def _replace(path: Path, written: Path, old: Path) -> None:
    if path.is_dir():
        # A folder cannot be replaced in one step.
        path.rename(old)
    written.rename(path)


def exports_with_url(installation: Config, session: Session, url: str) -> list[Path]:
    """Return the exports in this home that have a URL, or are in a format whose index cannot be read here."""
    own = (item_id for item_id, _ in documents_of(session, [url]))
    items = dict.fromkeys([*own, *referring_items(session, [url])])
    urns = [session.get_one(Item, item_id).urn for item_id in items]
    found = [path for urn in urns for path in existing_exports(installation, urn)]
    return [path for path in found if _has_url(path, spellings(url)) is not False]


def check_export(session: Session, item: Item, path: Path) -> None:
    """Raise `WithheldError` if an export of an item has a withheld URL: it was written before.

    Its index decides, and not the times of the two, because clocks jump and copies of files have other times.
    """
    withheld = withheld_urls(session)
    urls = {url for withholding in withheld.values() for url in spellings(withholding.url)}
    has_url = _has_url(path, urls) if urls else False
    if has_url is None:
        # The export is of a format that only its exporter reads.
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        later = [key for key, withholding in withheld.items() if withholding.at >= written]
        own = select(Document.id).where(Document.item_id == item.id)
        has_url = any(session.scalar(own.where(Document.key.in_(some)).limit(1)) for some in chunks(later))
    if has_url:
        raise WithheldError(
            "{name} was written before a URL in it was withheld. Export {urn} again.", name=path.name, urn=item.urn
        )


def _has_url(path: Path, urls: Collection[str]) -> bool | None:
    """Whether an export has one of some URLs; ``None`` if that cannot be read."""
    try:
        if path.name.endswith(MISSING_LIST):
            return any(url in path.read_text(encoding="utf-8") for url in urls)
        if path.is_dir():
            with (path / "data" / "indexes" / "index.cdxj").open("rb") as lines:
                return any(True for _ in listed_urls(lines, urls))
        with ZipFile(path) as archive, archive.open("indexes/index.cdx.gz") as packed, gzip.open(packed) as unpacked:
            return any(True for _ in listed_urls(unpacked, urls))
    except (OSError, EOFError, KeyError, BadZipFile):
        return None
