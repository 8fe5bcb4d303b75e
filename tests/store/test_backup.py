"""Backups: incremental, verified, continued after a kill or a full disk, and refused or named where damaged."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, text

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.lifecycle.removal import remove_item
from tarantula.migrations import HEAD
from tarantula.models import Document, Home, Item, WarcFile, WarcFileState
from tarantula.services.deposit import Deposit
from tarantula.store.backup.backup import BackupResult, back_up, removal_suspended
from tarantula.store.backup.copying import DamagedBackup
from tarantula.store.backup.restore import restore
from tarantula.store.backup.target import BackupDirectory
from tarantula.store.database import open_database
from tarantula.store.homes import home_id, read_home_id
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item
from tests.support.archived_items import archive
from tests.support.backups import new_database, put_programs_on_path
from tests.support.command_result import Tarantula
from tests.support.contexts import audit_entries
from tests.support.crawls import TARANTULA, run, start
from tests.support.item_lifecycles import change
from tests.support.old_schemas import upgrade
from tests.support.small_disks import SmallDisk, small_disk
from tests.support.waits import eventually

SPACE = 16 << 20
"""Bytes of the small disk."""


@pytest.fixture(autouse=True)
def _programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "database_config" in request.fixturenames:
        put_programs_on_path(request.getfixturevalue("database_config"), request, monkeypatch)


@pytest.fixture
def target(tmp_path: Path) -> BackupDirectory:
    return BackupDirectory(tmp_path / "backups")


@pytest.fixture
def urn(database: Database, database_config: Config) -> str:
    """An archived item whose file is in the database."""
    return stored(database, database_config)


def stored(database: Database, config: Config, months: int = 0) -> str:
    """Store an archived item with the rows of its files; return its urn."""
    urn = archive(database, config, months=months)
    with database.session() as session:
        item = find_item(session, urn)
        item.home_id = home_id(config, session.connection())
        for path in sorted((config.items / urn / "archive").iterdir()):
            content = path.read_bytes()
            known = session.scalar(select(WarcFile).where(WarcFile.item_id == item.id, WarcFile.name == path.name))
            row = known or WarcFile(item_id=item.id, name=path.name, created_at=item.planned_at)
            row.state, row.size, row.sha256 = WarcFileState.CLOSED, len(content), sha256(content).hexdigest()
            session.add(row)
    return urn


def warc_of(config: Config, urn: str) -> Path:
    (path,) = (config.items / urn / "archive").iterdir()
    return path


def files(home: Path) -> dict[str, bytes]:
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith((".", "tarantula.sqlite"))
    }


def rows(database: Database) -> list[tuple[str, str, int, str | None]]:
    with database.reading() as session:
        found = select(Item.urn, Document.url, Document.state, Document.digest).join(Item, Item.id == Document.item_id)
        return [tuple(row) for row in session.execute(found.order_by(Document.id))]  # type: ignore[misc]


@pytest.fixture
def restored(database_config: Config, tmp_path: Path, request: pytest.FixtureRequest) -> Config:
    """An empty home and a new database of the same kind."""
    return Config(home=tmp_path / "restored", database_url=new_database(database_config, request))


def test_what_is_restored_is_what_was_backed_up(
    database: Database, database_config: Config, target: BackupDirectory, restored: Config, urn: str
) -> None:
    (database_config.home / "categories").mkdir()
    (database_config.home / "categories" / "mine.toml").write_text("")
    (database_config.home / "exports").mkdir()
    (database_config.home / "exports" / "large.wacz").write_text("")
    made = back_up(database_config, database, target)
    assert (made.problems, made.copied_files, made.left_out) == ([], made.files, ["archived", "exports", "search"])
    found = restore(restored, target)
    assert (found.generation, found.files, found.unfinished) == (made.generation, made.files, [])
    kept = {path: content for path, content in files(database_config.home).items() if not path.startswith("exports")}
    assert files(restored.home) == kept
    assert read_home_id(restored.home) == read_home_id(database_config.home)
    with open_database(restored) as copy:
        assert rows(copy) == rows(database)
        with copy.reading() as session:
            assert [home.path for home in session.scalars(select(Home))] == [str(restored.home)]
    with Deposit(restored) as deposit, Deposit(database_config) as original:
        for _, url, state, _ in rows(database):
            assert state == 200 or state == 301
            assert deposit.body_of(urn, url) == original.body_of(urn, url)


def test_a_second_backup_copies_what_is_new(
    database: Database, database_config: Config, target: BackupDirectory, restored: Config, urn: str
) -> None:
    first = back_up(database_config, database, target)
    second = back_up(database_config, database, target)
    assert (second.files, second.copied_files, second.copied_bytes) == (first.files, 0, 0)
    warc = warc_of(database_config, urn)
    before = warc.read_bytes()
    with warc.open("ab") as file:
        file.write(b"more")
    with database.session() as session:
        session.query(WarcFile).update({"sha256": None, "state": "open"})
    third = back_up(database_config, database, target)
    assert (third.copied_files, third.copied_bytes, third.problems) == (1, 4, [])
    assert target.verify(target.generation_names()[0], lambda _done, _total: None) == []
    restore(restored, target, first.generation)
    assert warc_of(restored, urn).read_bytes() == before
    pool = target.files / "items" / urn / "archive"
    assert [path.read_bytes() for path in pool.iterdir()] == [before + b"more"]


def test_a_file_that_was_replaced_is_kept_in_both_forms(
    database: Database, database_config: Config, target: BackupDirectory, tmp_path: Path, urn: str
) -> None:
    log = database_config.items / urn / "crawl.log"
    log.write_text("first")
    first = back_up(database_config, database, target)
    log.write_text("other")
    os.utime(log, (1, 1))
    second = back_up(database_config, database, target)
    assert second.copied_files == 1
    texts = []
    for made in (first, second):
        _, manifest = target.read_manifest(made.generation)
        (file,) = [file for file in manifest.files if file.path.endswith("crawl.log")]
        texts.append((target.files / file.stored).read_text())
    assert texts == ["first", "other"]


def test_old_backups_are_removed_with_the_files_that_only_they_had(
    database: Database, database_config: Config, target: BackupDirectory, urn: str
) -> None:
    first = back_up(database_config, database, target)
    remove_item(database_config, database, urn)
    later = stored(database, database_config, months=1)
    second = back_up(database_config, database, target, keep=2)
    assert second.removed == []
    assert (target.files / "items" / urn).exists()
    third = back_up(database_config, database, target, keep=2)
    assert third.removed == [first.generation]
    assert target.generation_names() == ([second.generation, third.generation], [])
    assert [path.name for path in (target.files / "items").iterdir()] == [later]
    assert back_up(database_config, database, target, keep=1).copied_files == 0
    assert target.verify(target.generation_names()[0], lambda _done, _total: None) == []


def test_what_is_missing_or_damaged_is_said(
    database: Database, database_config: Config, target: BackupDirectory, urn: str, tarantula: Tarantula
) -> None:
    other = stored(database, database_config, months=1)
    missing, damaged = warc_of(database_config, urn), warc_of(database_config, other)
    missing.unlink()
    flip(damaged)
    outcome = tarantula("backup", str(target.root))
    assert outcome.code == 3
    assert f"{missing} cannot be read (No such file or directory).\n" in outcome.err
    assert f"{damaged} differs from the digest that the database has of it.\n" in outcome.err


def test_items_of_another_home_are_listed(
    database: Database, database_config: Config, target: BackupDirectory, urn: str, tmp_path: Path
) -> None:
    other = Config(home=tmp_path / "other", database_url=database_config.database_url)
    with database.session() as session:
        elsewhere = home_id(other, session.connection())
    change(database, urn, home_id=elsewhere)
    made = back_up(database_config, database, target)
    assert [problem.partition(" on ")[0] for problem in made.problems] == [
        f"The files of item {urn} are in the home {other.home}"
    ]


def test_nothing_is_removed_during_a_backup(database: Database, database_config: Config, urn: str) -> None:
    with (
        removal_suspended(database_config),
        pytest.raises(ConflictError, match=r"A backup of .* is being taken, and needs all files\. Try again when"),
    ):
        remove_item(database_config, database, urn)
    assert warc_of(database_config, urn).exists()
    remove_item(database_config, database, urn)
    assert rows(database) == []


def flip(path: Path) -> None:
    """Change one byte of a file, and nothing else about it."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_flipped_byte_is_found_and_named(
    database: Database,
    database_config: Config,
    target: BackupDirectory,
    restored: Config,
    urn: str,
    tarantula: Tarantula,
) -> None:
    made = back_up(database_config, database, target)
    folder = target.generations / made.generation
    kept = target.files / "items" / urn / "archive" / warc_of(database_config, urn).name
    (dump,) = folder.glob("database.*")
    for damaged in (kept, dump, folder / "manifest.json"):
        original = damaged.read_bytes()
        flip(damaged)
        said = f"{damaged} differs from its digest: the backup is damaged."
        assert tarantula("backup", "--verify", str(target.root)).err == f"{said}\n"
        with pytest.raises(DamagedBackup) as error:
            restore(restored, target)
        assert str(error.value) == said
        damaged.write_bytes(original)
    shutil.rmtree(restored.home)
    outcome = tarantula("restore", str(target.root), "--check")
    assert (outcome.code, outcome.out) == (0, f"Every file is as its digest says, in: {made.generation}.\n")
    kept.unlink()
    outcome = tarantula("restore", str(target.root), "--check", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["problems"] == [f"{kept} cannot be read (No such file or directory)."]


def test_a_damaged_file_is_copied_again_where_it_has_grown_or_was_deleted(
    sqlite: Database, config: Config, target: BackupDirectory
) -> None:
    urn = stored(sqlite, config)
    log, kept = config.items / urn / "crawl.log", target.files / "items" / urn / "crawl.log"
    log.write_text("first")
    first = back_up(config, sqlite, target)
    flip(kept)
    with log.open("a") as file:
        file.write(" and more")
    second = back_up(config, sqlite, target)
    assert (second.problems, second.copied_bytes) == ([], len("first and more"))
    damage = f"{kept} differs from its digest: the backup is damaged."
    assert target.verify([first.generation], lambda _done, _total: None) == [damage]
    assert target.verify([second.generation], lambda _done, _total: None) == []
    warc = warc_of(config, urn)
    kept = target.files / "items" / urn / "archive" / warc.name
    flip(kept)
    assert target.verify([second.generation], lambda _done, _total: None) != []
    kept.unlink()
    assert back_up(config, sqlite, target).copied_bytes == warc.stat().st_size
    assert target.verify([second.generation], lambda _done, _total: None) == []


def test_an_index_of_the_pool_that_was_not_written_to_its_end(
    sqlite: Database, config: Config, target: BackupDirectory
) -> None:
    stored(sqlite, config)
    made = back_up(config, sqlite, target)
    index = target.root / "files.jsonl"
    content = index.read_bytes()
    index.write_bytes(content[:-20])
    for copied in (1, 0):
        again = back_up(config, sqlite, BackupDirectory(target.root))
        assert (again.files, again.copied_files, again.problems) == (made.files, copied, [])
    index.write_bytes(content.replace(b'"size"', b'"sise"', 1))
    with pytest.raises(DamagedBackup, match=r"files\.jsonl is damaged\. Delete it: the next backup then copies every"):
        back_up(config, sqlite, BackupDirectory(target.root))
    index.unlink()
    assert back_up(config, sqlite, BackupDirectory(target.root)).copied_files == made.files
    assert target.verify(target.generation_names()[0], lambda _done, _total: None) == []


def test_a_restore_continues_and_takes_nothing_but_an_empty_home(
    database: Database, database_config: Config, target: BackupDirectory, restored: Config, urn: str
) -> None:
    back_up(database_config, database, target)
    with pytest.raises(TarantulaError, match="is not empty"):
        restore(database_config, target)
    with pytest.raises(TarantulaError, match="has no complete backup"):
        restore(restored, _empty(target))
    change(database, urn, state="collecting", launched_on="elsewhere", crashes=2)
    back_up(database_config, database, target)

    def stop(done: int, _total: int) -> None:
        if done > 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(restored, target, progress=stop)
    assert (restored.home / ".restoring").exists()
    assert restore(restored, target).unfinished == [urn]
    assert not (restored.home / ".restoring").exists()
    with pytest.raises(TarantulaError, match="is not empty"):
        restore(restored, target)
    with open_database(restored) as copy, copy.reading() as session:
        item = find_item(session, urn)
        assert (item.launched_on, item.crashes, item.retry_at is not None) == (None, 2, True)


def _empty(target: BackupDirectory) -> BackupDirectory:
    empty = BackupDirectory(target.root.with_name("empty"))
    empty.create()
    return empty


def test_a_backup_is_restored_to_its_kind_of_database(
    database: Database, database_config: Config, target: BackupDirectory, tmp_path: Path, urn: str, postgresql_url: str
) -> None:
    back_up(database_config, database, target)
    kind = database.engine.dialect.name
    url = postgresql_url if kind == "sqlite" else f"sqlite:///{tmp_path / 'new.sqlite'}"
    with pytest.raises(TarantulaError, match=rf"The backup is of a database of kind {kind}, and the new one is of"):
        restore(Config(home=tmp_path / "restored", database_url=url), target)


def test_an_older_schema_is_migrated(sqlite: Database, config: Config, target: BackupDirectory, tmp_path: Path) -> None:
    made = back_up(config, sqlite, target)
    folder = target.generations / made.generation
    _, manifest = target.read_manifest()
    old = folder / manifest.database.name
    old.unlink()
    engine = create_engine(f"sqlite:///{old}")
    with engine.begin() as connection:
        upgrade(connection, "0011")
    engine.dispose()
    content = old.read_bytes()
    database = manifest.database.model_copy(update={"size": len(content), "sha256": sha256(content).hexdigest()})
    target.write_manifest(folder, manifest.model_copy(update={"database": database, "schema_version": "0011"}))
    restored = Config(home=tmp_path / "restored", database_url="")
    restore(restored, target)
    with open_database(restored) as copy, copy.reading() as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
    target.write_manifest(folder, manifest.model_copy(update={"schema_version": "9999", "version": "9.0"}))
    with pytest.raises(
        TarantulaError, match=r"made by the newer version 9\.0\. Install that version, then restore it\."
    ):
        restore(Config(home=tmp_path / "newer", database_url=""), target)


def test_directories_that_are_no_backups_are_refused(sqlite: Database, config: Config, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(TarantulaError, match="is not empty and is no directory of backups"):
        back_up(config, sqlite, BackupDirectory(tmp_path / "full"))
    with pytest.raises(TarantulaError, match=r"is no directory of backups: backup\.json cannot be read in it"):
        BackupDirectory(tmp_path / "full").check()


def test_one_process_writes_to_a_directory(sqlite: Database, config: Config, target: BackupDirectory) -> None:
    target.create()
    with target.locked(), pytest.raises(ConflictError, match="Another process is writing to"):
        back_up(config, sqlite, BackupDirectory(target.root))


def test_the_commands_say_what_was_done_and_write_it_down(
    database: Database,
    database_config: Config,
    restored: Config,
    target: BackupDirectory,
    urn: str,
    tarantula: Tarantula,
) -> None:
    outcome = tarantula("backup", str(target.root), "--json")
    assert outcome.code == 0
    made = BackupResult(**json.loads(outcome.out))
    assert audit_entries(database)[-1][1:] == ("backup", str(target.root))
    url = ["--database-url", restored.database_url] if restored.database_url else []
    outcome = tarantula("restore", str(target.root), "--home", str(restored.home), *url, "--rebuild")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"The backup {made.generation}, of ")
    assert (restored.archived / urn / "index.html").exists()
    with open_database(restored) as copy:
        assert [entry[1:] for entry in audit_entries(copy)] == [
            ("backup", str(target.root)),
            ("restore", f"{target.root} {made.generation}"),
        ]


def test_what_cannot_be_built_after_a_restore_is_said(
    sqlite: Database, config: Config, tmp_path: Path, target: BackupDirectory, tarantula: Tarantula
) -> None:
    urn = stored(sqlite, config)
    with sqlite.session() as session:
        append_to_journal(session.connection(), JournalKind.COLLECTED, find_item(session, urn).id)
        session.query(WarcFile).update({"sha256": None})
    warc = warc_of(config, urn)
    with warc.open("r+b") as file:
        file.truncate(warc.stat().st_size // 2)
    assert tarantula("backup", str(target.root)).code == 0
    outcome = tarantula("restore", str(target.root), "--home", str(tmp_path / "restored"), "--rebuild")
    lost = [row for row in outcome.err.splitlines() if "is not complete" in row]
    assert outcome.code == 3
    assert re.fullmatch(rf"The mirror of {urn} is not complete: it lacks \d documents\.", lost[0])
    assert re.fullmatch(r"The index is not complete: it lacks \d documents\.", lost[1])


def test_a_killed_backup_is_continued(
    database: Database, database_config: Config, target: BackupDirectory, urn: str
) -> None:
    large = database_config.items / urn / "large.log"
    with large.open("wb") as file:
        file.truncate(400 << 20)
    process = start([TARANTULA, "backup", str(target.root)])
    eventually(lambda: process.poll() is not None or list(target.files.rglob("large.log.part")))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    complete, incomplete = target.generation_names()
    assert (complete, len(incomplete)) == ([], 1)
    code, out, _ = run(TARANTULA, "backup", "--verify", str(target.root))
    assert (code, out) == (1, f"{incomplete[0]} is incomplete: it was interrupted. The next backup removes it.\n")
    large.unlink()
    copied = len(files(target.files)) - 1
    made = back_up(database_config, database, target)
    assert made.problems == []
    assert made.files - made.copied_files == copied > 0
    assert target.generation_names() == ([made.generation], [])
    assert target.verify([made.generation], lambda _done, _total: None) == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", SPACE) as mounted:
        yield mounted


def test_a_full_disk_is_said_and_the_next_backup_continues(
    database: Database, database_config: Config, disk: SmallDisk, urn: str
) -> None:
    target = BackupDirectory(disk.folder / "backups")
    disk.fill(6 << 20)
    (database_config.items / urn / "large.log").write_bytes(os.urandom(8 << 20))
    code, out, err = run(TARANTULA, "backup", str(target.root))
    assert (code, out) == (2, "")
    assert err == (
        f"There is no space left for {target.root}. Free some space, then run the same command again: "
        "it continues with what is missing, and earlier backups are intact.\n"
    )
    assert target.generation_names() == ([], [])
    copied = len([path for path in files(target.files) if not path.endswith(".part")])
    disk.clear()
    made = back_up(database_config, database, target)
    assert made.problems == []
    assert made.files - made.copied_files == copied > 0
    assert target.verify([made.generation], lambda _done, _total: None) == []


def test_a_directory_that_could_not_be_begun_is_used_when_there_is_space(
    database: Database, database_config: Config, disk: SmallDisk, urn: str
) -> None:
    target = BackupDirectory(disk.folder / "backups")
    disk.fill(0)
    with pytest.raises(TarantulaError, match="There is no space left"):
        back_up(database_config, database, target)
    disk.clear()
    made = back_up(database_config, database, target)
    assert made.problems == []
    assert target.verify([made.generation], lambda _done, _total: None) == []
