"""Queries for documents: every match is returned once, and no query takes long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import DocumentState
from tarantula.core.urls import key_of
from tarantula.lifecycle.coordinator import finish_item
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Document, Item
from tarantula.publications import registry
from tarantula.store import document_query
from tarantula.store.document_query import DocumentFilter, find_documents, find_linking_documents
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome, DocumentTable
from tarantula.store.listings import find_item
from tests.support.crawls import describe

KINDS = (
    ("/one%20two.html", 200, "text/html"),
    ("/picture.png", 200, "image/png"),
    ("/GONE.html", 404, "text/html"),
    ("/late", DocumentState.TIMEOUT, None),
    ("/refused", DocumentState.SERVER_NOT_ACCEPTED, None),
    ("/next_page", DocumentState.WAITING, None),
)


def url_of(number: int) -> str:
    return f"http://s{number % 4}.example{KINDS[number % len(KINDS)][0]}?{number}"


def fill(database: Database, urn: str, numbers: range) -> None:
    """Insert documents of every kind into an item, on four servers, at depths from 0 to 4."""
    with database.session() as session:
        item = find_item(session, urn).id
        table, connection = DocumentTable(item), session.connection()
        found = [
            DiscoveredUrl(key_of(url), url, f"s{n % 4}.example", n % 5, 0, 0, 0, 1, _state(n), None, None)
            for n in numbers
            for url in [url_of(n)]
        ]
        table.insert_urls(connection, found)
        rows = session.execute(select(Document.url, Document.id).where(Document.item_id == item))
        ids: dict[str, int] = dict(rows.all())
        now = datetime.now(UTC)
        table.finish(
            connection,
            [
                DocumentOutcome(ids[url_of(n)], KINDS[n % 6][1], type=KINDS[n % 6][2], links=1, collected_at=now)
                for n in numbers
                if n % 6 < 4
            ],
        )
        table.insert_links(connection, {ids[url_of(n)]: {key_of(url_of(3)): 0} for n in numbers if n % 6 == 0})


def _state(number: int) -> int:
    state = KINDS[number % len(KINDS)][1]
    return state if state == DocumentState.SERVER_NOT_ACCEPTED else DocumentState.WAITING


@pytest.fixture
def urn(database: Database) -> str:
    """An item whose document ids alternate with those of others."""
    describe(database, "one", base_url="http://s0.example/")
    describe(database, "other", base_url="http://s0.example/")
    with database.session() as session:
        one, other = (
            create_item(session, registry.get_publication(session, name), datetime.now(UTC)).urn
            for name in ("one", "other")
        )
    for start in range(0, 120, 40):
        fill(database, one, range(start, start + 40))
        fill(database, other, range(start, start + 40))
    return one


def searched(database: Database, urn: str, wanted: DocumentFilter, limit: int = 7) -> list[str]:
    """Query to the end, and return the URLs in the order of the results."""
    urls: list[str] = []
    with database.reading() as session:
        item, after, shares = find_item(session, urn), 0, [0.0]
        while True:
            found = find_documents(session, item, wanted, limit, after)
            assert len(found.ids) <= limit
            rows = dict(session.execute(select(Document.id, Document.url).where(Document.id.in_(found.ids))).all())
            urls += [rows[identity] for identity in found.ids]
            shares.append(found.searched)
            if found.next is None:
                break
            assert found.next > after
            after = found.next
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    return urls


def numbers(test: Callable[[int], bool]) -> list[str]:
    return [url_of(n) for n in range(120) if test(n)]


CASES: list[tuple[DocumentFilter, Callable[[int], bool]]] = [
    (DocumentFilter(state=200), lambda n: n % 6 < 2),
    (DocumentFilter(state=404), lambda n: n % 6 == 2),
    (DocumentFilter(state=-10), lambda n: n % 6 == 3),
    (DocumentFilter(state=-5), lambda n: n % 6 == 4),
    (DocumentFilter(state=-6, words="next"), lambda n: n % 6 == 5),
    (DocumentFilter(state=418), lambda n: False),
    (DocumentFilter(type="text/html"), lambda n: n % 6 in (0, 2)),
    (DocumentFilter(type="text/html", state=404), lambda n: n % 6 == 2),
    (DocumentFilter(type="text/html", state=-6), lambda n: False),
    (DocumentFilter(server="s1.example"), lambda n: n % 4 == 1),
    (DocumentFilter(server="s9.example"), lambda n: False),
    (DocumentFilter(server="s1.example", state=404, depth=0), lambda n: n % 4 == 1 and n % 6 == 2 and n % 5 == 0),
    (DocumentFilter(depth=4), lambda n: n % 5 == 4),
    (DocumentFilter(words="gone HTML"), lambda n: n % 6 == 2),
    (DocumentFilter(words="one%20"), lambda n: n % 6 == 0),
    (DocumentFilter(words="one_20"), lambda n: False),
    (DocumentFilter(words="nowhere"), lambda n: False),
]


@pytest.mark.parametrize("stretch", [1, 10_000])
def test_matches_are_returned_once_and_in_order(
    database: Database, urn: str, stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_query, "IDS_PER_STEP", stretch)
    for wanted, test in CASES:
        assert searched(database, urn, wanted) == numbers(test), wanted


def test_a_long_query_returns_where_to_continue(database: Database, urn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_query, "IDS_PER_STEP", 10)
    monkeypatch.setattr(document_query, "QUERY_TIME_LIMIT_SECONDS", 0.0)
    with database.reading() as session:
        first = find_documents(session, find_item(session, urn), DocumentFilter(state=-5), 50)
    assert 0 < first.searched < 1
    assert first.next is not None
    assert len(first.ids) < 10
    assert searched(database, urn, DocumentFilter(state=-5)) == numbers(lambda n: n % 6 == 4)


def test_an_item_that_ended_is_searched_to_its_last_document(database: Database, urn: str) -> None:
    with database.session() as session:
        session.execute(update(Item).values(state="collecting"))
    finish_item(database, urn, Reason.of(ItemReason.STOPPED))
    with database.reading() as session:
        item = find_item(session, urn)
        last = session.scalar(select(Document.id).where(Document.item_id == item.id).order_by(Document.id.desc()))
        assert item.last_document_id == last
    assert len(searched(database, urn, DocumentFilter())) == 121
    with database.session() as session:
        session.execute(update(Item).values(last_document_id=None))
    assert len(searched(database, urn, DocumentFilter())) == 121


def test_linking_documents_are_found(database: Database, urn: str) -> None:
    with database.reading() as session:
        item = find_item(session, urn)
        found = find_linking_documents(session, item, key_of(url_of(3)), 500)
        urls = set(session.scalars(select(Document.url).where(Document.id.in_(found.ids))))
        items = set(session.scalars(select(Document.item_id).where(Document.id.in_(found.ids))))
        assert find_linking_documents(session, item, key_of(url_of(4)), 500).ids == []
    assert urls == set(numbers(lambda n: n % 6 == 0))
    assert items == {item.id}
