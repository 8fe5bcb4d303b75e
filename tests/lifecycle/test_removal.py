"""Removing an item keeps later items complete."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.removal import copy_referred_records, hand_over
from tarantula.models import InheritedRecord, Item
from tarantula.store.listings import find_item
from tests.support.archived_items import BASE, SENT, archive, page
from tests.support.item_contents import bodies, documents, files, remove

WHOLE = {sent.url: sent.body for sent in SENT}


def test_items_are_removed_one_by_one_and_the_last_stays_complete(database: Database, database_config: Config) -> None:
    config = database_config
    first = archive(database, config, [*SENT, page("gone", b"<p>Nobody has it any more.")])
    second = archive(database, config, after=first, months=1)
    third = archive(database, config, after=second, months=2)
    handover = remove(database, config, first)
    assert (len(handover.copies), handover.lost) == (4, {})
    assert bodies(database, config, second) == bodies(database, config, third) == WHOLE
    index = (config.items / second / "indexes" / "index.cdxj").read_text().splitlines()
    assert len(index) == len(SENT) + 4
    assert remove(database, config, second).bytes == handover.bytes
    assert bodies(database, config, third) == WHOLE
    assert b"Nobody has it" not in b"".join(path.read_bytes() for path in files(config, third))
    remove(database, config, third)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(InheritedRecord)) == 0


def test_records_go_to_the_oldest_item_that_refers_to_them(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, SENT[:1], after=first, months=1)
    third = archive(sqlite, config, after=first, months=2)
    remove(sqlite, config, first)
    assert [len(files(config, urn)) for urn in (second, third)] == [2, 2]
    assert bodies(sqlite, config, second) == {BASE: WHOLE[BASE]}
    assert bodies(sqlite, config, third) == WHOLE


def test_records_can_be_copied_before_the_write_transaction(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    with sqlite.reading() as session:
        copied = copy_referred_records(session, config, find_item(session, first))
    made = files(config, second)
    archive(sqlite, config, after=first, months=2)
    with sqlite.session() as session:
        assert hand_over(session, config, find_item(session, first), copied) is copied
    assert files(config, second) == made


def test_a_damaged_record_is_reported_and_the_others_are_handed_over(sqlite: Database, config: Config) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    broken = documents(sqlite, first)[BASE]
    (path,) = files(config, first)
    content = bytearray(path.read_bytes())
    content[(broken.warc_offset or 0) + 100] ^= 0xFF
    path.write_bytes(content)
    handover = remove(sqlite, config, first)
    assert list(handover.lost) == [broken.id]
    assert f"{path} has no complete record at offset {broken.warc_offset}: " in handover.lost[broken.id]
    with pytest.raises(TarantulaError, match=f"The body of {BASE} was stored in an earlier item"):
        bodies(sqlite, config, second)


def test_an_item_cannot_be_removed_while_a_later_one_is_collected(database: Database, database_config: Config) -> None:
    first = archive(database, database_config)
    second = archive(database, database_config, after=first, months=1)
    with database.session() as session:
        session.execute(update(Item).where(Item.urn == second).values(state=ItemState.COLLECTING))
    made = files(database_config, second)
    with pytest.raises(TarantulaError, match=f"Item {second} is being collected, and may refer to {first}"):
        remove(database, database_config, first)
    assert files(database_config, second) == made


def test_files_of_a_failed_handover_are_removed(
    sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = archive(sqlite, config)
    second = archive(sqlite, config, after=first, months=1)
    made = files(config, second)
    (config.items / second / "indexes").rename(config.items / second / "away")
    (config.items / second / "indexes").touch()
    with pytest.raises(TarantulaError, match="cannot be written"):
        remove(sqlite, config, first)
    assert files(config, second) == made
    assert files(config, first)
