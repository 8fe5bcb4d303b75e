"""Removing an item keeps later items complete, or is refused."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, insert, select, update

from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle import handover, removal
from tarantula.lifecycle.daemon import RemovalRestarter
from tarantula.lifecycle.processes import LocalProcessStarter
from tarantula.lifecycle.removal import interrupted_removals, plan_removal, remove_item
from tarantula.models import (
    Base,
    BodyDamage,
    Decision,
    Document,
    InheritedRecord,
    Item,
    JournalEntry,
    LinkRow,
    LinkWeight,
    ReadText,
    Visit,
    WarcFile,
)
from tarantula.store.database import open_database
from tarantula.store.journal import JournalKind
from tarantula.store.listings import find_item
from tests.support.archived_items import BASE, SENT, archive, page
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, start, wait_until
from tests.support.deposit import BEGAN
from tests.support.item_contents import bodies, documents, files, urns
from tests.support.waits import eventually

WHOLE = {sent.url: sent.body for sent in SENT}


def _count(database: Database, table: type[Base]) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def _damage_record(config: Config, document: Document, urn: str) -> Path:
    (path,) = (path for path in files(config, urn) if path.name == document.warc)
    content = bytearray(path.read_bytes())
    content[(document.warc_offset or 0) + 100] ^= 0xFF
    path.write_bytes(content)
    return path


def test_items_are_removed_one_by_one_and_the_last_stays_complete(database: Database, database_config: Config) -> None:
    config = database_config
    first = archive(database, config, [*SENT, page("gone", b"<p>Nobody has it any more.")])
    second = archive(database, config, after=first, months=1)
    third = archive(database, config, after=second, months=2)
    assert remove_item(config, database, first) == (0, [])
    assert _count(database, InheritedRecord) == 4
    assert bodies(database, config, second) == bodies(database, config, third) == WHOLE
    index = (config.items / second / "indexes" / "index.cdxj").read_text().splitlines()
    assert len(index) == len(SENT) + 4
    assert remove_item(config, database, second) == (0, [])
    assert bodies(database, config, third) == WHOLE
    assert b"Nobody has it" not in b"".join(path.read_bytes() for path in files(config, third))
    assert remove_item(config, database, third) == (0, [])
    for table in (InheritedRecord, Document, Item, WarcFile):
        assert _count(database, table) == 0
    assert [*config.items.iterdir(), *config.archived.iterdir()] == []


def test_records_go_to_the_oldest_item_that_refers_to_them(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, SENT[:1], after=first, months=1)
    third = archive(sqlite, config, after=first, months=2)
    remove_item(config, sqlite, first)
    assert [len(files(config, urn)) for urn in (second, third)] == [2, 2]
    assert bodies(sqlite, config, second) == {BASE: WHOLE[BASE]}
    assert bodies(sqlite, config, third) == WHOLE


def test_handed_over_files_are_registered(database: Database, database_config: Config) -> None:
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    with database.reading() as session:
        number = find_item(session, first).id
    remove_item(database_config, database, first)
    path = database_config.items / second / "archive" / f"{second}-from-{number}-00001.warc.gz"
    with database.reading() as session:
        (row,) = session.scalars(select(WarcFile).where(WarcFile.name == path.name))
    assert (row.state, row.size) == ("closed", path.stat().st_size)
    # Four responses, and the warcinfo record of the file that had them.
    assert row.records == 5


@pytest.mark.parametrize("harm", ["missing", "damaged", "another record"])
def test_nothing_is_removed_if_a_needed_body_cannot_be_read(
    database: Database, database_config: Config, tarantula: Tarantula, harm: str
) -> None:
    config = database_config
    first = archive(database, config)
    second = archive(database, config, after=first, months=1)
    broken = documents(database, first)[BASE]
    if harm == "missing":
        (path,) = files(config, first)
        path.rename(path.with_suffix(".away"))
        unreadable = 4
    elif harm == "damaged":
        path = _damage_record(config, broken, first)
        unreadable = 1
    else:
        (path,) = files(config, first)
        with database.session() as session:
            session.execute(update(Document).where(Document.id == broken.id).values(url=f"{BASE}other"))
        unreadable = 1
    rows = {table.name: _rows(database, table) for table in Base.metadata.sorted_tables if table.name != "audit"}
    refused = tarantula("item", "remove", first, "--yes")
    assert refused.code == 2
    assert refused.err.startswith(
        f"Item {first} is not removed: other items need 4 bodies that it stores, and {unreadable} of them cannot be "
        f"read, in {path} ({unreadable}). These items would lose them: {second} ({unreadable}). The first: {path} "
    )
    assert refused.err.endswith(
        f"Put the files back, or lose these bodies for good with `tarantula item remove {first} --force`.\n"
    )
    assert urns(database) == [first, second]
    assert {name: _rows(database, Base.metadata.tables[name]) for name in rows} == rows
    assert len(files(config, second)) == 1


def _rows(database: Database, table: Any) -> list[Any]:
    with database.reading() as session:
        return sorted(map(repr, session.execute(select(table))))


def test_force_lists_what_is_destroyed_and_asks_for_the_name(
    database: Database, database_config: Config, tarantula: Tarantula
) -> None:
    config = database_config
    first = archive(database, config)
    second = archive(database, config, after=first, months=1)
    broken = documents(database, first)[BASE]
    loser = documents(database, second)[BASE]
    path = _damage_record(config, broken, first)
    export = config.home / "exports" / f"{first}.wacz"
    export.parent.mkdir(parents=True)
    export.write_bytes(b"PK")
    with database.session() as session:
        number = find_item(session, first).id
        store_indicators(session, find_item(session, second))
        session.add(Decision(item_id=number, validation="valid", by="eva", at=BEGAN, why="Good."))
    wrong = tarantula("item", "remove", first, "--force", "--confirm", second)
    destroyed = (
        f"The removal of {first} destroys 5 documents and 1 decisions.\n"
        f"It destroys the export {export}. Exports that were written elsewhere stay.\n"
        f"1 bodies that later items need cannot be read in {path}: they are lost for good.\n"
        f"{second} loses 1 bodies.\n"
    )
    assert (wrong.code, wrong.err) == (2, f"{destroyed}That is not {first}: nothing was removed.\n")
    assert urns(database) == [first, second]
    done = tarantula("item", "remove", first, "--force", "--confirm", first)
    assert (done.code, done.out) == (0, f"{first} is removed. Later items lost 1 bodies.\n")
    assert urns(database) == [second]
    assert not export.exists()
    with database.reading() as session:
        (damage,) = session.scalars(select(BodyDamage))
        assert (damage.document_id, damage.problem, damage.warc) == (loser.id, "missing", path.name)
        indicators = find_item(session, second).indicators or {}
        assert indicators["missing_bodies"] == 1
    with pytest.raises(TarantulaError, match=f"The body of {BASE} was stored in an earlier item"):
        bodies(database, config, second)


def test_yes_does_not_confirm_force(
    sqlite: Database, sqlite_config: Config, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = archive(sqlite, sqlite_config)
    monkeypatch.setattr("typer.prompt", lambda *_: "yes")
    refused = tarantula("item", "remove", urn, "--force", "--yes")
    assert refused.code == 2
    assert urns(sqlite) == [urn]


def test_an_item_cannot_be_removed_while_a_later_one_is_collected(database: Database, database_config: Config) -> None:
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    with database.session() as session:
        session.execute(update(Item).where(Item.urn == second).values(state=ItemState.COLLECTING))
    made = files(database_config, second)
    with pytest.raises(TarantulaError, match=f"Item {second} is being collected, and may refer to {first}"):
        remove_item(database_config, database, first)
    assert files(database_config, second) == made


def test_a_failed_handover_leaves_no_row_and_is_done_again(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    (config.items / second / "indexes").rename(config.items / second / "away")
    (config.items / second / "indexes").touch()
    with pytest.raises(TarantulaError, match="cannot be written"):
        remove_item(config, sqlite, first)
    assert bodies(sqlite, config, first) == bodies(sqlite, config, second) == WHOLE
    (config.items / second / "indexes").unlink()
    remove_item(config, sqlite, first)
    assert bodies(sqlite, config, second) == WHOLE
    assert len(files(config, second)) == 2


def _remove_and_die(config: Config, urn: str, number: int) -> bool:
    """Remove an item in a process that is killed at its *number*-th step; return whether it was killed.

    A step is a commit, a rename, or the removal of a file or folder.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    steps = count(1)

    def step(*_arguments: object) -> None:
        if next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def audited(name: str, _arguments: object) -> None:
        if name in ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree"):
            step()

    try:
        with open_database(config) as database:
            event.listen(database.engine, "commit", step)
            sys.addaudithook(audited)
            remove_item(config, database, urn)
    finally:
        os._exit(0)


def test_a_removal_killed_at_any_step_loses_nothing_and_is_completed(
    database: Database, database_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = database_config
    for name in ("RECORDS_PER_QUERY", "ROWS_PER_TRANSACTION", "MAX_UNFINISHED_RECORDS"):
        monkeypatch.setattr(handover, name, 3)
    for name in ("DOCUMENTS_PER_QUERY", "ROWS_PER_TRANSACTION"):
        monkeypatch.setattr(removal, name, 3)
    seen = Counter[str]()
    first = archive(database, config)
    second = archive(database, config, after=first, months=1)
    # Each step takes longer on PostgreSQL, and is the same: every third one is enough there.
    for number in count(1, 3 if database.engine.dialect.name == "postgresql" else 1):
        third = archive(database, config, after=second, months=number + 1)
        (config.home / "exports" / f"{first}.bag").mkdir(parents=True)
        (config.home / "exports" / f"{first}.bag.missing.csv").touch()
        (config.archived / first).mkdir(parents=True)
        was_killed = _remove_and_die(config, first, number)
        assert bodies(database, config, second) == bodies(database, config, third) == WHOLE
        state = _check_killed(database, config, first)
        seen[state] += 1
        if state == "gone":
            # Only the file that serves as a lock may be left, and an empty folder.
            if was_killed:
                (config.archived / f".{first}.lock").unlink(missing_ok=True)
                shutil.rmtree(config.archived / f".{first}.new", ignore_errors=True)
        else:
            remove_item(config, database, first)
        assert urns(database) == [second, third]
        assert bodies(database, config, second) == bodies(database, config, third) == WHOLE
        assert _left_over(config, first) == []
        for urn in (second, third):
            assert [path.name for path in files(config, urn) if "-from-" in path.name] == _registered(database, urn)
        if not was_killed:
            break
        first, second = second, third
    assert seen["kept"] > 1
    assert seen["removing"] > 1


def _check_killed(database: Database, config: Config, urn: str) -> str:
    """Check the item after a kill: it is whole, or hidden and about to be removed, or gone."""
    if urn not in urns(database):
        return "gone"
    with database.reading() as session:
        state = session.scalars(select(Item.state).where(Item.urn == urn)).one()
        if state == ItemState.REMOVING:
            with pytest.raises(ConflictError, match=f"Item {urn} is being removed."):
                find_item(session, urn)
            assert interrupted_removals(config, database) == [urn]
            return "removing"
    assert bodies(database, config, urn) == WHOLE
    return "kept"


def _left_over(config: Config, urn: str) -> list[Path]:
    folders = (config.items, config.archived, config.home / "exports")
    return [path for folder in folders for path in folder.rglob("*") if urn in path.name or ".part" in path.name]


def _registered(database: Database, urn: str) -> list[str]:
    with database.reading() as session:
        names = select(WarcFile.name).join(Item).where(Item.urn == urn, WarcFile.name.contains("-from-"))
        return sorted(session.scalars(names))


def _add_documents(database: Database, urn: str, number: int, links: int = 0) -> None:
    """Add rows of documents without a body, as a large item has them."""
    with database.session() as session:
        item = find_item(session, urn)
        base = session.scalars(select(Document).where(Document.item_id == item.id).limit(1)).one()
        last = session.scalar(select(func.max(Document.id))) or 0
        names = ("item_id", "server_id", "depth", "kind", "redirects", "rank", "tries")
        common = {name: getattr(base, name) for name in names} | {"state": 404}
        ids = range(last + 1, last + 1 + number)
        rows = [{"id": one, "key": one.to_bytes(16), "url": f"{BASE}{one}", **common} for one in ids]
        connection = session.connection()
        connection.execute(insert(Document), rows)
        texts = [{"document_id": one, "item_id": item.id, "content": b""} for one in ids]
        connection.execute(insert(ReadText), texts)
        if links:
            targets = [{"document_id": one, "target": to.to_bytes(16), "kind": 0} for one in ids for to in range(links)]
            connection.execute(insert(LinkRow), targets)


def test_the_command_is_killed_and_the_daemon_completes_the_removal(sqlite: Database, sqlite_config: Config) -> None:
    config = sqlite_config
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    _add_documents(sqlite, first, 5_000)
    process = start([TARANTULA, "item", "remove", first, "--yes"])
    with sqlite.autocommit_connection() as connection:
        state = select(Item.state).where(Item.urn == first)
        wait_until(lambda: connection.scalar(state) == "removing", process)
    process.kill()
    process.wait()
    assert interrupted_removals(config, sqlite) == [first]
    with pytest.raises(ConflictError, match=f"`tarantula item remove {first}` completes it"):
        bodies(sqlite, config, first)
    assert bodies(sqlite, config, second) == WHOLE
    starter = LocalProcessStarter(config)
    RemovalRestarter(config, sqlite, starter).check()
    assert starter.running() == [first]
    eventually(lambda: starter.running() == [])
    assert urns(sqlite) == [second]
    assert _left_over(config, first) == []
    assert bodies(sqlite, config, second) == WHOLE


def test_a_transaction_deletes_a_bounded_number_of_rows(
    database: Database, database_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = archive(database, database_config)
    _add_documents(database, urn, 300, links=10)
    monkeypatch.setattr(removal, "ROWS_PER_TRANSACTION", 200)
    deleted: list[int] = [0]

    def executed(_connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("DELETE"):
            assert "RETURNING" not in statement
            deleted[-1] += cursor.rowcount

    event.listen(database.engine, "after_cursor_execute", executed)
    event.listen(database.engine, "commit", lambda _: deleted.append(0))
    remove_item(database_config, database, urn)
    assert sum(deleted) == 5 + 300 + 300 * 10 + 300 + 1
    # The rows of documents and links, and one text for each document.
    assert max(deleted) <= 200 + 200 // 11
    assert len([number for number in deleted if number]) > 15


def test_a_removed_item_leaves_the_listings_at_once(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    with database.session() as session:
        removal._mark(session, urn)
        assert (
            session.scalars(select(JournalEntry.kind).order_by(JournalEntry.id.desc())).first() == JournalKind.REMOVED
        )
    assert plan_removal(database_config, database, urn).state == "removing"
    remove_item(database_config, database, urn)
    for table in (Item, Document, Visit, LinkWeight):
        assert _count(database, table) == 0
