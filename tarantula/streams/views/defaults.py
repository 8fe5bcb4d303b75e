"""How a source is most likely wanted to be seen at first."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from tarantula.core.errors import NotNow
from tarantula.streams.kinds import Kind
from tarantula.streams.sources import registry
from tarantula.streams.views.config import DAY, HOUR, MINUTE, ViewConfig, ViewKind, read
from tarantula.streams.views.projection import MOST_COLUMNS, rows_of
from tarantula.tables.publications import Source, SourceState

WINDOWS = (5 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)
READINGS = 200
"""That a window has room for: fewer make steps, more cannot be told apart on a telephone."""


def usual_view(session: Session, source: Source) -> ViewConfig:
    """Return a view of all values of a source, as far as a screen has room for them."""
    config = registry.config_of(source)
    if not config.fields:
        raise NotNow(f"The source {source.name} has no field that could be shown. Give it one.")
    parts = [{"source": source.name, "field": field.key} for field in config.fields[:MOST_COLUMNS]]
    if session.get_one(SourceState, source.id).memory.get("news"):
        return read({"kind": ViewKind.TABLE, "events": True, "window": 7 * DAY, "parts": parts})
    kinds = [field.kind or Kind.TEXT for field in config.fields]
    kind = usual_kind(kinds, len(rows_of(session, source.id)))
    return read({"kind": kind, "window": usual_window(config.interval), "parts": parts})


def usual_kind(kinds: Sequence[Kind], rows: int) -> ViewKind:
    """Return the kind that fits values: rows are a table, one number is a line, anything else is read."""
    if rows > 1:
        return ViewKind.TABLE
    return ViewKind.LINE if len(kinds) == 1 and kinds[0].is_number and kinds[0] != Kind.MOMENT else ViewKind.TEXT


def usual_window(interval: float) -> float:
    """Return the seconds of history in which something is to be seen of values that are read so often."""
    return next((window for window in WINDOWS if window >= interval * READINGS), WINDOWS[-1])
