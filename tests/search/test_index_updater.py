"""From collected documents to search results, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import delete, event, text

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnreachableError, TarantulaError
from tarantula.lifecycle.removal import remove_item
from tarantula.models import JournalEntry
from tarantula.search.finder import SearchFinder
from tarantula.search.index.storage import BusyIndex, DamagedIndex, SearchIndex
from tarantula.search.index.updater import IndexUpdater, discard_index, index_folder, request_rereading
from tarantula.search.results import SearchRequest, SearchResults
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item
from tests.support.archived_items import archive, page
from tests.support.command_result import Tarantula
from tests.support.waits import eventually

PHYSICS = page("fisica", "<title>Física</title><p>Os cursos de física da faculdade, e os laboratórios.".encode())
CHANGED = page("fisica", "<title>Física</title><p>Os cursos de astronomia da faculdade, e os telescópios.".encode())
LIBRARY = page("biblioteca", "<title>Biblioteca</title><p>A biblioteca da faculdade está aberta.".encode())


def tell(database: Database, urn: str) -> None:
    """Add a journal entry for a collected item."""
    with database.session() as session:
        item = find_item(session, urn)
        append_to_journal(session.connection(), JournalKind.COLLECTED, item.id)


def catch_up(updater: IndexUpdater) -> int:
    """Run the updater to the end; return the number of indexed documents."""
    indexed = 0
    while not (done := updater.step()).is_complete:
        indexed += done.indexed
    return indexed


def settle(updater: IndexUpdater) -> None:
    """Run the updater until its position is written; other tests use the same PostgreSQL."""
    eventually(lambda: (done := updater.step()).place == done.head)


def find(updater: IndexUpdater, query: str) -> SearchResults:
    return SearchFinder(updater.index).find(SearchRequest(query=query))


def urls(results: SearchResults) -> list[str]:
    return [result.url.rpartition("/")[2] for result in results.results]


def test_collected_documents_are_found_until_removed(database: Database, config: Config) -> None:
    updater = IndexUpdater(config, database)
    first = archive(database, config, [PHYSICS, LIBRARY])
    tell(database, first)
    assert catch_up(updater) == 2
    found = find(updater, "laboratorio")
    assert urls(found) == ["fisica"]
    assert found.results[0].urn == first
    assert "".join(piece.text for piece in found.results[0].citation if piece.marked) == "laboratórios"
    assert sorted(urls(find(updater, "curso OR biblioteca"))) == ["biblioteca", "fisica"]

    second = archive(database, config, [CHANGED, LIBRARY], after=first, months=1)
    tell(database, second)
    catch_up(updater)
    assert urls(find(updater, "laboratorio")) == []
    assert urls(find(updater, "laboratorio before:2100")) == ["fisica"]
    assert find(updater, "telescópio").results[0].urn == second
    assert find(updater, "biblioteca").documents == 1

    remove_item(config, database, second)
    catch_up(updater)
    assert urls(find(updater, "telescópio")) == []
    assert urls(find(updater, "laboratorio")) == ["fisica"]
    assert find(updater, "biblioteca").results[0].urn == first


def test_an_updater_continues_where_it_stopped(database: Database, config: Config) -> None:
    urn = archive(database, config, [PHYSICS])
    tell(database, urn)
    settle(IndexUpdater(config, database))
    updater = IndexUpdater(config, database)
    assert catch_up(updater) == 0
    later = archive(database, config, [LIBRARY], months=1)
    tell(database, later)
    assert catch_up(updater) == 1


def test_an_index_is_rebuilt_from_stored_texts(database: Database, config: Config) -> None:
    tell(database, archive(database, config, [PHYSICS, LIBRARY]))
    catch_up(IndexUpdater(config, database))
    discard_index(config)
    updater = IndexUpdater(config, database)
    assert catch_up(updater) == 2
    assert urls(find(updater, "física")) == ["fisica"]


def test_all_texts_are_read_again_on_request(database: Database, config: Config) -> None:
    archive(database, config, [PHYSICS, LIBRARY])
    updater = IndexUpdater(config, database)
    assert catch_up(updater) == 0
    request_rereading(database)
    assert catch_up(updater) == 2


def test_a_restored_database_is_detected(sqlite: Database, config: Config) -> None:
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
    updater = IndexUpdater(config, sqlite)
    assert catch_up(updater) == 1
    assert urls(find(updater, "física")) == ["fisica"]


def test_only_one_process_updates_an_index(sqlite: Database, config: Config) -> None:
    updater = IndexUpdater(config, sqlite)
    with pytest.raises(BusyIndex, match="Another process"):
        IndexUpdater(config, sqlite)
    assert urls(find(updater, "nada")) == []


def test_a_damaged_index_is_reported_and_rebuilt(sqlite: Database, config: Config) -> None:
    tell(sqlite, archive(sqlite, config, [PHYSICS]))
    catch_up(IndexUpdater(config, sqlite))
    (index_folder(config) / "meta.json").write_text("{")
    with pytest.raises(DamagedIndex, match="--rebuild"):
        SearchIndex(index_folder(config))
    discard_index(config)
    assert catch_up(IndexUpdater(config, sqlite)) == 1


def test_documents_that_cannot_be_read_are_counted_and_logged(
    database: Database, config: Config, tarantula: Tarantula, caplog: pytest.LogCaptureFixture
) -> None:
    urn = archive(database, config, [PHYSICS, LIBRARY])
    for file in (config.items / urn / "archive").iterdir():
        file.unlink()
    tell(database, urn)
    updater = IndexUpdater(config, database)
    assert (catch_up(updater), updater.unreadable) == (0, 2)
    assert [message.partition(" The first: ")[0] for message in caplog.messages] == [
        "2 documents could not be read for the index."
    ]
    settle(updater)
    updater.index.close()
    tell(database, urn)
    outcome = tarantula("index")
    assert (outcome.code, outcome.out.splitlines()) == (
        3,
        ["0 documents are in the index.", "Not in the index, because their records could not be read: 2."],
    )


def test_a_step_that_lost_its_database_is_done_again(postgresql_database: Database, config: Config) -> None:
    database, lost = postgresql_database, list[str]()

    def lose(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "JOIN read_text" in statement and not lost:
            lost.append(statement)
            pid = connection.connection.dbapi_connection.info.backend_pid
            with database.session() as session:
                session.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})

    tell(database, archive(database, config, [PHYSICS, LIBRARY]))
    updater = IndexUpdater(config, database)
    event.listen(database.engine, "before_cursor_execute", lose)
    with pytest.raises(DatabaseUnreachableError):
        catch_up(updater)
    assert lost
    assert catch_up(updater) == 2
    assert sorted(urls(find(updater, "curso OR biblioteca"))) == ["biblioteca", "fisica"]
