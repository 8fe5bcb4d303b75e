"""Sources with values, for tests of pages and services."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tarantula.accounts import accounts
from tarantula.accounts.roles import Owner
from tarantula.core.database import Database
from tarantula.models import Source
from tarantula.streams import history
from tarantula.streams.adapters.base import DoubtfulText, ReadRow, SourceReading
from tarantula.streams.ingest.readings import ingest_reading
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source

SECOND = 1_000_000
HOUR = 3600 * SECOND


def now() -> int:
    """Return the current time in microseconds since 1970."""
    return int(time.time() * SECOND)


def followed(database: Database, name: str, fields: Mapping[str, str], owner: str = "", **values: Any) -> int:
    """Add a source with fields of these kinds; return its id."""
    said = [{"key": key, "kind": kind, "place": {"css": f".{key}"}} for key, kind in fields.items()]
    config = parse_source({"name": name, "url": "http://127.0.0.1:9/", "fields": said, "delay": 0, **values})
    with database.session() as session:
        account = accounts.find(session, owner)
        return registry.add(session, config, Owner(owner, account.id if account else None)).id


def was_read(database: Database, source: int, at: int, rows: Mapping[str, Mapping[str, str]]) -> None:
    """Ingest a reading: texts by row and field."""
    made = SourceReading(rows=[ReadRow(dict(texts), row) for row, texts in rows.items()])
    with database.session() as session:
        found = session.get_one(Source, source)
        ingest_reading(session, found, registry.config_of(found), made, at)


def was_news(database: Database, source: int, rows: Sequence[Mapping[str, str]]) -> None:
    """Ingest a reading in which every row is a new entry."""
    with database.session() as session:
        found = session.get_one(Source, source)
        ingest_reading(
            session,
            found,
            registry.config_of(found),
            SourceReading([ReadRow(dict(texts)) for texts in rows], news=True),
            now(),
        )


def was_doubted(database: Database, source: int, field: str, row: str, text: str) -> None:
    """Ingest a doubtful reading, which is put aside."""
    with database.session() as session:
        found = session.get_one(Source, source)
        made = SourceReading(doubts=[DoubtfulText(field, text, "It may be another.", row)])
        ingest_reading(session, found, registry.config_of(found), made, now())


def were_read(database: Database, source: int, field: str, values: Sequence[tuple[int, float]]) -> None:
    """Store many values of a field with their times."""
    with database.session() as session:
        series = history.series_of(session, source, [(field, "")])[field, ""]
        history.store_events(session, [history.NewEvent(series, at, f"{value:g}", value, None) for at, value in values])


def all_summed_up(database: Database) -> None:
    """Aggregate all stale levels."""
    while history.aggregate_levels(database):
        pass
