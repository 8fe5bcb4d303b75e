"""Back up an installation: a snapshot of the database, then the files that it names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fcntl import LOCK_EX, LOCK_SH
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.core.files import file_lock
from tarantula.core.messages import Message
from tarantula.core.states import ItemState
from tarantula.migrations import HEAD
from tarantula.models import Item, WarcFile
from tarantula.store.backup.copying import CountBytes, Progress, UnreadableFile, byte_counter, writing
from tarantula.store.backup.databases import snapshot
from tarantula.store.backup.target import BackupDirectory, BackupFile, Manifest
from tarantula.store.homes import HOME_ID_FILE, home_id, home_place

BACKUP_LOCK_FILE = ".backup"
"""File in the home that a backup locks, so that no files are removed meanwhile."""
CONFIGURATION = (HOME_ID_FILE, "config.yaml", "categories")
"""Files and folders of the home, in addition to the items, that people or the program configure."""
DERIVED = ("archived", "exports", "search")
"""Folders of the home that can be built again."""


class _Source(NamedTuple):
    """A file to back up."""

    path: str
    size: int
    sha256: str | None = None
    """The digest that the database has of it."""


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A backup that was made."""

    target: str
    generation: str
    files: int
    bytes: int
    """Of all files and the database."""
    copied_files: int
    copied_bytes: int
    """Of the files that were copied now; the others were there."""
    problems: list[str]
    left_out: list[str]
    removed: list[str]
    """Earlier backups that were removed."""
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; the keys are a stable interface."""
        return asdict(self)


def back_up(
    installation: Config,
    database: Database,
    target: BackupDirectory,
    *,
    with_mirrors: bool = False,
    keep: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> BackupResult:
    """Add a backup of an installation to a directory; collections continue meanwhile.

    An interrupted backup is continued: what it copied is not copied again.
    """
    began = monotonic()
    target.create()
    with target.locked(), removal_suspended(installation):
        target.load_index()
        folder = target.start_generation()
        try:
            run = _Run(installation, target, with_mirrors, progress)
            manifest = run.back_up(database, folder)
        except BaseException:
            # The copy of the database takes space that the next try needs.
            shutil.rmtree(folder, ignore_errors=True)
            raise
        # A backup with problems must not push out a whole one.
        removed = target.prune(keep) if keep is not None and not manifest.problems else []
    return BackupResult(
        target=str(target.root),
        generation=folder.name,
        files=len(manifest.files),
        bytes=manifest.bytes,
        copied_files=run.copied_files,
        copied_bytes=run.copied_bytes,
        problems=manifest.problems,
        left_out=manifest.left_out,
        removed=removed,
        seconds=round(monotonic() - began, 3),
    )


class _Run:
    """One backup in progress."""

    def __init__(self, installation: Config, target: BackupDirectory, with_mirrors: bool, progress: Progress) -> None:
        self._installation = installation
        self._target = target
        self._left_out = [name for name in DERIVED if not (with_mirrors and name == "archived")]
        self._progress = progress
        self._problems: list[str] = []
        self.copied_files = 0
        self.copied_bytes = 0

    def back_up(self, database: Database, folder: Path) -> Manifest:
        with database.session() as session:
            home = home_id(self._installation, session.connection())
        created_at = datetime.now(UTC)
        with snapshot(database, folder) as taken:
            sources = self._sources(taken.session, home)
        count = byte_counter(self._progress, sum(source.size for source in sources))
        files = [file for source in sources if (file := self._store(source, count)) is not None]
        manifest = Manifest(
            version=__version__,
            schema_version=HEAD,
            created_at=created_at,
            home_id=home,
            home=str(self._installation.home),
            database=taken.file,
            files=files,
            problems=self._problems,
            left_out=self._left_out,
        )
        self._target.write_manifest(folder, manifest)
        return manifest

    def _sources(self, session: Session, home: str) -> list[_Source]:
        """Return the files to back up: those that the snapshot names, and the logs and indexes next to them."""
        sources: list[_Source] = []
        for name in CONFIGURATION:
            sources += self._below(name)
        # An interrupted removal is completed without the files that it has left.
        kept = select(Item).where(Item.state != ItemState.REMOVING)
        for item in session.scalars(kept.order_by(Item.id)):
            if item.home_id in (None, home):
                sources += self._files_of_item(session, item)
            else:
                place = home_place(session, item)
                self._problems.append(
                    f"The files of item {item.urn} are in the home {place}: they are not in the backup."
                )
        return sources

    def _files_of_item(self, session: Session, item: Item) -> Iterator[_Source]:
        folder = f"items/{item.urn}"
        for row in session.scalars(select(WarcFile).where(WarcFile.item_id == item.id).order_by(WarcFile.name)):
            path = f"{folder}/archive/{row.name}"
            yield _Source(path, self._size(path), row.sha256)
        yield from (source for source in self._below(folder) if not source.path.endswith(".warc.gz"))
        if "archived" not in self._left_out:
            yield from self._below(f"archived/{item.urn}")

    def _below(self, name: str) -> Iterator[_Source]:
        """Yield a file of the home, or the files below a folder, without those that are hidden."""
        path = self._installation.home / name
        if path.is_file():
            yield _Source(name, self._size(name))
        for folder, _, names in sorted(os.walk(path)):
            for one in sorted(names):
                if not one.startswith("."):
                    found = Path(folder, one).relative_to(self._installation.home).as_posix()
                    yield _Source(found, self._size(found))

    def _size(self, path: str) -> int:
        try:
            return (self._installation.home / path).stat().st_size
        except OSError:
            return 0

    def _store(self, source: _Source, count: CountBytes) -> BackupFile | None:
        try:
            file, copied = self._target.store(self._installation.home / source.path, source.path, count)
        except UnreadableFile as error:
            self._problems.append(str(error))
            return None
        if source.sha256 is not None and source.sha256 != file.sha256:
            self._problems.append(
                f"{self._installation.home / source.path} differs from the digest that the database has of it."
            )
        if copied is not None:
            self.copied_files += 1
            self.copied_bytes += copied
        return file


@contextmanager
def removal_suspended(installation: Config) -> Iterator[None]:
    """Keep other processes from removing files of this home, which the snapshot of a backup names."""
    with _lock(
        installation,
        LOCK_EX,
        Message(
            "Files of {home} are being removed, or backed up by another process. Try again when that is done.",
            home=installation.home,
        ),
    ):
        yield


@contextmanager
def removing_files(installation: Config) -> Iterator[None]:
    """Refuse to remove files while a backup is being taken."""
    with _lock(
        installation,
        LOCK_SH,
        Message(
            "A backup of {home} is being taken, and needs all files. Try again when that is done.",
            home=installation.home,
        ),
    ):
        yield


@contextmanager
def _lock(installation: Config, kind: int, refusal: str) -> Iterator[None]:
    home = installation.make_home()
    with ExitStack() as stack:
        with writing(home):
            is_free = stack.enter_context(file_lock(home / BACKUP_LOCK_FILE, kind))
        if not is_free:
            raise ConflictError(refusal)
        yield
