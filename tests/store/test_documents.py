"""Bulk reads and writes of the document table."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from tarantula.core.database import Database
from tarantula.core.reasons import Reason, as_reason
from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of, path_depth, server_of
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document, LinkRow, Server
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome, DocumentTable

NOW = datetime(2026, 6, 12, 22, 0, 0, 5, tzinfo=UTC)

REASON = (Document.reason_code, Document.reason_parameters)


def new_item(database: Database, url: str = "http://h/", name: str = "fcul") -> int:
    with database.session() as session:
        config = PublicationConfig(name=name, base_url=url)
        return create_item(session, registry.add_publication(session, config), NOW).id


@pytest.fixture
def table(database: Database) -> DocumentTable:
    return DocumentTable(new_item(database))


def found(url: str, depth: int = 1, state: int = DocumentState.WAITING, rule: str | None = None) -> DiscoveredUrl:
    return DiscoveredUrl(
        key_of(url),
        url,
        server_of(url),
        depth,
        0,
        0,
        path_depth(url),
        1,
        state,
        rule,
        as_reason("Because.") if rule else None,
    )


def state_of(database: Database, url: str) -> int:
    with database.session() as session:
        return session.execute(select(Document.state).where(Document.url == url)).scalar_one()


def test_new_urls_wait_and_known_ones_are_not_returned(database: Database, table: DocumentTable) -> None:
    with database.engine.begin() as connection:
        first, _ = table.insert_urls(connection, [found("http://h/a/b"), found("http://g/"), found("http://h/a/b")])
        second, nearer = table.insert_urls(connection, [found("http://h/a/b"), found("http://h/"), found("http://h/c")])
    assert sorted((entry.url, entry.server, entry.rank) for entry in first) == [
        ("http://g/", "g", 0),
        ("http://h/a/b", "h", 2),
    ]
    assert [entry.url for entry in second] == ["http://h/c"]
    assert nearer == []


def test_many_rows_take_few_statements(database: Database, table: DocumentTable) -> None:
    urls = [f"http://s{number % 7}/p/{number}" for number in range(5_000)]
    with database.engine.begin() as connection:
        entries, _ = table.insert_urls(connection, [found(url) for url in urls])
        counts = []
        for named in (urls, urls[:10]):
            table.insert_links(connection, {entries[0].id: {key_of(url): 0 for url in named}})
            counts.append(connection.execute(select(func.count()).select_from(LinkRow)).scalar_one())
    assert {entry.url for entry in entries} == set(urls)
    assert len({entry.id for entry in entries}) == 5_000
    assert counts == [5_000, 10], "a page that is stored again names what it names now"


def test_a_refused_url_keeps_its_row_and_its_reason(database: Database, table: DocumentTable) -> None:
    refused = found("http://x/", state=DocumentState.SERVER_NOT_ACCEPTED, rule="ServerNotAccepted")
    with database.engine.begin() as connection:
        assert table.insert_urls(connection, [refused]) == ([], [])
        row = connection.execute(
            select(Document.state, Document.reason_code, Document.reason_parameters).where(Document.url == "http://x/")
        ).one()
    assert tuple(row) == (-5, "text", {"text": "Because."})


@pytest.mark.parametrize(("rule", "comes_back"), [("TooDeep", True), ("ServerNotAccepted", False)])
def test_a_shorter_path_accepts_a_document_that_was_too_deep(
    database: Database, table: DocumentTable, rule: str, comes_back: bool
) -> None:
    with database.engine.begin() as connection:
        table.insert_urls(connection, [found("http://h/far", 6, DocumentState.OVER_LIMIT, rule)])
        new, nearer = table.insert_urls(connection, [found("http://h/far", 2)])
    assert new == []
    assert [(entry.depth, state) for entry, state in nearer] == ([(2, -6)] if comes_back else [])
    assert state_of(database, "http://h/far") == (-6 if comes_back else -9)


@pytest.mark.parametrize("state", [-6, 0, 200])
def test_a_shorter_path_lowers_the_depth_of_an_accepted_document(
    database: Database, table: DocumentTable, state: int
) -> None:
    with database.engine.begin() as connection:
        (entry,), _ = table.insert_urls(connection, [found("http://h/far", 6)])
        table.finish(connection, [DocumentOutcome(entry.id, state, reason=Reason.of("no_response"), tries=2)])
        (_, [(nearer, known_state)]) = table.insert_urls(connection, [found("http://h/far", 2)])
        again = table.insert_urls(connection, [found("http://h/far", 2)])
        row = connection.execute(
            select(Document.depth, Document.reason_code, Document.reason_parameters).where(Document.id == entry.id)
        ).one()
    assert (nearer.id, nearer.depth, nearer.tries, known_state) == (entry.id, 2, 2, state)
    assert again == ([], [])
    assert tuple(row) == (2, "no_response", None)


def test_special_characters_are_stored_unchanged(database: Database, table: DocumentTable) -> None:
    odd = "http://h/?a=\\b\\N&c='\""
    reason = Reason.of("redirected", answer='"{NULL}"', target="Tab\tnew\nline\r\\.\0 ã \ud800 \\u0000")
    with database.engine.begin() as connection:
        table.insert_urls(connection, [found(odd)._replace(state=-5, rule="R", reason=reason)])
        row = connection.execute(
            select(Document.url, Document.reason_parameters).where(Document.key == key_of(odd))
        ).one()
    assert tuple(row) == (odd, {"answer": '"{NULL}"', "target": "Tab\tnew\nline\r\\. ã ? \\u0000"})


def test_the_better_of_two_links_on_one_page_counts(database: Database, table: DocumentTable) -> None:
    both = [found("http://h/x", 6, DocumentState.OVER_LIMIT, "TooDeep"), found("http://h/x", 3), found("http://h/x", 4)]
    with database.engine.begin() as connection:
        ((entry,), _) = table.insert_urls(connection, both)
    assert entry.depth == 3


def test_outcomes_are_written(database: Database, table: DocumentTable) -> None:
    with database.engine.begin() as connection:
        (first, second), _ = table.insert_urls(connection, [found("http://h/1"), found("http://h/2")])
        table.finish(
            connection,
            [
                DocumentOutcome(
                    first.id, 200, None, as_reason("OK."), "text/html", 10, "sha1:X", 3, 1, NOW, "f.warc.gz", 5, 9, None
                ),
                DocumentOutcome(second.id, -11, "Robots", as_reason("No."), tries=2),
            ],
        )
    with database.session() as session:
        one, two = session.scalars(select(Document).where(Document.id.in_([first.id, second.id])).order_by(Document.id))
        assert (one.state, one.type, one.size, one.links, one.collected_at) == (200, "text/html", 10, 3, NOW)
        assert (one.warc, one.warc_offset, one.warc_length) == ("f.warc.gz", 5, 9)
        assert (two.state, two.rule, two.tries, two.collected_at) == (-11, "Robots", 2, None)
        assert (one.reason, two.reason) == (as_reason("OK."), as_reason("No."))


def test_the_window_is_refilled_nearest_to_the_root_first(database: Database, table: DocumentTable) -> None:
    urls = ["http://h/a/b/c", "http://h/a", "http://h/a/b", "http://h/z", "http://other/"]
    with database.engine.begin() as connection:
        found_now, _ = table.insert_urls(connection, [found(url) for url in urls])
        held = {entry.id for entry in found_now if entry.url == "http://h/z"}
        entries = table.next_waiting(connection, "h", held, 3)
    assert [entry.url for entry in entries] == ["http://h/", "http://h/a", "http://h/a/b"]


def test_a_server_has_one_row(database: Database, table: DocumentTable) -> None:
    again = DocumentTable(1)
    with database.engine.begin() as connection:
        table.insert_urls(connection, [found("http://h:81/1")])
        again.insert_urls(connection, [found("http://h:81/2")])
        assert connection.execute(select(func.count()).where(Server.name == "h:81")).scalar_one() == 1
