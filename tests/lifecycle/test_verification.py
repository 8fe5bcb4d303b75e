"""An item is verified before it is archived: lost bodies are collected again if they may be, and else reported."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from tarantula.archive.export.exporter import export_item
from tarantula.archive.fixity import verify_item
from tarantula.archive.omissions import IncompleteError
from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import DocumentState, ItemState
from tarantula.lifecycle.coordinator import complete_item, repair_item
from tarantula.lifecycle.verification import MAX_REFETCHES, verify_collected
from tarantula.models import BodyDamage, Document, Item, WarcFile, WarcFileState
from tarantula.store.listings import find_item, fired_effects, is_complete
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.archived_items import archive
from tests.support.archived_items import page as sent_page
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, only_item, run, states
from tests.support.deposit import BEGAN
from tests.support.item_contents import documents

SENT = [sent_page("", b""), sent_page("a", b"<p>a"), sent_page("b", b"<p>b")]


def converting(database: Database, config: Config, **columns: object) -> tuple[str, Path]:
    """Return an item that was collected, and is not verified yet, and its file."""
    urn = archive(database, config, SENT)
    change(database, urn, state=ItemState.CONVERTING, **columns)
    (path,) = (config.items / urn / "archive").glob("*.warc.gz")
    return urn, path


def change(database: Database, urn: str, **columns: object) -> None:
    with database.session() as session:
        item = find_item(session, urn)
        for name, value in columns.items():
            setattr(item, name, value)


def spoil(database: Database, path: Path, url: str) -> None:
    """Zero the record of a document."""
    with database.reading() as session:
        row = session.scalars(select(Document).where(Document.url == url, Document.warc == path.name)).one()
    assert row.warc_offset is not None
    assert row.warc_length is not None
    with path.open("r+b") as file:
        file.seek(row.warc_offset)
        file.write(bytes(row.warc_length))


def item_of(database: Database, urn: str) -> Item:
    with database.reading() as session:
        return find_item(session, urn)


def ignore(done: int, total: int) -> None:
    pass


def test_lost_bodies_wait_again(database: Database, database_config: Config) -> None:
    urn, path = converting(database, database_config)
    spoil(database, path, SENT[1].url)
    assert verify_collected(database_config, database, urn, ignore)
    item = item_of(database, urn)
    assert (item.state, item.refetches, item.finished_at) == (ItemState.COLLECTING, 1, None)
    assert item.retry_at is not None
    assert states(database) == {SENT[0].url: 200, SENT[1].url: DocumentState.WAITING, SENT[2].url: 200}
    with database.reading() as session:
        row = session.scalars(select(Document).where(Document.url == SENT[1].url)).one()
        assert (row.warc, row.digest, row.collected_at, row.tries) == (None, None, None, 0)
        assert session.scalars(select(BodyDamage)).all() == []


@pytest.mark.parametrize("case", ["over", "stopping", "too often", "later item"])
def test_an_item_that_may_not_be_collected_is_archived_and_not_complete(
    database: Database, database_config: Config, case: str
) -> None:
    columns: dict[str, dict[str, object]] = {
        "over": {"deadline": datetime.now(UTC) - timedelta(seconds=1)},
        "stopping": {"stop_wanted_at": datetime.now(UTC)},
        "too often": {"refetches": MAX_REFETCHES},
        "later item": {},
    }
    urn, path = converting(database, database_config, **columns[case])
    if case == "later item":
        archive(database, database_config, SENT, months=1)
    spoil(database, path, SENT[1].url)
    assert not complete_item(database_config, urn)
    item = item_of(database, urn)
    assert item.state == ItemState.ARCHIVED
    assert item.indicators is not None
    assert (item.indicators["missing_bodies"], item.indicators["damaged_files"]) == (1, 1)
    assert "indicator_missing_bodies" in [rule["reason_code"] for rule in item.attention or ()]
    assert not is_complete(item, fired_effects(item))


def test_rules_of_the_publication_cannot_hide_a_loss(database: Database, database_config: Config) -> None:
    urn, path = converting(database, database_config, refetches=MAX_REFETCHES)
    item = item_of(database, urn)
    change(database, urn, configuration={**item.configuration, "attention": [], "incomplete": []})
    path.unlink()
    assert not complete_item(database_config, urn)
    item = item_of(database, urn)
    assert [rule["rule"] for rule in item.attention or ()] == [
        "missing-bodies > 0",
        "mirror-missing > 0%",
        "damaged-files > 0",
    ]
    assert not is_complete(item, fired_effects(item))


def test_a_sound_item_without_conversion_is_verified_too(database: Database, database_config: Config) -> None:
    urn, _ = converting(database, database_config)
    change(database, urn, configuration={**item_of(database, urn).configuration, "convert": False})
    assert not complete_item(database_config, urn)
    item = item_of(database, urn)
    assert (item.state, item.attention) == (ItemState.ARCHIVED, [])
    assert item.verified_at is not None
    assert is_complete(item, fired_effects(item))
    assert not (database_config.archived / urn).exists()


def test_after_a_crash_verified_files_are_not_read_again(database: Database, database_config: Config) -> None:
    urn, _ = converting(database, database_config)
    verify_collected(database_config, database, urn, ignore)

    def checked() -> list[datetime | None]:
        with database.reading() as session:
            return list(session.scalars(select(WarcFile.checked_at)))

    before = checked()
    assert not verify_collected(database_config, database, urn, ignore)
    assert checked() == before
    with database.session() as session:
        row = session.scalars(select(Document).limit(1)).one()
        row.collected_at = datetime.now(UTC)
    assert not verify_collected(database_config, database, urn, ignore)
    assert checked() > before


def test_a_body_in_an_earlier_item_is_collected_again(database: Database, database_config: Config) -> None:
    first = archive(database, database_config, SENT)
    second = archive(database, database_config, SENT, after=first, months=1)
    verify_item(database_config, database, first)
    change(database, second, state=ItemState.CONVERTING)
    (path,) = (database_config.items / first / "archive").glob("*.warc.gz")
    path.unlink()
    assert verify_collected(database_config, database, second, ignore)
    with database.reading() as session:
        item = find_item(session, second)
        rows = session.scalars(select(Document).where(Document.item_id == item.id)).all()
        assert {(row.state, row.refers_to_id) for row in rows} == {(DocumentState.WAITING, None)}
        assert session.scalars(select(WarcFile.state).order_by(WarcFile.item_id)).all() == ["missing", "verified"]


def test_a_folder_that_is_not_mounted_is_not_collected_again(database: Database, database_config: Config) -> None:
    urn, path = converting(database, database_config)
    with database.session() as session:
        session.add(WarcFile(item_id=find_item(session, urn).id, name=path.name, state="closed", created_at=BEGAN))
    away = path.parent.rename(path.parent.with_name("away"))
    with pytest.raises(TarantulaError, match="archive is missing, which had 1 files"):
        verify_collected(database_config, database, urn, ignore)
    away.rename(path.parent)
    assert not verify_collected(database_config, database, urn, ignore)
    assert item_of(database, urn).state == ItemState.CONVERTING


def test_a_body_that_another_one_has_replaced_is_lost(database: Database, database_config: Config) -> None:
    """The document that has it was collected again, after its record was lost."""
    first = archive(database, database_config, SENT)
    second = archive(database, database_config, SENT, after=first, months=1)
    for urn in (first, second):
        assert verify_item(database_config, database, urn).is_whole
    with database.session() as session:
        store_indicators(session, find_item(session, second))
    root = documents(database, first)[SENT[1].url]
    with database.session() as session:
        session.execute(update(Document).where(Document.id == root.id).values(digest="sha1:OTHER"))
    assert verify_item(database_config, database, second).lost_bodies == 1
    item = item_of(database, second)
    assert not is_complete(item, fired_effects(item))
    with pytest.raises(IncompleteError) as refusal:
        export_item(database_config, database, second, "bagit")
    assert [one.url for one in refusal.value.omissions] == [SENT[1].url]


def test_items_that_lose_bodies_by_a_repair_are_not_complete(database: Database, database_config: Config) -> None:
    """A collector of the first item was killed, and meanwhile the second was collected."""
    first = archive(database, database_config, SENT)
    second = archive(database, database_config, SENT, after=first, months=1)
    verify_item(database_config, database, second)
    with database.session() as session:
        store_indicators(session, find_item(session, second))
    change(database, first, state=ItemState.COLLECTING)
    (path,) = (database_config.items / first / "archive").glob("*.warc.gz")
    offset = documents(database, first)[SENT[1].url].warc_offset
    os.truncate(path, offset or 0)
    assert repair_item(database_config, database, first).losing_items == {item_of(database, second).id}
    item = item_of(database, second)
    assert item.indicators is not None
    assert (item.indicators["missing_bodies"], is_complete(item, fired_effects(item))) == (2, False)


@pytest.fixture
def web() -> Iterator[Web]:
    with Web({"/": Answer(page("Base", ["/a", "/b"])), "/a": Answer(page("A")), "/b": Answer(page("B"))}) as served:
        yield served


@pytest.mark.parametrize("program", ["tarantula", "scrapy"])
@pytest.mark.parametrize("database_config", ["sqlite"], indirect=True)
def test_the_programs_collect_lost_bodies_again(database: Database, config: Config, web: Web, program: str) -> None:
    describe(database, "site", base_url=web.url(), robots=False)
    collect("site")
    item = only_item(database)
    assert (item.state, is_complete(item, fired_effects(item)), len(web.visits)) == ("archived", True, 3)
    (path,) = (config.items / item.urn / "archive").glob("*.warc.gz")
    spoil(database, path, web.url("/a"))
    # As if the process had been killed before it verified the item.
    with database.session() as session:
        session.execute(update(WarcFile).values(state=WarcFileState.CLOSED, checked_at=None))
    if program == "tarantula":
        change(database, item.urn, state=ItemState.CONVERTING, verified_at=None)
        code, _, err = run(TARANTULA, "item", "resume", item.urn)
    else:
        # The process that finishes the item finds the loss, and starts another.
        with database.session() as session:
            waiting = session.scalars(select(Document).where(Document.url == web.url("/b"))).one()
            waiting.state = DocumentState.WAITING
        change(database, item.urn, state=ItemState.COLLECTING, verified_at=None)
        code, _, err = run(SCRAPY, "crawl", "site", "-a", f"item={item.urn}")
    assert code == 0, err
    assert len(web.visits_to("/a")) == 2
    found = only_item(database)
    assert (found.state, found.refetches, is_complete(found, fired_effects(found))) == ("archived", 1, True)
    # The damaged file is still there, and named.
    code, out, _ = run(TARANTULA, "verify", "--json")
    (shown,) = json.loads(out)
    assert (code, shown["lost_bodies"]) == (3, 0)
    assert sorted(file["state"] for file in shown["files"]) in (
        ["damaged", "verified"],
        ["damaged", "verified", "verified"],
    )
