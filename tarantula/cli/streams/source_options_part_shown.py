"""How a source is shown at a terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.sources.registry import config_of
from tarantula.streams.sources.request_part_secrets import without_secrets
from tarantula.tables.publications import Source, SourceState


def source_dict(source: Source, state: SourceState) -> dict[str, Any]:
    """Return a source and how reading it goes, for JSON; the keys are an interface."""
    return {
        **without_secrets(config_of(source).model_dump(mode="json")),
        "owner": source.owner,
        "created_at": source.created_at.isoformat(),
        "changed_at": source.changed_at.isoformat(),
        "status": state.status,
        "sentence": state.sentence,
        "misses_in_a_row": state.misses,
        "read_at": _iso(state.read_at),
        "event_at": _iso(state.event_at),
        "due_at": _iso(state.due_at or None),
    }


LIST_COLUMNS = ("name", "status", "every", "last read", "last change", "what is wrong")


def list_cells(source: Source, state: SourceState) -> tuple[str, ...]:
    """Return what a list says of a source."""
    interval = source.configuration.get("interval", SourceConfig.model_fields["interval"].default)
    status = "paused" if source.is_paused else state.status
    return (
        source.name,
        status,
        f"{interval:g} s",
        local_second(state.read_at),
        local_second(state.event_at),
        state.sentence,
    )


def local_second(microseconds: int | None) -> str:
    """Write a moment to the second, in the time zone of this machine."""
    return f"{_moment(microseconds).astimezone():%Y-%m-%d %H:%M:%S}" if microseconds else ""


def value_text(value: Any) -> str:
    """Write a value of a source."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{key} = {part}" for key, part in value.items())
    return "\n".join(map(value_text, value)) if isinstance(value, list) else str(value)


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


def _iso(microseconds: int | None) -> str | None:
    return _moment(microseconds).isoformat() if microseconds else None
