"""Sources with a history, and the expected levels calculated independently."""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.database import Database
from tarantula.models import Event, Level, Series
from tarantula.streams.history import NewEvent, aggregate_levels, series_of
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, parse_source

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
GRAINS = {1: "minute", 2: "hour", 3: "day", 4: "month", 5: "year"}
FAR = 4_000_000_000_000_000
"""In the year 2096, after everything that the tests store."""


def at(text: str, zone: str = "UTC") -> int:
    """Convert an ISO 8601 moment to microseconds since 1970."""
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
    return (aware.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def source_of(name: str = "weather.lisboa", **values: Any) -> SourceConfig:
    fields = [{"key": "value", "place": {"css": "b"}}]
    return parse_source({"name": name, "url": "http://example.org/", "fields": fields, **values})


def new_series(session: Session, zone: str = "UTC", name: str = "weather.lisboa", **values: Any) -> int:
    """Create a source with one field; return the id of its series."""
    source = registry.add(session, source_of(name, **values))
    series_id = series_of(session, source.id, [("value", "")])["value", ""]
    session.get_one(Series, series_id).zone = zone
    session.flush()
    return series_id


def event(series_id: int, moment: int, value: str) -> NewEvent:
    try:
        number: float | None = float(value)
    except ValueError:
        number = None
    return NewEvent(series_id, moment, value, number, None)


def sum_up_all(database: Database, now: int = FAR, most: int = 1000) -> None:
    while aggregate_levels(database, most, now):
        pass


def levels(session: Session, series_id: int) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return all level rows of a series, with the counts decompressed."""
    rows = session.scalars(select(Level).where(Level.series_id == series_id).execution_options(populate_existing=True))
    return {
        (GRAINS[row.grain], row.start): (
            row.count, row.sum, row.minimum, row.maximum, row.first, row.last,
            None if row.counts is None else json.loads(zlib.decompress(row.counts)),
        )
        for row in rows
    }  # fmt: skip


def stored(session: Session, series_id: int) -> list[tuple[int, str]]:
    chosen = select(Event.at, Event.value).where(Event.series_id == series_id).order_by(Event.at)
    return [(moment, value) for moment, value in session.execute(chosen)]


def calculated(events: Iterable[tuple[int, str]], zone: str = "UTC") -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return the expected levels: every grain calculated from the events, with exact fractions."""
    buckets = defaultdict[tuple[str, int], list[str]](list)
    for moment, value in sorted(events):
        for grain in GRAINS.values():
            buckets[grain, begin_of(moment, grain, zone)].append(value)
    return {place: summed(values) for place, values in buckets.items()}


def begin_of(moment: int, grain: str, zone: str) -> int:
    """Return the begin of a bucket, for zones at whole or half hours from UTC and away from clock changes."""
    local = (EPOCH + timedelta(microseconds=moment)).astimezone(ZoneInfo(zone))
    cut: dict[str, dict[str, int]] = {
        "minute": {}, "hour": {"minute": 0}, "day": {"minute": 0, "hour": 0, "fold": 0},
        "month": {"minute": 0, "hour": 0, "day": 1, "fold": 0},
        "year": {"minute": 0, "hour": 0, "day": 1, "month": 1, "fold": 0},
    }  # fmt: skip
    begin = local.replace(second=0, microsecond=0, **cut[grain])  # type: ignore[arg-type]
    return (begin.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def summed(values: Sequence[str]) -> tuple[Any, ...]:
    counted = Counter(values)
    counts = dict(counted) if len(counted) <= 200 and sum(map(len, counted)) <= 8000 else None
    try:
        numbers = [Fraction(value) for value in values]
    except ValueError:
        return len(values), None, None, None, values[0], values[-1], counts
    least, most = numbers.index(min(numbers)), numbers.index(max(numbers))
    return len(values), written(sum(numbers)), values[least], values[most], values[0], values[-1], counts


def written(number: Fraction | int) -> str:
    """Format a fraction with a finite decimal expansion."""
    places = 0
    while (number * 10**places) % 1:
        places += 1
    digits = f"{abs(int(number * 10**places)):0{places + 1}d}"
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
