"""Homes: each has an id, an item stays in one home, and files in another home are refused with its place."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import gethostname

import pytest
from sqlalchemy import select, update

from tarantula.archive.export.exporter import export_item
from tarantula.archive.mirror.conversion import convert_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.coordinator import begin_item, check_can_begin, complete_item, end_item
from tarantula.lifecycle.daemon import Coordinator
from tarantula.lifecycle.removal import remove_item
from tarantula.lifecycle.supervisor import STARTUP_TIMEOUT
from tarantula.models import Document, Home, Item, ReadText, WarcFile, WarcFileState
from tarantula.search.index.updater import IndexUpdater
from tarantula.services import documents
from tarantula.services.deposit import Deposit
from tarantula.services.replay import ReplayService
from tarantula.store.homes import FilesElsewhere, home_id, read_home_id, require_files
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item
from tests.support.archived_items import archive
from tests.support.contexts import context_of
from tests.support.exchanges import ANSWERS
from tests.support.item_lifecycles import FakeStarter, change, item, new_item


@pytest.fixture
def here(database_config: Config) -> Config:
    """The home that has the files."""
    return database_config


@pytest.fixture
def elsewhere(database: Database, tmp_path: Path) -> Config:
    """Another home, on the same database."""
    other = Config(home=tmp_path / "other", database_url=str(database.engine.url.render_as_string(False)))
    register(database, other)
    return other


@pytest.fixture
def urn(database: Database, here: Config) -> str:
    """An archived item whose home is known."""
    made = archive(database, here)
    change(database, made, home_id=register(database, here))
    return made


def register(database: Database, installation: Config) -> str:
    with database.session() as session:
        return home_id(installation, session.connection())


def rows(database: Database) -> list[tuple[str, str, str]]:
    with database.reading() as session:
        return [(home.id, home.path, home.host) for home in session.scalars(select(Home).order_by(Home.created_at))]


def test_a_home_gets_an_id_which_stays(database: Database, here: Config, tmp_path: Path) -> None:
    assert read_home_id(here.home) is None
    identity = register(database, here)
    assert register(database, here) == identity == read_home_id(here.home)
    assert rows(database) == [(identity, str(here.home), gethostname())]
    moved = here.model_copy(update={"home": tmp_path / "moved"})
    shutil.copytree(here.home, moved.home)
    assert register(database, moved) == identity
    assert rows(database) == [(identity, str(moved.home), gethostname())]
    assert not list(moved.home.glob(".home-id*"))


def test_processes_that_create_the_id_at_once_agree(database: Database, here: Config) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: register(database, here), range(8)))
    assert set(made) == {read_home_id(here.home)}
    assert len(rows(database)) == 1


def test_a_file_that_is_not_an_id_is_refused(database: Database, here: Config) -> None:
    here.make_home()
    (here.home / "home-id").write_text("none\n")
    with pytest.raises(TarantulaError, match=r"home-id does not contain the id of a home\. Restore it from a backup"):
        register(database, here)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_said(database: Database, here: Config) -> None:
    here.make_home().chmod(0o500)
    with pytest.raises(TarantulaError, match="cannot be written"):
        register(database, here)
    here.home.chmod(0o700)


def test_an_item_belongs_to_the_home_of_its_first_collector(
    database: Database, here: Config, elsewhere: Config
) -> None:
    urn = new_item(here, database)
    end_item(begin_item(here, "fcul", urn), None)
    assert item(database, urn).home_id == read_home_id(here.home)
    for refused in (begin_item, check_can_begin):
        with pytest.raises(FilesElsewhere) as error:
            refused(elsewhere, "fcul", urn)
        assert str(error.value) == (
            f"The files of item {urn} are in the home {here.home} on {gethostname()}, not in {elsewhere.home}. "
            "Run this there, or mount that home here and name it with TARANTULA_HOME."
        )
    assert not (elsewhere.items / urn).exists()


ACTIONS: dict[str, Callable[[Config, Database, str, int], object]] = {
    "convert": lambda config, database, urn, _: convert_item(config, database, urn),
    "export": lambda config, database, urn, _: export_item(config, database, urn, "wacz"),
    "remove": lambda config, database, urn, _: remove_item(config, database, urn),
    "mirror": lambda config, database, urn, _: ReplayService(config, database).mirror_file(urn, "index.html"),
    "replay": lambda config, database, urn, number: ReplayService(config, database).displayed(urn, number),
    "original": lambda config, database, urn, number: ReplayService(config, database).original(urn, number),
    "body": lambda config, _, urn, __: Deposit(config).body_of(urn, ANSWERS["identity"].url),
    "directory": lambda config, _, urn, __: Deposit(config).directory(urn),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_files_of_another_home_are_refused(
    database: Database, here: Config, elsewhere: Config, urn: str, action: str
) -> None:
    with database.reading() as session:
        number = session.scalars(select(Document.id).where(Document.warc.is_not(None)).limit(1)).one()
    with pytest.raises(FilesElsewhere, match=rf"{urn} are in the home {here.home} on {gethostname()}, not in "):
        ACTIONS[action](elsewhere, database, urn, number)
    assert not elsewhere.items.exists() or not list(elsewhere.items.iterdir())
    assert item(database, urn).state == "archived"


def test_a_conversion_is_not_completed_elsewhere(database: Database, here: Config, elsewhere: Config, urn: str) -> None:
    change(database, urn, state="converting")
    with pytest.raises(FilesElsewhere):
        complete_item(elsewhere, urn)
    assert item(database, urn).state == "converting"
    assert not (elsewhere.items / urn).exists()


def test_the_page_of_a_document_says_where_its_files_are(
    database: Database, here: Config, elsewhere: Config, urn: str
) -> None:
    with database.reading() as session:
        number = session.scalars(select(Document.id).where(Document.warc.is_not(None)).limit(1)).one()
        found = documents.document_detail(session, elsewhere.items, find_item(session, urn), number)
    assert found.headers == []
    assert f"are in the home {here.home} on" in (found.headers_missing or "")
    assert documents.get_document(context_of(database), urn, number).headers_missing is None


def test_a_copy_without_its_id_is_told_how_to_get_it(
    database: Database, here: Config, elsewhere: Config, urn: str
) -> None:
    shutil.copytree(here.items / urn, elsewhere.items / urn)
    with pytest.raises(FilesElsewhere) as error:
        convert_item(elsewhere, database, urn)
    identity = read_home_id(here.home)
    assert str(error.value).endswith(
        f" If {elsewhere.home} is a copy of that home without its id, "
        f"write {identity} into {elsewhere.home / 'home-id'}."
    )
    (elsewhere.home / "home-id").write_text(f"{identity}\n")
    assert convert_item(elsewhere, database, urn).skipped == []


def test_items_of_versions_without_homes_are_where_their_files_are(
    database: Database, here: Config, elsewhere: Config
) -> None:
    urn = archive(database, here)
    (name,) = [path.name for path in (here.items / urn / "archive").iterdir()]
    with database.session() as session:
        row = find_item(session, urn)
        session.add(WarcFile(item_id=row.id, name=name, state=WarcFileState.CLOSED, created_at=row.planned_at))
        require_files(session, here, row)
        # Without another home that has items, a missing file is lost, not elsewhere.
        require_files(session, elsewhere, row)
    later = archive(database, here, months=1)
    change(database, later, home_id=register(database, here))
    with database.reading() as session:
        row = find_item(session, urn)
        require_files(session, here, row)
        with pytest.raises(FilesElsewhere) as error:
            require_files(session, elsewhere, row)
    assert str(error.value) == (
        f"No file of item {urn} is in the home {elsewhere.home}. "
        f"Run this with the home that has them; others of this database are: {here.home} on {gethostname()}."
    )


def test_daemons_work_for_the_items_of_their_home(database: Database, here: Config, elsewhere: Config) -> None:
    urns = {home.home: new_item(home, database, name) for home, name in ((here, "first"), (elsewhere, "second"))}
    later = item(database, urns[elsewhere.home]).planned_at + STARTUP_TIMEOUT
    for installation in (here, elsewhere):
        change(database, urns[installation.home], state="converting", home_id=register(database, installation))
    for installation in (here, elsewhere):
        starter = FakeStarter()
        coordinator = Coordinator(installation, database, starter)
        coordinator.round(later)
        coordinator.round(later)
        assert starter.started == [(urns[installation.home], "converting")]


def test_the_index_of_a_home_reads_the_texts_of_its_items(
    database: Database, here: Config, elsewhere: Config, urn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with database.session() as session:
        append_to_journal(session.connection(), JournalKind.COLLECTED, find_item(session, urn).id)
    with caplog.at_level(logging.WARNING):
        updater = IndexUpdater(elsewhere, database)
        assert (updater.step().read, updater.index.searcher().num_docs) == (0, 0)
    assert [record.message for record in caplog.records] == [
        f"The files of item {urn} are in the home {here.home} on {gethostname()}, not in {elsewhere.home}. "
        "Run this there, or mount that home here and name it with TARANTULA_HOME."
    ]
    read = IndexUpdater(here, database).step().read
    assert read > 0
    # The index of the other home gets them from the database.
    assert updater.step().indexed == read
    with database.session() as session:
        assert len(session.scalars(select(ReadText)).all()) == read
        session.execute(update(Item).values(home_id=None))
