"""Backups of the installation, and restore, with an entry in the audit log."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel
from sqlalchemy import select

from tarantula import search
from tarantula.accounts import audit
from tarantula.accounts.roles import Role, local_person
from tarantula.archive.mirror.conversion import convert_item
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Item
from tarantula.publications.config import PublicationConfig
from tarantula.services.context import ServiceContext
from tarantula.store.backup import backup, restore
from tarantula.store.backup.backup import BackupResult
from tarantula.store.backup.copying import Progress
from tarantula.store.backup.restore import RestoreResult
from tarantula.store.backup.target import BackupDirectory
from tarantula.store.database import open_database


class BackupCheck(BaseModel):
    """Result of reading backups."""

    target: str
    generations: list[str]
    """Complete backups, oldest first."""
    incomplete: list[str]
    """Backups that were interrupted; the next backup removes them."""
    checked: list[str]
    """The backups whose files were read."""
    problems: list[str]


def back_up(
    context: ServiceContext, target: Path, *, with_mirrors: bool, keep: int | None, progress: Progress
) -> BackupResult:
    """Add a backup of the installation to a directory."""
    # The entry comes first, so that the backup has it too.
    detail = {"mirrors": with_mirrors, "keep": keep}
    with context.changing("backup", str(target.absolute()), needed=Role.ADMINISTRATOR, **detail):
        pass
    directory = BackupDirectory(target)
    return backup.back_up(
        context.installation, context.database, directory, with_mirrors=with_mirrors, keep=keep, progress=progress
    )


def check_backups(target: Path, generation: str | None, progress: Progress, *, newest: bool = False) -> BackupCheck:
    """Read the files of all backups in a directory, of one, or of the newest, and compare them with their digests."""
    directory = BackupDirectory(target)
    directory.check()
    complete, incomplete = directory.generation_names()
    checked = complete
    if generation is not None or newest:
        checked = [directory.read_manifest(generation)[0]]
    problems = directory.verify(checked, progress)
    return BackupCheck(
        target=str(directory.root), generations=complete, incomplete=incomplete, checked=checked, problems=problems
    )


def rebuild(installation: Config, progress: Progress) -> list[str]:
    """Build the mirrors of archived items and the search index; return a sentence for each that could not be built."""
    problems = []
    with open_database(installation) as database:
        with database.reading() as session:
            archived = session.scalars(select(Item).where(Item.state == ItemState.ARCHIVED).order_by(Item.id)).all()
        for item in archived:
            if not PublicationConfig.model_validate(item.configuration).convert:
                continue
            try:
                skipped = len(convert_item(installation, database, item.urn, progress).skipped)
            except TarantulaError as error:
                problems.append(str(error))
            else:
                if skipped:
                    problems.append(f"The mirror of {item.urn} is not complete: it lacks {skipped:,} documents.")
        if search.is_available():
            from tarantula.search.index.updater import IndexUpdater

            updater = IndexUpdater(installation, database)
            updater.run(progress)
            if updater.unreadable:
                problems.append(f"The index is not complete: it lacks {updater.unreadable:,} documents.")
    return problems


def restore_backup(installation: Config, source: Path, generation: str | None, progress: Progress) -> RestoreResult:
    """Restore a backup into an empty home and a new database."""
    restored = restore.restore(installation, BackupDirectory(source), generation, progress)
    with open_database(installation) as database, database.session() as session:
        audit.record(session, local_person(), "restore", f"{restored.source} {restored.generation}")
    return restored
