"""Default view of a source: kind and window that fit its values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from tarantula.core.errors import ConflictError
from tarantula.models import Source, SourceState
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources import registry
from tarantula.streams.views.config import DAY, HOUR, MINUTE, ViewConfig, ViewKind, read_view
from tarantula.streams.views.projection import MAX_COLUMNS, row_names

DEFAULT_WINDOWS_SECONDS = (5 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)
READINGS_PER_WINDOW = 200
"""Readings that fit a default window: fewer look like steps, more cannot be distinguished on a phone."""


def default_view(session: Session, source: Source) -> ViewConfig:
    """Return a view of the fields of a source, as many as fit a screen."""
    config = registry.config_of(source)
    if not config.fields:
        raise ConflictError("The source {source} has no field that could be shown. Give it one.", source=source.name)
    parts = [{"source": source.name, "field": field.key} for field in config.fields[:MAX_COLUMNS]]
    if session.get_one(SourceState, source.id).memory.get("news"):
        return read_view({"kind": ViewKind.TABLE, "events": True, "window": 7 * DAY, "parts": parts})
    kinds = [field.kind or ValueKind.TEXT for field in config.fields]
    kind = default_kind(kinds, len(row_names(session, source.id)))
    return read_view({"kind": kind, "window": default_window(config.interval), "parts": parts})


def default_kind(kinds: Sequence[ValueKind], rows: int) -> ViewKind:
    """Return the kind for values: a table for several rows, a line for one number, text otherwise."""
    if rows > 1:
        return ViewKind.TABLE
    return ViewKind.LINE if len(kinds) == 1 and kinds[0].is_number and kinds[0] != ValueKind.MOMENT else ViewKind.TEXT


def default_window(interval: float) -> float:
    """Return the length of the window in seconds for an interval of reading."""
    return next(
        (window for window in DEFAULT_WINDOWS_SECONDS if window >= interval * READINGS_PER_WINDOW),
        DEFAULT_WINDOWS_SECONDS[-1],
    )
