"""Sources of one page stay together, however long it takes to store the result of each."""

from __future__ import annotations

import asyncio

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Source, SourceState
from tarantula.streams.history.buckets import SECOND
from tarantula.streams.ingest.outcome import FailedReading
from tarantula.streams.reading.answers import ReadAttempt
from tarantula.streams.reading.reader import StreamReader
from tarantula.streams.reading.source_changes import followed_source
from tarantula.streams.reading.visits import FollowedSource, StreamVisit
from tarantula.streams.sources.config import SourceStatus
from tests.support.sources import follow

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
