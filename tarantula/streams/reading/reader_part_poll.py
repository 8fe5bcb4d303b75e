"""One source, read once and now, whoever else reads."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications.servers import effective_server_settings
from tarantula.streams.ingest.outcome import FailedReading, IngestResult
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.reading.answers import ReadAttempt
from tarantula.streams.reading.reader import StreamReader
from tarantula.streams.reading.source_changes import NO_PUBLICATION, SourceTable, SourceTableChanges, followed_source
from tarantula.streams.reading.visits import FollowedSource, StreamVisit
from tarantula.streams.reading.writer import ReadingGroupResult
from tarantula.streams.sources.registry import get
from tarantula.tables.publications import Source, SourceState


class _StaticSourceTable(SourceTable):
    """A table in which nothing ever changes."""

    def look(self, session: Session) -> SourceTableChanges:
        """Nothing is new."""
        return SourceTableChanges()


class PollReader(StreamReader):
    """Reads one source, under the same rules as whoever reads them all, and leaves what came of it to be looked at."""

    def __init__(self, installation: Config, database: Database, name: str) -> None:
        super().__init__(installation, database)
        self._name = name
        self._table = _StaticSourceTable()
        self.attempt: ReadAttempt | None = None
        """What came of it."""

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Be ready to read it."""
        super().begin(loop, on_work)
        with self.database.reading() as session:
            source = get(session, self._name)
            followed = followed_source(source, session.get_one(SourceState, source.id))
            settings = effective_server_settings(session.connection(), NO_PUBLICATION)
        self.is_reading, self.is_done = True, followed is None
        if followed is not None:
            followed.due_at, followed.validators = 0, {}
            self._apply(SourceTableChanges(new=[followed], settings=settings))
            self.tick()

    async def keep(self, attempt: ReadAttempt) -> IngestResult | None:
        """Leave it to be looked at."""
        self.attempt, self.is_done = attempt, True
        return None

    def _refuse(self, source: FollowedSource, why: FailedReading) -> None:
        visit = StreamVisit(source.key, source.url, source.server, [source])
        self.attempt, self.is_done = ReadAttempt(visit, source, why, self.now()), True

    def _hear(self, news: ReadingGroupResult) -> None:
        news.is_reading = news.changes = None
        super()._hear(news)


class _DryRunRollback(Exception):
    """Nothing is to be kept."""


def ingest_polled(database: Database, attempt: ReadAttempt, *, is_dry: bool) -> IngestResult:
    """Keep what a poll read, or only say what would be kept."""
    kept: list[IngestResult] = []
    try:
        with database.session() as session:
            source = session.get_one(Source, attempt.source.id)
            read = attempt.source
            kept.append(ingest_reading(session, source, read.config, attempt.outcome, attempt.at, read.revision))
            # Whoever reads it has another memory of it, and looks anew.
            source.revision += 1
            if is_dry:
                raise _DryRunRollback
    except _DryRunRollback:
        pass
    return kept[0]
