"""Sources with alerts: values are stored and evaluated in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Owner
from tarantula.core.database import Database
from tarantula.models import Firing
from tarantula.streams.alerts import judge, judge_silence
from tarantula.streams.alerts import registry as alerts
from tarantula.streams.history import NewEvent, series_of, store_events
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source

SECOND = 1_000_000
BEGIN = 1_790_000_000 * SECOND
"""A moment in microseconds since 1970."""


def new_source(
    database: Database, name: str = "weather.lisboa", owner: str = "", keys: str = "temperature wind", **values: Any
) -> int:
    """Add a source with decimal fields; return its id."""
    fields = [{"key": key, "kind": "decimal", "place": {"css": f"#{key}"}} for key in keys.split()]
    said = {"name": name, "url": "http://example.org/", "fields": fields, **values}
    with database.session() as session:
        return registry.add(session, parse_source(said), Owner(owner)).id


def new_alert(
    database: Database,
    condition: str,
    source: str = "weather.lisboa",
    owner: str = "",
    second: float = -1,
    **values: Any,
) -> int:
    """Add an alert *second* seconds after `BEGIN`; return its id."""
    said, now = {"condition": condition, **values}, BEGIN + round(second * SECOND)
    with database.session() as session:
        return alerts.add_alert(session, source, said, Owner(owner), Owner(owner) if owner else None, now).id


def change(database: Database, number: int, second: float, **changes: Any) -> None:
    """Change an alert *second* seconds after `BEGIN`."""
    with database.session() as session:
        alerts.edit_alert(session, number, changes, now=BEGIN + round(second * SECOND))


def stored(session: Session, source_id: int, second: float, values: Mapping[Any, Any]) -> list[NewEvent]:
    """Store values as events, and return them; a key is a field, or a field and a row."""
    places = {key if isinstance(key, tuple) else (key, ""): value for key, value in values.items()}
    series = series_of(session, source_id, places)
    at = BEGIN + round(second * SECOND)
    events = [
        NewEvent(series[place], at, str(value), None if isinstance(value, str) else float(value), None)
        for place, value in places.items()
    ]
    store_events(session, events)
    return events


def come(database: Database, source_id: int, second: float, **values: Any) -> list[str]:
    """Store values of fields and evaluate the alerts; return the reasons of the firings."""
    return came(database, source_id, second, values)


def came(database: Database, source_id: int, second: float, values: Mapping[Any, Any]) -> list[str]:
    """Store values of fields and rows and evaluate the alerts; return the reasons of the firings."""
    with database.session() as session:
        events = stored(session, source_id, second, values)
        return [firing.why for firing in judge(session, source_id, events, BEGIN + round(second * SECOND))]


def wait(database: Database, second: float) -> list[str]:
    """Evaluate the alerts at a later second without new values; return the reasons of the firings."""
    with database.session() as session:
        return [firing.why for firing in judge_silence(session, BEGIN + round(second * SECOND))]


def firings(database: Database) -> list[Firing]:
    """Return all firings, oldest first."""
    with database.reading() as session:
        return list(session.scalars(select(Firing).order_by(Firing.id)))
