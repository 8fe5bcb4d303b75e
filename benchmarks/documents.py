"""Response times of the document list with a million rows, on SQLite and on PostgreSQL.

Each query asks for the first fifty rows, as a page does. The slowest filters match no row, or only the last one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text

from benchmarks.large_items import new_item
from benchmarks.postgresql import postgresql
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Item
from tarantula.services import documents
from tarantula.services.context import ServiceContext
from tarantula.services.documents import DocumentFilters
from tarantula.store.database import open_database

SERVERS = 5000
TIMES = 3

_NUMBERS = {
    "sqlite": "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :rows)",
    "postgresql": "WITH numbers AS (SELECT generate_series(1, :rows) AS n)",
}
_KEY = {"sqlite": "randomblob(16)", "postgresql": "decode(md5(n::text), 'hex')"}
_SERVERS = "INSERT INTO server (name) {numbers} SELECT 's' || n || '.example.org' FROM numbers"
_ROWS = """
    INSERT INTO document (item_id, key, url, server_id, depth, kind, redirects, rank, tries, via_id, state, type, size,
        links, collected_at)
    {numbers} SELECT :item, {key},
        'http://s' || (1 + n % :servers) || '.example.org/section-' || (n % 7) || '/page-' || n || '.html',
        (SELECT min(id) FROM server WHERE name LIKE 's%.example.org') + n % :servers, 1 + n % 9, 0, 0, 2, 1, 1,
        CASE WHEN n % 4 < 2 THEN -6 WHEN n % 4 = 2 THEN -5 WHEN n % 100 = 3 THEN 404 ELSE 200 END,
        CASE WHEN n % 4 = 3 THEN CASE WHEN n % 3 = 0 THEN 'image/png' ELSE 'text/html' END END,
        CASE WHEN n % 4 = 3 THEN 8000 END, CASE WHEN n % 4 = 3 THEN 27 END, CASE WHEN n % 4 = 3 THEN {now} END
    FROM numbers
"""
_NOW = {"sqlite": "'2026-01-01 00:00:00.000000'", "postgresql": "timestamptz '2026-01-01 00:00:00Z'"}
_LAST = (
    "UPDATE document SET state = 410, type = 'application/pdf', depth = 19 WHERE id = (SELECT max(id) FROM document)"
)

FILTERS = {
    "none": DocumentFilters(),
    "waiting": DocumentFilters(state=-6),
    "not_found": DocumentFilters(state=404),
    "only_the_last_is_gone": DocumentFilters(state=410),
    "no_such_state": DocumentFilters(state=418),
    "only_the_last_is_a_pdf": DocumentFilters(type="application/pdf"),
    "no_such_type": DocumentFilters(type="video/mp4"),
    "server": DocumentFilters(server="s4999.example.org"),
    "server_and_state": DocumentFilters(server="s4999.example.org", state=410),
    "only_the_last_is_deep": DocumentFilters(depth=19),
    "words": DocumentFilters(words="section-3 page-7"),
    "words_of_the_last": DocumentFilters(words="page-1000000"),
    "no_such_words": DocumentFilters(words="nowhere"),
    "no_such_words_in_a_state": DocumentFilters(words="nowhere", state=200),
}


def measure(rows: int = 1_000_000) -> dict[str, Any]:
    """Run every filter, the first page and then to the end of the search."""
    results: dict[str, Any] = {"rows": rows}
    for name, database in (("sqlite", on_sqlite()), ("postgresql", on_postgresql())):
        with database as opened:
            results[name] = _ask_all(opened, rows)
    results["worst_answer_ms"] = max(results[name]["worst_answer_ms"] for name in ("sqlite", "postgresql"))
    return results


@contextmanager
def on_sqlite() -> Iterator[Database]:
    """Open an empty SQLite database."""
    with (
        tempfile.TemporaryDirectory() as directory,
        open_database(Config(home=Path(directory), database_url="")) as database,
    ):
        yield database


@contextmanager
def on_postgresql() -> Iterator[Database]:
    """Open an empty PostgreSQL database."""
    with postgresql() as server, open_database(Config(database_url=server.url)) as database:
        yield database


def _ask_all(database: Database, rows: int) -> dict[str, Any]:
    item = new_item(database)
    began = time.monotonic()
    _fill(database, item, rows)
    filled = time.monotonic() - began
    with database.reading() as session:
        urn = session.get_one(Item, item).urn
    desk = ServiceContext(Config(), database, Person("bench", Role.READER))
    answers = {name: _ask(desk, urn, filters) for name, filters in FILTERS.items()}
    return {
        "worst_answer_ms": max(answer["slowest_answer_ms"] for answer in answers.values()),
        "worst_search_to_its_end_ms": max(answer["to_its_end_ms"] for answer in answers.values()),
        "filled_in_seconds": round(filled, 1),
        "filters": answers,
    }


def _ask(desk: ServiceContext, urn: str, filters: DocumentFilters) -> dict[str, float]:
    """Return the slowest page of a search for fifty rows, and the time of all its pages together."""
    slowest, wholes, number = 0.0, [], 0
    for _ in range(TIMES):
        after, rows, whole, number = None, 0, 0.0, 0
        while number == 0 or (after is not None and rows < 50):
            began = time.perf_counter()
            page = documents.list_documents(desk, urn, filters, 50, after)
            taken = time.perf_counter() - began
            slowest, whole, number = max(slowest, taken), whole + taken, number + 1
            after, rows = page.next, rows + len(page.rows)
        wholes.append(whole)
    return {
        "slowest_answer_ms": round(slowest * 1000, 1),
        "to_its_end_ms": round(min(wholes) * 1000, 1),
        "answers": number,
    }


def _fill(database: Database, item: int, rows: int) -> None:
    kind = database.engine.dialect.name
    values = {"item": item, "rows": rows, "servers": SERVERS}
    with database.engine.begin() as connection:
        connection.execute(text(_SERVERS.format(numbers=_NUMBERS[kind])), {"rows": SERVERS})
        statement = _ROWS.format(numbers=_NUMBERS[kind], key=_KEY[kind], now=_NOW[kind])
        connection.execute(text(statement), values)
        connection.execute(text(_LAST))
    if kind == "postgresql":
        # Autovacuum would do this later.
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as settled:
            settled.execute(text("VACUUM ANALYZE document"))
