"""Sources of one page stay together, and changes by others are noticed although a transaction failed."""

from __future__ import annotations

import asyncio

from sqlalchemy import Connection, event, select, text

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Source, SourceState
from tarantula.streams.history.levels import SECOND
from tarantula.streams.ingest.type_change import edit_source
from tarantula.streams.ingest.value_typing import FailedReading
from tarantula.streams.reading.reader import StreamReader
from tarantula.streams.reading.visits import FollowedSource, ReadAttempt, StreamVisit
from tarantula.streams.reading.writer import followed_source
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceStatus
from tests.support.sources import follow
from tests.support.waits import eventually_here

NOON = 1_800_000_000 * SECOND


class SlowReader(StreamReader):
    """A reader whose clock advances two seconds at every call."""

    looks = 0

    def now(self) -> int:
        self.looks += 1
        return NOON + 2 * self.looks * SECOND


def sources(database: Database) -> list[FollowedSource]:
    """Return all sources as the reader loads them."""
    with database.reading() as session:
        found = [followed_source(one, session.get_one(SourceState, one.id)) for one in session.scalars(select(Source))]
    return [one for one in found if one is not None]


def test_sources_of_a_page_stay_due_together_although_time_passes(sqlite: Database, sqlite_config: Config) -> None:
    for name in ("test.value", "test.other"):
        follow(sqlite, name, url="http://a.example/", interval=1)
    first, second = sources(sqlite)

    async def go() -> None:
        reader = SlowReader(sqlite_config, sqlite)
        reader.begin(asyncio.get_running_loop(), lambda: None)
        visit = StreamVisit(first.key, first.url, first.server, [first, second])
        for source in visit.sources:
            assert (first.due_at, second.due_at) == (0, 0), "one of them was due without the other"
            await reader.store(ReadAttempt(visit, source, FailedReading(SourceStatus.UNREACHED, "It is away."), NOON))
        reader.end()

    asyncio.run(go())
    assert first.due_at == second.due_at > NOON
    with sqlite.reading() as session:
        assert {state.due_at for state in session.scalars(select(SourceState))} == {first.due_at}


def cut_after_the_next_look(database: Database) -> list[int]:
    """End the connection of the writer as soon as it has read the changed rows; return the list of ended backends."""
    ended: list[int] = []

    @event.listens_for(database.leasing_engine, "after_cursor_execute")
    def cut(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if "is_paused" in statement and not ended:
            backend = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
            ended.append(backend)
            with database.session() as session:
                session.execute(text("SELECT pg_terminate_backend(:backend)"), {"backend": backend})

    return ended


def test_paused_and_removed_sources_are_left_although_the_look_at_the_table_failed(
    postgresql_database: Database, postgresql_config: Config
) -> None:
    for name in ("test.kept", "test.paused", "test.removed", "test.changed"):
        follow(postgresql_database, name, url="http://a.invalid/", interval=3600, robots=False)

    async def go() -> None:
        reader = StreamReader(postgresql_config, postgresql_database)
        reader.begin(asyncio.get_running_loop(), lambda: None)
        await eventually_here(lambda: len(reader._followed) == 4)
        before = {source.config.name: source for source in reader._followed.values()}
        ended = cut_after_the_next_look(postgresql_database)
        with postgresql_database.session() as session:
            edit_source(session, "test.paused", {"paused": True})
            edit_source(session, "test.changed", {"interval": 1800})
            registry.remove(session, "test.removed")
        await eventually_here(lambda: len(reader._followed) == 2)
        assert ended, "the connection was not cut"
        after = {source.config.name: source for source in reader._followed.values()}
        assert after["test.kept"] is before["test.kept"]
        assert after["test.changed"].config.interval == 1800
        assert {name for name, source in before.items() if source.is_gone} == before.keys() - {"test.kept"}
        reader.end()

    asyncio.run(go())
