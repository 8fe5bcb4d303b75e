"""Query counts: anonymous, limited, written by several processes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from sqlalchemy import func, insert, select

from tarantula.core.database import Database
from tarantula.models import SearchCount
from tarantula.search import query_counts
from tarantula.search.query_counts import QueryCounter, normalised_query, top_queries
from tarantula.search.results import SearchRequest


def search(counter: QueryCounter, *queries: str) -> None:
    for query in queries:
        counter.note(SearchRequest(query=query))


def best(database: Database, days: int = 7, most: int = 10) -> list[tuple[str, int]]:
    with database.reading() as session:
        return [(query, number) for query, number in top_queries(session.connection(), days, most)]


def test_the_most_frequent_queries_come_first(database: Database) -> None:
    counter = QueryCounter(database)
    search(counter, "Lisboa", " lisboa\n", "coimbra", "LISBOA", "porto", "porto")
    counter.note(SearchRequest(query="coimbra", page=2))
    search(counter, "", " ")
    counter.write()
    search(counter, "porto", "porto")
    counter.write()
    assert best(database) == [("porto", 4), ("lisboa", 3), ("coimbra", 1)]
    assert best(database, most=1) == [("porto", 4)]


def test_concurrent_writers_lose_no_counts(database: Database) -> None:
    def go() -> None:
        counter = QueryCounter(database)
        for _ in range(5):
            search(counter, "a", "b", "c")
            counter.write()

    threads = [Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert best(database) == [("a", 20), ("b", 20), ("c", 20)]


def test_old_days_are_deleted(sqlite: Database) -> None:
    today = datetime.now(UTC).date()
    ages = {"today": 0, "week": 6, "older": 8, "oldest": query_counts.RETENTION_DAYS}
    with sqlite.session() as session:
        for query, days in ages.items():
            session.execute(insert(SearchCount).values(day=today - timedelta(days=days), query=query, number=days + 1))
    assert best(sqlite) == [("week", 7), ("today", 1)]
    counter = QueryCounter(sqlite)
    search(counter, "today")
    counter.write()
    assert best(sqlite, days=1000) == [("older", 9), ("week", 7), ("today", 2)]


def test_the_number_of_counts_is_limited(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_counts, "MOST_IN_MEMORY", 3)
    monkeypatch.setattr(query_counts, "MOST_PER_DAY", 4)
    counter = QueryCounter(sqlite)
    for first in ("a", "b", "a", "c"):
        search(counter, *(f"{first}{number}" for number in range(5)))
        counter.write()
    with sqlite.reading() as session:
        assert session.scalar(select(func.count()).select_from(SearchCount)) == 4
    assert best(sqlite) == [("a0", 2), ("a1", 2), ("a2", 2), ("b0", 1)]


@pytest.mark.parametrize(
    ("query", "kept"),
    [("  Two\t words\x00 ", "two words"), ("x" * 500, "x" * 200), ("\u202eABC", "abc"), ("É São", "é são")],
)
def test_equivalent_queries_are_one(query: str, kept: str) -> None:
    assert normalised_query(query) == kept
