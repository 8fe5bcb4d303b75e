"""Power failures: whatever is left of a file, every body that a row names is readable, or the row waits."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.urls import key_of
from tarantula.models import Document, InheritedRecord, Item, LinkRow, Visit, WarcFile, WarcFileState
from tarantula.store.captures import capture_of
from tarantula.store.journal import JournalFollower, JournalKind
from tarantula.store.warc_files import open_files, register_files, store_synced_size, summarize_file
from tarantula.store.warc_reader import read_response
from tarantula.store.warc_repair import Repair, repair_files
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tests.store.test_documents import NOW, new_item
from tests.support.exchanges import HTML, answer, exchange
from tests.support.file_faults import ABSENCES, make_unopenable

NAMES = ("a", "b", "c", "d")
BODIES = {name: f"<p>{name}".encode() * 300 for name in NAMES}


@dataclass
class Collected:
    """An item with four documents in one file, as after a crash: the row of the file is open."""

    database: Database
    config: Config
    item: int
    urn: str
    path: Path
    stored: dict[str, StoredRecord]
    ids: dict[str, int]
    whole: bytes

    def repair(self) -> Repair:
        return repair_files(self.database, self.path.parent, self.item, self.urn)

    def cut(self, size: int) -> None:
        self.path.write_bytes(self.whole[:size])

    def synced(self, size: int) -> None:
        with self.database.engine.begin() as connection:
            store_synced_size(connection, self.item, self.path.name, size)

    def close(self) -> None:
        with self.database.engine.begin() as connection:
            register_files(connection, self.item, [summarize_file(self.path)])

    def readable(self) -> set[str]:
        """Return the documents whose bodies are readable and right; assert that all others wait."""
        found = set()
        with self.database.reading() as session:
            for name, identity in self.ids.items():
                document = session.get_one(Document, identity)
                capture = capture_of(session, self.config.items, document)
                if capture is None:
                    assert (document.state, document.tries, document.digest, document.collected_at) == (
                        -6,
                        0,
                        None,
                        None,
                    )
                else:
                    assert document.state == 200
                    assert read_response(capture.path, capture.offset).body == BODIES[name]
                    found.add(name)
        return found

    def row(self) -> tuple[object, ...]:
        with self.database.reading() as session:
            chosen = select(WarcFile.state, WarcFile.size, WarcFile.sha256, WarcFile.records)
            return tuple(session.execute(chosen.where(WarcFile.item_id == self.item)).one())


def collect_four(database: Database, config: Config, publication: str) -> Collected:
    item = new_item(database, name=publication)
    with database.reading() as session:
        urn = session.get_one(Item, item).urn
    archive = config.items / urn / "archive"
    with WarcWriter(archive, urn, {}) as writer:
        stored = {
            name: writer.write(exchange(f"http://h/{name}", answer(HTML), body), b"<p>seen" if name == "c" else None)
            for name, body in BODIES.items()
        }
    (path,) = archive.iterdir()
    ids = {}
    with database.session() as session:
        base = session.scalars(select(Document).where(Document.item_id == item)).one()
        for name, record in stored.items():
            row = document_row(item, base.server_id, name, record)
            ids[name] = session.execute(insert(Document).returning(Document.id), row).scalar_one()
            session.add(LinkRow(document_id=ids[name], target=key_of("http://h/a"), kind=0))
        open_files(session.connection(), item, [path.name])
    return Collected(database, config, item, urn, path, stored, ids, path.read_bytes())


@pytest.fixture
def collected(database: Database, database_config: Config) -> Collected:
    return collect_four(database, database_config, "fcul")


def document_row(item: int, server: int, name: str, record: StoredRecord) -> dict[str, object]:
    return {
        "item_id": item,
        "key": key_of(f"http://h/{name}"),
        "url": f"http://h/{name}",
        "server_id": server,
        "depth": 1,
        "kind": 0,
        "redirects": 0,
        "rank": 0,
        "tries": 1,
        "state": 200,
        "digest": record.digest,
        "size": len(BODIES[name]),
        "type": "text/html",
        "collected_at": NOW,
        "warc": record.file,
        "warc_offset": record.offset,
        "warc_length": record.length,
        "rendered_offset": record.rendered_offset,
    }


def end(record: StoredRecord) -> int:
    return record.offset + record.length


Place = Callable[[dict[str, StoredRecord]], int]
LOSSES: dict[str, tuple[Place, set[str]]] = {
    "nothing written": (lambda stored: 0, set()),
    "within the warcinfo record": (lambda stored: 20, set()),
    "after the warcinfo record": (lambda stored: stored["a"].offset, set()),
    "within a response": (lambda stored: stored["b"].offset + 100, {"a"}),
    "within the checksum of a response": (lambda stored: end(stored["b"]) - 6, {"a"}),
    "between a response and its request": (lambda stored: end(stored["b"]), {"a", "b"}),
    "within a request": (lambda stored: end(stored["b"]) + 10, {"a", "b"}),
    "between two documents": (lambda stored: stored["c"].offset, {"a", "b"}),
    "before a rendered page": (lambda stored: stored["c"].rendered_offset or 0, {"a", "b"}),
    "within a rendered page": (lambda stored: (stored["c"].rendered_offset or 0) + 9, {"a", "b"}),
    "after a rendered page": (lambda stored: stored["d"].offset, {"a", "b", "c"}),
    "after the last response": (lambda stored: end(stored["d"]), {"a", "b", "c", "d"}),
}


@pytest.mark.parametrize("kind", ["open", "zeros", "closed"])
def test_documents_beyond_the_end_of_a_file_wait_again(database: Database, database_config: Config, kind: str) -> None:
    for number, (place, kept) in enumerate(LOSSES.values()):
        collected = collect_four(database, database_config, f"p{number}")
        check_loss(collected, place(collected.stored), kept, kind)


def check_loss(collected: Collected, size: int, kept: set[str], kind: str) -> None:
    if kind == "closed":
        collected.close()
    collected.cut(size)
    if kind == "zeros":
        # Some file systems extend a file before its blocks are written.
        collected.path.write_bytes(collected.whole[:size].ljust(len(collected.whole), b"\0"))
    repair = collected.repair()
    assert collected.readable() == kept
    assert (repair.documents, repair.visits, repair.inherited) == (4 - len(kept), 0, 0)
    # The rest consists of complete records; an unknown digest is computed by the verification.
    assert collected.row() == ("closed", collected.path.stat().st_size, None, None)
    assert summarize_file(collected.path).size <= size
    assert collected.repair() == Repair()


def test_a_hole_in_bytes_that_were_not_synced(collected: Collected) -> None:
    hole = collected.stored["b"].offset + 10
    collected.path.write_bytes(collected.whole[:hole] + bytes(50) + collected.whole[hole + 50 :])
    collected.repair()
    assert collected.readable() == {"a"}
    assert collected.path.read_bytes() == collected.whole[: collected.stored["b"].offset]


def test_only_bytes_after_the_last_sync_are_read(collected: Collected) -> None:
    damaged = collected.stored["a"].offset + 10
    collected.path.write_bytes(collected.whole[:damaged] + bytes(50) + collected.whole[damaged + 50 :] + b"half")
    collected.synced(end(collected.stored["b"]))
    assert collected.repair() == Repair()
    assert collected.path.stat().st_size == len(collected.whole)


@pytest.mark.parametrize("absence", ABSENCES)
def test_a_missing_file_is_forgotten(collected: Collected, absence: str) -> None:
    ABSENCES[absence](collected.path)
    repair = collected.repair()
    assert (repair.documents, repair.files) == (4, [collected.path.name])
    assert collected.readable() == set()
    with collected.database.reading() as session:
        assert session.scalars(select(WarcFile)).all() == []


def test_a_missing_folder_is_not_taken_for_lost_files(collected: Collected) -> None:
    """The disk of the items may not be mounted yet."""
    folder = collected.path.parent
    away = folder.rename(folder.with_name("away"))
    with pytest.raises(TarantulaError, match=r"archive is missing, which had 1 files\. Mount its disk"):
        collected.repair()
    away.rename(folder)
    assert collected.repair() == Repair()
    assert collected.readable() == {"a", "b", "c", "d"}
    shutil.rmtree(folder)
    folder.mkdir()
    assert collected.repair().documents == 4


def test_a_file_that_cannot_be_opened_now_is_not_forgotten(collected: Collected) -> None:
    away = Path(shutil.copy(collected.path, collected.path.with_name("away")))
    make_unopenable(collected.path)
    with pytest.raises(TarantulaError, match=r"cannot be read \(File name too long\)\. Correct this, then resume"):
        collected.repair()
    collected.path.unlink()
    away.rename(collected.path)
    assert collected.repair() == Repair()
    assert collected.readable() == {"a", "b", "c", "d"}


def test_a_file_without_a_row_gets_one(collected: Collected) -> None:
    other = collected.path.with_name("other.warc.gz")
    other.write_bytes(collected.whole + b"half")
    collected.close()
    assert collected.repair() == Repair()
    with collected.database.reading() as session:
        row = session.scalars(select(WarcFile).where(WarcFile.name == other.name)).one()
        assert (row.state, row.size) == (WarcFileState.CLOSED, len(collected.whole))


def test_a_file_that_is_being_written_is_left_alone(collected: Collected) -> None:
    with WarcWriter(collected.path.parent, "fcul-1", {}) as writer:
        name = writer.write(exchange("http://h/e", answer(HTML), b"e")).file
        writer.flush()
        path = collected.path.with_name(name)
        with path.open("ab") as file:
            file.write(b"half a record")
        size = path.stat().st_size
        collected.repair()
        assert path.stat().st_size == size
    collected.repair()
    assert path.stat().st_size < size


def test_documents_that_refer_to_a_lost_body_wait_too(collected: Collected, caplog: pytest.LogCaptureFixture) -> None:
    database, item = collected.database, collected.item
    other = new_item(database, "http://g/", "other")
    with database.session() as session:
        session.execute(
            update(Document).where(Document.id == collected.ids["a"]).values(refers_to_id=collected.ids["d"])
        )
        for owner, url in ((item, "http://h/carried"), (other, "http://h/d")):
            row = document_row(owner, 1, "d", collected.stored["d"]) | {"key": key_of(url), "url": url}
            session.execute(insert(Document), row | {"refers_to_id": collected.ids["d"], "warc": None})
    collected.cut(collected.stored["d"].offset)
    repair = collected.repair()
    assert (repair.documents, repair.referring) == (3, 1)
    assert collected.readable() == {"b", "c"}
    assert [record.getMessage() for record in caplog.records if "collected again" in record.getMessage()] == [
        f"{collected.urn}: 3 documents and 0 visits are collected again, because their records are missing from "
        f"{collected.path.name}. 1 captures of other items had their body there, and have none now."
    ]
    with database.reading() as session:
        left = session.scalars(select(LinkRow.document_id).order_by(LinkRow.document_id)).all()
        assert left == sorted([collected.ids["b"], collected.ids["c"]])
        follower = JournalFollower(0, [JournalKind.COLLECTED])
        told = {one for record in follower.next(session.connection(), 10) for one in record.documents}
        carried = session.scalars(select(Document.id).where(Document.url == "http://h/carried")).one()
        assert told == {collected.ids["a"], collected.ids["d"], carried}


def test_lost_inherited_records_are_reported(collected: Collected, caplog: pytest.LogCaptureFixture) -> None:
    record = collected.stored["d"]
    with collected.database.session() as session:
        values = {"url": "http://h/old", "collected_at": NOW, "state": 200, "digest": record.digest}
        place = {"warc": record.file, "warc_offset": record.offset, "warc_length": record.length}
        session.add(InheritedRecord(id=1_000_000, item_id=collected.item, **values, **place))
    collected.path.unlink()
    assert collected.repair().inherited == 1
    assert "1 records inherited from removed items are lost." in caplog.text
    assert collected.row()[0] == WarcFileState.MISSING


def test_lost_visits_are_made_again(collected: Collected) -> None:
    made = datetime(2026, 6, 13, tzinfo=UTC)
    planned = {"item_id": collected.item, "due_at": made, "rate": 1.0, "believed": 0.5}
    done = {"released_at": made, "before": 200, "made_at": made, "gap": 1.0, "state": 200, "changed": False}
    with collected.database.session() as session:
        for name in ("a", "d"):
            record = collected.stored[name]
            place = {"warc": record.file, "warc_offset": record.offset, "warc_length": record.length}
            session.add(Visit(document_id=collected.ids[name], **planned, **done, **place))
        # A visit of `d` that was running: an interruption must not restore the state of a document without a body.
        session.add(Visit(document_id=collected.ids["d"], **planned, released_at=made, before=200))
        session.execute(update(Document).where(Document.id == collected.ids["d"]).values(state=0))
    collected.cut(collected.stored["d"].offset)
    repair = collected.repair()
    assert (repair.documents, repair.visits) == (1, 1)
    assert collected.readable() == {"a", "b", "c"}
    with collected.database.reading() as session:
        kept, lost, under_way = session.scalars(select(Visit).order_by(Visit.id)).all()
        assert (kept.made_at, kept.state, kept.warc) == (made, 200, collected.path.name)
        assert (lost.made_at, lost.released_at, lost.before, lost.state, lost.warc) == (None,) * 5
        assert (under_way.released_at, under_way.before) == (made, None)
