"""Rows of a reading: a single row, rows followed by name, or new rows as news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from tarantula.core.messages import Message
from tarantula.streams.adapters.base import AdapterMemory, DoubtfulText, ReadRow, SourceReading, SourceResponse
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.texts import fold_text

MOST_READING_ROWS = 1000
"""Maximum number of rows of one reading."""
MOST_SEEN_ROWS = 4000
"""Maximum number of remembered row identifiers."""
LONGEST_ROW_NAME = 300


class NamedRow(NamedTuple):
    """A row with a name, before duplicates are checked."""

    name: str
    texts: dict[str, str]


def add_named_rows(rows: Sequence[NamedRow], only: Sequence[str], reading: SourceReading) -> None:
    """Add rows to a reading, all or those named in *only*; rows with equal names and different texts are doubtful."""
    chosen = {fold_text(name) for name in only}
    named = Counter(fold_text(row.name) for row in rows)
    for row in rows[:MOST_READING_ROWS]:
        name = fold_text(row.name)
        if chosen and name not in chosen:
            continue
        if named[name] > 1 and any(row.texts != other.texts for other in rows if fold_text(other.name) == name):
            why = Message("{count} rows have the name “{name}”.", count=named[name], name=row.name[:60])
            reading.doubts += [
                DoubtfulText(key, text, why, row.name[:LONGEST_ROW_NAME]) for key, text in row.texts.items()
            ]
        elif row.texts and not any(name == fold_text(other.name) for other in reading.rows if named[name] > 1):
            reading.rows.append(ReadRow(row.texts, row.name[:LONGEST_ROW_NAME]))
    _report_missing_rows([name for name in only if fold_text(name) not in named], reading)


def _report_missing_rows(names: list[str], reading: SourceReading) -> None:
    if names:
        listed = ", ".join(f"“{name[:60]}”" for name in names[:5])
        reading.missing.setdefault(
            "", Message("{count} of the chosen rows were not found: {listed}.", count=len(names), listed=listed)
        )


def mark_missing_fields(source: SourceConfig, reading: SourceReading, why: str = Message("It was not found.")) -> None:
    """Set the reason for every field that no row has; a reason for missing rows applies to every field."""
    rows_reason = reading.missing.pop("", "")
    found = {key for row in reading.rows for key in row.texts} | {doubt.field for doubt in reading.doubts}
    for field in source.fields:
        if field.key not in found:
            reading.missing.setdefault(field.key, rows_reason or why)
        elif rows_reason:
            reading.missing.setdefault(field.key, rows_reason)


class NewsRow(NamedTuple):
    """A row that is an event if it was not seen before."""

    identity: str
    """Identifier that stays the same in later readings."""
    texts: dict[str, str]
    at: datetime | None = None


def unseen_rows(
    rows: Iterable[NewsRow], memory: AdapterMemory, response: SourceResponse
) -> tuple[list[ReadRow], dict[str, Any]]:
    """Return the rows that were not seen before, oldest first, and the new adapter state.

    A row without a time gets the time of the request. Times are made distinct, so that each row is an event.
    """
    now = response.at or datetime.now(UTC)
    seen: list[str] = memory.get("seen", [])
    remembered, new, present = set(seen), list[NewsRow](), dict[str, None]()
    for row in list(rows)[:MOST_READING_ROWS]:
        digest = _digest(row.identity)
        if digest not in remembered and digest not in present:
            new.append(row)
        present[digest] = None
    new.sort(key=lambda row: min(row.at or now, now))
    events: list[ReadRow] = []
    for row in new:
        at = min(row.at or now, now)
        if events and (before := events[-1].at) is not None and at <= before:
            at = before + timedelta(microseconds=1)
        events.append(ReadRow(row.texts, at=at))
    # Keep the rows on the current page longest: the next reading will contain them.
    kept = [digest for digest in seen if digest not in present][-max(0, MOST_SEEN_ROWS - len(present)) :]
    return events, {"seen": [*kept[-max(200, 2 * len(present)) :], *present]}


def _digest(identity: str) -> str:
    return blake2b(identity.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _identity(texts: dict[str, str]) -> str:
    """Return an identifier for a row without a name: all its texts."""
    return "\n".join(f"{key}={text}" for key, text in sorted(texts.items()))


def check_key_field(source: SourceConfig, key: str, has_rows: bool) -> None:
    """Raise `ValueError` if the key is not a field, or if there are no rows to name."""
    if key and key not in {field.key for field in source.fields}:
        raise ValueError(Message("There is no field {key!r} to name the rows.", key=key[:60]))
    if key and not has_rows:
        raise ValueError(Message("A key needs rows: set the option rows."))


def add_rows_by_mode(
    rows: list[dict[str, str]],
    source: SourceConfig,
    key: str,
    only: tuple[str, ...],
    has_rows: bool,
    response: SourceResponse,
    reading: SourceReading,
) -> None:
    """Add texts to a reading as a single row, as rows followed by key, or as news."""
    if not has_rows:
        reading.rows += [ReadRow(texts) for texts in rows if texts]
        mark_missing_fields(source, reading)
    elif key:
        add_named_rows([NamedRow(texts[key], texts) for texts in rows if texts.get(key)], only, reading)
        mark_missing_fields(source, reading)
    else:
        new = [NewsRow(_identity(texts), texts) for texts in rows if texts]
        reading.rows, reading.memory = unseen_rows(new, reading.memory, response)
        reading.news = True
