"""Sources, their readings, and the values stored of them."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.models import Event, PutAside, Series, Source, SourceState
from tarantula.streams.adapters.base import DoubtfulText, ReadRow, SourceReading
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.ingest.value_typing import FailedReading, IngestResult, UnchangedReading
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, parse_source
from tests.sites.server import Answer, Manner, Visit
from tests.support.crawls import SCRAPY, interrupt, start

SECOND = 1_000_000
BEGIN = 1_790_000_000 * SECOND
"""A moment in microseconds since 1970."""


def follow(database: Database, name: str = "weather.lisboa", **values: Any) -> int:
    """Add a source; return its id."""
    with database.session() as session:
        return registry.add(session, config(name, **values)).id


def config(name: str = "weather.lisboa", **values: Any) -> SourceConfig:
    """Return the configuration of a source; by default each field is the element whose id is its key."""
    said: dict[str, Any] = {"url": "http://example.org/", "fields": [{"key": "value"}], "delay": 0, **values}
    if said.get("adapter", "page") == "page":
        said["fields"] = [{"place": {"css": f"#{field['key']}"}, **field} for field in said["fields"]]
    return parse_source({"name": name, **said})


def one(text: str, key: str = "value", row: str = "") -> SourceReading:
    """Return a reading of one text."""
    return SourceReading(rows=[ReadRow({key: text}, row)])


def doubted(text: str, why: str = "It may be another.", key: str = "value") -> SourceReading:
    """Return a reading of one doubtful text."""
    return SourceReading(doubts=[DoubtfulText(key, text, why)])


def ingest(
    database: Database, source_id: int, reading: SourceReading | FailedReading | UnchangedReading, second: float = 0
) -> IngestResult:
    """Ingest a reading made *second* seconds after `BEGIN`."""
    with database.session() as session:
        source = session.get_one(Source, source_id)
        return ingest_reading(session, source, registry.config_of(source), reading, BEGIN + round(second * SECOND))


def texts(database: Database, *texts: str, source_id: int = 1) -> list[IngestResult]:
    """Ingest readings of texts, a second apart."""
    return [ingest(database, source_id, one(text), second) for second, text in enumerate(texts)]


def values(session: Session, key: str = "value", row: str = "") -> list[str]:
    """Return the values of a series, oldest first."""
    chosen = select(Event.value).join(Series, Series.id == Event.series_id)
    return list(session.scalars(chosen.where(Series.field == key, Series.row == row).order_by(Event.at)))


def all_values(database: Database, key: str = "value", row: str = "") -> list[str]:
    """Return the values of a series, oldest first."""
    with database.reading() as session:
        return values(session, key, row)


def state_of(database: Database, source_id: int = 1) -> SourceState:
    """Return the reading status of a source."""
    with database.reading() as session:
        return session.get_one(SourceState, source_id)


def put_aside(database: Database) -> list[PutAside]:
    """Return all texts that were put aside, oldest first."""
    with database.reading() as session:
        return list(session.scalars(select(PutAside).order_by(PutAside.id)))


@contextmanager
def reading(**environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run the streams spider as a process."""
    process = start([SCRAPY, "crawl", "streams"], **environment)
    try:
        yield process
    finally:
        if process.poll() is None:
            log = interrupt(process)
            assert "Traceback" not in log, log


def counting(text: str = '<p id="value">{}</p>') -> Manner:
    """Return a handler whose page counts its visits."""
    numbers = count(1)

    async def manner(_visit: Visit, _connection: asyncio.Transport) -> Answer:
        return Answer(text.format(next(numbers)))

    return manner
