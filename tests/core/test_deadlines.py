"""Time budgets: queries end on both databases, what changes something does not."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import ExitStack
from itertools import repeat

import pytest
from sqlalchemy import text

from tarantula.core import database as database_module
from tarantula.core.database import Database
from tarantula.core.deadlines import TimeBudgetError, check_time, current_budget, time_budget
from tarantula.core.errors import DatabaseUnavailableError

ENDLESS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}


def _read(database: Database, *queries: str) -> None:
    with database.reading() as session:
        for query in queries:
            session.execute(text(query))


def test_a_query_ends_with_the_time_budget(database: Database) -> None:
    limited = database.limited(1)
    for _ in range(2):
        with (
            time_budget(0.2),
            pytest.raises(TimeBudgetError, match=r"longer than 0\.2 seconds"),
            limited.reading() as one,
        ):
            one.execute(text(ENDLESS[limited.engine.dialect.name]))
    # Neither the only connection nor its limit is left over.
    with limited.reading() as session:
        assert session.scalar(text("SELECT 1")) == 1
    with time_budget(0.0), pytest.raises(TimeBudgetError), limited.reading() as session:
        session.scalar(text("SELECT 1"))


def test_many_short_queries_end_with_the_time_budget(database: Database) -> None:
    limited = database.limited(1)
    with pytest.raises(TimeBudgetError), time_budget(0.2):
        _read(limited, *repeat("SELECT 1", 1_000_000))


def test_a_change_that_has_begun_is_not_ended(database: Database) -> None:
    limited = database.limited(1)
    with time_budget(0.05), limited.session() as session:
        time.sleep(0.1)
        session.execute(text("UPDATE publication SET name = name"))
        assert current_budget() is None
    with time_budget(60):
        assert current_budget() is not None


def test_a_task_outlives_the_budget_of_what_started_it() -> None:
    async def late() -> None:
        await asyncio.sleep(0.05)
        check_time()

    async def page() -> None:
        with time_budget(0.01):
            task = asyncio.create_task(late())
        await task

    asyncio.run(page())


def test_connections_of_another_pool_are_free_while_one_is_used_up(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "POOL_TIMEOUT_SECONDS", 0.05)
    content, logins = database.limited(2), database.limited(1)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(content.reading()).execute(text("SELECT 1"))
        with pytest.raises(DatabaseUnavailableError, match="are in use"), content.reading() as session:
            session.execute(text("SELECT 1"))
        with logins.reading() as session:
            assert session.scalar(text("SELECT 1")) == 1
    with content.reading() as session:
        assert session.scalar(text("SELECT 1")) == 1


def test_budgets_of_threads_are_separate(database: Database) -> None:
    limited, found = database.limited(2), list[int]()

    def read() -> None:
        with limited.reading() as session:
            found.append(int(session.scalar(text("SELECT 1")) or 0))

    with time_budget(0.0):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert found == [1]
