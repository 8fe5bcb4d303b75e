"""One source, read once and now, whoever else reads."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications.servers import in_force
from tarantula.streams.ingest.outcome import Kept, NotMade
from tarantula.streams.ingest.readings import keep
from tarantula.streams.reading.answers import Attempt
from tarantula.streams.reading.reader import Reader
from tarantula.streams.reading.source_changes import NO_PUBLICATION, Changes, Sources, followed_from
from tarantula.streams.reading.visits import Followed, Visit
from tarantula.streams.reading.writer import ReadingNews
from tarantula.streams.sources.registry import get
from tarantula.tables.publications import Source, SourceState


class _Nothing(Sources):
    """A table in which nothing ever changes."""

    def look(self, session: Session) -> Changes:
        """Nothing is new."""
        return Changes()


class PollReader(Reader):
    """Reads one source, under the same rules as whoever reads them all, and leaves what came of it to be looked at."""

    def __init__(self, installation: Config, database: Database, name: str) -> None:
        super().__init__(installation, database)
        self._name = name
        self._table = _Nothing()
        self.attempt: Attempt | None = None
        """What came of it."""

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Be ready to read it."""
        super().begin(loop, on_work)
        with self.database.reading() as session:
            source = get(session, self._name)
            followed = followed_from(source, session.get_one(SourceState, source.id))
            settings = in_force(session.connection(), NO_PUBLICATION)
        self.is_reading, self.is_done = True, followed is None
        if followed is not None:
            followed.due_at, followed.validators = 0, {}
            self._apply(Changes(new=[followed], settings=settings))
            self.tick()

    async def keep(self, attempt: Attempt) -> Kept | None:
        """Leave it to be looked at."""
        self.attempt, self.is_done = attempt, True
        return None

    def _refuse(self, source: Followed, why: NotMade) -> None:
        visit = Visit(source.key, source.url, source.server, [source])
        self.attempt, self.is_done = Attempt(visit, source, why, self.now()), True

    def _hear(self, news: ReadingNews) -> None:
        news.is_reading = news.changes = None
        super()._hear(news)


class _Undone(Exception):
    """Nothing is to be kept."""


def keep_polled(database: Database, attempt: Attempt, *, is_dry: bool) -> Kept:
    """Keep what a poll read, or only say what would be kept."""
    kept: list[Kept] = []
    try:
        with database.session() as session:
            source = session.get_one(Source, attempt.source.id)
            read = attempt.source
            kept.append(keep(session, source, read.config, attempt.outcome, attempt.at, read.revision))
            # Whoever reads it has another memory of it, and looks anew.
            source.revision += 1
            if is_dry:
                raise _Undone
    except _Undone:
        pass
    return kept[0]
