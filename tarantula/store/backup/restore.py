"""Restore an installation from a backup, into an empty home and a new database."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from sqlalchemy import delete, select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.files import sync_file_system
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.migrations import REVISIONS
from tarantula.models import Barrel, Collector, Item, Server
from tarantula.store.backup.copying import (
    CountBytes,
    DamagedBackup,
    Progress,
    byte_counter,
    copy_checked,
    is_copied,
    write_whole,
    writing,
)
from tarantula.store.backup.databases import check_empty, database_url, restore_database
from tarantula.store.backup.target import BackupDirectory, BackupFile, Manifest
from tarantula.store.database import open_database
from tarantula.store.homes import home_id

UNFINISHED_MARK = ".restoring"
"""File in a home into which a backup is being restored; it contains which."""
WITH_DATABASE = " with its database"
"""Added to the mark when only leases are left to be cleared."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """A backup that was restored."""

    source: str
    generation: str
    created_at: datetime
    home: str
    database: str
    files: int
    bytes: int
    problems: list[str]
    """Sentences of the backup about files that it has not, or that are damaged."""
    left_out: list[str]
    unfinished: list[str]
    """Items that were being collected or converted."""
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; the keys are a stable interface."""
        return asdict(self) | {"created_at": self.created_at.isoformat()}


def restore(
    installation: Config,
    source: BackupDirectory,
    generation: str | None = None,
    progress: Progress = lambda _done, _total: None,
) -> RestoreResult:
    """Restore a backup, by default the newest complete one. Every file is compared with its digest.

    The database comes last: without it nothing uses the files. A restore that was interrupted continues.
    """
    began = monotonic()
    name, manifest = source.read_manifest(generation)
    _check_kind(installation, manifest)
    mark = f"{source.root}/{name}"
    has_database = _enter_home(installation, mark)
    if not has_database:
        check_empty(installation)
        dump = source.generations / name / manifest.database.name
        if not is_copied(dump, manifest.database.size, manifest.database.sha256):
            raise DamagedBackup.of(dump)
        count = byte_counter(progress, manifest.bytes)
        for file in manifest.files:
            _restore_file(installation, source, file, count)
        with writing(installation.home):
            sync_file_system(installation.home)
        restore_database(manifest.database, dump, installation, count)
        write_whole(installation.home / UNFINISHED_MARK, (mark + WITH_DATABASE).encode())
    with open_database(installation) as database:
        unfinished = _release(installation, database)
        place = str(database.engine.url)
    (installation.home / UNFINISHED_MARK).unlink()
    return RestoreResult(
        source=str(source.root),
        generation=name,
        created_at=manifest.created_at,
        home=str(installation.home),
        database=place,
        files=len(manifest.files),
        bytes=manifest.bytes,
        problems=manifest.problems,
        left_out=manifest.left_out,
        unfinished=unfinished,
        seconds=round(monotonic() - began, 3),
    )


def _check_kind(installation: Config, manifest: Manifest) -> None:
    kind = database_url(installation).get_backend_name()
    if kind != manifest.database.kind:
        raise TarantulaError(
            "The backup is of a database of kind {database}, and the new one is of kind {kind}. "
            "A backup is restored into the kind that it was taken from: name such a database with --database-url.",
            database=manifest.database.kind,
            kind=kind,
        )
    if manifest.schema_version not in REVISIONS:
        raise TarantulaError(
            "The backup was made by the newer version {version}. Install that version, then restore it.",
            version=manifest.version,
        )


def _enter_home(installation: Config, mark: str) -> bool:
    """Mark an empty home; return whether an interrupted restore of the same backup had already made the database."""
    home = installation.home
    path = home / UNFINISHED_MARK
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if found in (mark, mark + WITH_DATABASE):
            return found != mark
        if any(home.iterdir()):
            raise TarantulaError("The home {home} is not empty. Name an empty directory with --home.", home=home)
        write_whole(path, mark.encode())
        return False


def _restore_file(installation: Config, source: BackupDirectory, file: BackupFile, count: CountBytes) -> None:
    target = installation.home / file.path
    with writing(installation.home):
        if not is_copied(target, file.size, file.sha256):
            copy_checked(source.files / file.stored, file.size, file.sha256, target, count)


def _release(installation: Config, database: Database) -> list[str]:
    """Remove the processes of the old machine; return the items that they worked on, which daemons start again."""
    with database.session() as session:
        session.execute(delete(Collector))
        session.execute(delete(Barrel))
        session.execute(update(Server).values(collector_id=None, pause=None, backoff=None, wished_at=None))
        # Without a process that could have died: it is no crash.
        session.execute(
            update(Item)
            .where(Item.state.in_(ACTIVE_ITEM_STATES))
            .values(launched_at=None, launched_on=None, retry_at=datetime.now(UTC))
        )
        home_id(installation, session.connection())
        started = (ItemState.COLLECTING, ItemState.CONVERTING)
        return list(session.scalars(select(Item.urn).where(Item.state.in_(started)).order_by(Item.id)))
