"""Counts of search queries per day, without names or addresses of users."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from threading import Lock
from time import monotonic
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnavailableError
from tarantula.models import SearchCount
from tarantula.search.results import SearchRequest

LONGEST_QUERY = 200
"""Most characters of a stored query."""
MOST_IN_MEMORY = 1_000
"""Most distinct queries counted in memory; more are ignored until these are written."""
MOST_PER_DAY = 10_000
"""Most distinct queries stored per day."""
RETENTION_DAYS = 90
"""Days that counts are kept."""
WRITE_INTERVAL_SECONDS = 5.0
"""Seconds between two writes."""


class QueryCount(NamedTuple):
    """A query and its number of searches."""

    query: str
    number: int


class QueryCounter:
    """Counts queries, and writes the counts from time to time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._counts = Counter[tuple[date, str]]()
        self._last_write = monotonic()

    def note(self, request: SearchRequest) -> None:
        """Count a search; further pages of results do not count."""
        query = normalised_query(request.query)
        key = datetime.now(UTC).date(), query
        with self._lock:
            if query and request.page == 1 and (key in self._counts or len(self._counts) < MOST_IN_MEMORY):
                self._counts[key] += 1

    @property
    def is_due(self) -> bool:
        """Whether the counts should be written now."""
        return bool(self._counts) and monotonic() - self._last_write > WRITE_INTERVAL_SECONDS

    def write(self) -> None:
        """Write the counts; keep them for the next write if the database is unreachable."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            self._last_write = monotonic()
        try:
            if counts:
                with self._database.session() as session:
                    _add_counts(session.connection(), counts)
        except DatabaseUnavailableError:
            with self._lock:
                self._counts.update(counts)


def normalised_query(query: str) -> str:
    """Return a query in lower case with single spaces, truncated."""
    words = "".join(letter if letter.isprintable() else " " for letter in query[: 10 * LONGEST_QUERY].lower())
    return " ".join(words.split())[:LONGEST_QUERY].strip()


def top_queries(connection: Connection, days: int = 7, most: int = 10) -> list[QueryCount]:
    """Return the most frequent queries of the last days, including today."""
    since = datetime.now(UTC).date() - timedelta(days=days - 1)
    number = func.sum(SearchCount.number)
    rows = connection.execute(
        select(SearchCount.query, number)
        .where(SearchCount.day >= since)
        .group_by(SearchCount.query)
        .order_by(number.desc(), SearchCount.query)
        .limit(most)
    )
    return [QueryCount(query, int(searches)) for query, searches in rows]


def _add_counts(connection: Connection, counts: Counter[tuple[date, str]]) -> None:
    today = datetime.now(UTC).date()
    connection.execute(delete(SearchCount).where(SearchCount.day <= today - timedelta(days=RETENTION_DAYS)))
    for day in sorted({day for day, _ in counts}):
        of_day = {query: number for (its_day, query), number in counts.items() if its_day == day}
        _add_counts_of_day(connection, day, of_day)


def _add_counts_of_day(connection: Connection, day: date, numbers: dict[str, int]) -> None:
    on_day = select(SearchCount.query).where(SearchCount.day == day)
    known = set(connection.scalars(on_day.where(SearchCount.query.in_(numbers))))
    room = MOST_PER_DAY - int(connection.scalar(select(func.count()).select_from(on_day.subquery())) or 0)
    new = [query for query in numbers if query not in known][: max(room, 0)]
    # In a fixed order, so that concurrent writers cannot deadlock.
    rows = [{"day": day, "query": query, "number": numbers[query]} for query in sorted({*known, *new})]
    if rows:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(SearchCount)
        total = {"number": SearchCount.number + statement.excluded.number}
        connection.execute(statement.on_conflict_do_update(index_elements=["day", "query"], set_=total), rows)
