"""From what was collected to what is found, on both databases."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import delete, text

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.removal import remove_item
from tarantula.models import JournalEntry
from tarantula.search.finder import SearchFinder
from tarantula.search.index.storage import BusyIndex, DamagedIndex, SearchIndex
from tarantula.search.index.updater import IndexUpdater, discard_index, index_folder, request_rereading
from tarantula.search.results import SearchRequest, SearchResults
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item
from tests.support.archived_items import archive, page
from tests.support.waits import TIMEOUT_SECONDS

PHYSICS = page("fisica", "<title>Física</title><p>Os cursos de física da faculdade, e os laboratórios.".encode())
CHANGED = page("fisica", "<title>Física</title><p>Os cursos de astronomia da faculdade, e os telescópios.".encode())
LIBRARY = page("biblioteca", "<title>Biblioteca</title><p>A biblioteca da faculdade está aberta.".encode())


def tell(database: Database, urn: str) -> None:
    """Write in the journal that an item was collected."""
    with database.session() as session:
        item = find_item(session, urn)
        append_to_journal(session.connection(), JournalKind.COLLECTED, item.id)


def catch_up(following: IndexUpdater) -> int:
    """Follow to the end; return how many documents were indexed."""
    indexed = 0
    while not (done := following.step()).is_complete:
        indexed += done.indexed
    return indexed


def settle(following: IndexUpdater) -> None:
    """Follow until the place is noted: others write to the same PostgreSQL."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while (done := following.step()).place != done.head:
        assert time.monotonic() < end
        time.sleep(0.01)


def find(following: IndexUpdater, query: str) -> SearchResults:
    return SearchFinder(following.index).find(SearchRequest(query=query))


def urls(results: SearchResults) -> list[str]:
    return [result.url.rpartition("/")[2] for result in results.results]


def test_what_was_collected_is_found_until_it_is_removed(database: Database, config: Config) -> None:
    following = IndexUpdater(config, database)
    first = archive(database, config, [PHYSICS, LIBRARY])
    tell(database, first)
    assert catch_up(following) == 2
    found = find(following, "laboratorio")
    assert urls(found) == ["fisica"]
    assert found.results[0].urn == first
    assert "".join(piece.text for piece in found.results[0].citation if piece.marked) == "laboratórios"
    assert sorted(urls(find(following, "curso OR biblioteca"))) == ["biblioteca", "fisica"]

    second = archive(database, config, [CHANGED, LIBRARY], after=first, months=1)
    tell(database, second)
    catch_up(following)
    assert urls(find(following, "laboratorio")) == []
    assert urls(find(following, "laboratorio before:2100")) == ["fisica"]
    assert find(following, "telescópio").results[0].urn == second
    assert find(following, "biblioteca").documents == 1

    remove_item(config, database, second)
    catch_up(following)
    assert urls(find(following, "telescópio")) == []
    assert urls(find(following, "laboratorio")) == ["fisica"]
    assert find(following, "biblioteca").results[0].urn == first


def test_whoever_comes_back_goes_on_where_it_was(database: Database, config: Config) -> None:
    urn = archive(database, config, [PHYSICS])
    tell(database, urn)
    settle(IndexUpdater(config, database))
    following = IndexUpdater(config, database)
    assert catch_up(following) == 0
    later = archive(database, config, [LIBRARY], months=1)
    tell(database, later)
    assert catch_up(following) == 1


def test_an_index_is_built_anew_from_what_was_read(database: Database, config: Config) -> None:
    tell(database, archive(database, config, [PHYSICS, LIBRARY]))
    catch_up(IndexUpdater(config, database))
    discard_index(config)
    following = IndexUpdater(config, database)
    assert catch_up(following) == 2
    assert urls(find(following, "física")) == ["fisica"]


def test_every_text_is_read_again_when_somebody_wishes_it(database: Database, config: Config) -> None:
    archive(database, config, [PHYSICS, LIBRARY])
    following = IndexUpdater(config, database)
    assert catch_up(following) == 0
    request_rereading(database)
    assert catch_up(following) == 2


def test_a_database_that_was_put_back_is_said_and_followed_anew(sqlite: Database, config: Config) -> None:
    urn = archive(sqlite, config, [PHYSICS])
    tell(sqlite, urn)
    catch_up(IndexUpdater(config, sqlite))
    with sqlite.session() as session:
        session.execute(delete(JournalEntry))
        session.execute(text("DELETE FROM sqlite_sequence"))
    tell(sqlite, urn)
    with pytest.raises(TarantulaError, match=r"ahead of the journal.*tarantula index --rebuild"):
        catch_up(IndexUpdater(config, sqlite))
    discard_index(config)
    following = IndexUpdater(config, sqlite)
    assert catch_up(following) == 1
    assert urls(find(following, "física")) == ["fisica"]


def test_one_process_at_a_time_keeps_an_index(sqlite: Database, config: Config) -> None:
    following = IndexUpdater(config, sqlite)
    with pytest.raises(BusyIndex, match="Another process"):
        IndexUpdater(config, sqlite)
    assert urls(find(following, "nada")) == []


def test_a_damaged_index_is_said_and_built_anew(sqlite: Database, config: Config) -> None:
    tell(sqlite, archive(sqlite, config, [PHYSICS]))
    catch_up(IndexUpdater(config, sqlite))
    (index_folder(config) / "meta.json").write_text("{")
    with pytest.raises(DamagedIndex, match="--rebuild"):
        SearchIndex(index_folder(config))
    discard_index(config)
    assert catch_up(IndexUpdater(config, sqlite)) == 1
