"""Ingest readings in one transaction: parse values, store events, put doubtful texts aside,
update the source's state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from tarantula.core.messages import Message
from tarantula.models import Event, Source, SourceState
from tarantula.store.bulk import chunks
from tarantula.streams.adapters.base import DoubtfulText, ReadRow, SourceReading
from tarantula.streams.alerts import judge_all
from tarantula.streams.history import NewEvent, series_of, series_of_many, store_events
from tarantula.streams.ingest import put_aside
from tarantula.streams.ingest.failures import SourceStatusTracker
from tarantula.streams.ingest.value_typing import (
    CONFIRMING_READINGS,
    MIN_RANGE_READINGS,
    RANGED_KINDS,
    FailedReading,
    IngestRequest,
    IngestResult,
    NewValues,
    SourceMemory,
    UnchangedReading,
    clean_text,
    extended_range,
    extended_run,
    is_outlier,
    new_event,
    outlier_sentence,
    typed_value,
    widened_kind,
    with_guessed_kinds,
)
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, SourceField, SourceStatus
from tarantula.streams.values.value import Value, ValueParseError

TIEBREAK_MICROSECONDS = 10_000
"""Range after an entry's time in which it gets a free timestamp if others have the same."""
EMPTY_SENTENCE = Message("The place where it should be is empty.")
MISSING_SENTENCE = Message("It was not found.")
NO_FIELDS_SENTENCE = Message("The source has no field, so nothing is stored. Add one.")


def ingest_reading(
    session: Session,
    source: Source,
    config: SourceConfig,
    reading: SourceReading | FailedReading | UnchangedReading,
    at: int,
    revision: int | None = None,
) -> IngestResult:
    """Ingest one reading that was made at time *at*, in microseconds since 1970."""
    return ingest_readings(session, [IngestRequest(source.id, config, reading, at, revision=revision)])[0]


def ingest_readings(session: Session, requests: Sequence[IngestRequest]) -> list[IngestResult]:
    """Ingest readings in order; those of removed or edited sources are dropped."""
    source_ids = sorted({request.source_id for request in requests})
    # Lock in one order: concurrent writers of the same sources must not deadlock.
    chosen = select(SourceState).where(SourceState.source_id.in_(source_ids)).order_by(SourceState.source_id)
    states = {state.source_id: state for state in session.scalars(chosen.with_for_update())}
    revisions = dict(session.execute(select(Source.id, Source.revision).where(Source.id.in_(source_ids))).all())
    results = [
        _Ingestion(session, states[request.source_id], request).run()
        if request.source_id in states and request.revision in (None, revisions[request.source_id])
        else IngestResult(request.source_id, request.config)
        for request in requests
    ]
    events = make_events(session, [(result.source_id, result.new) for result in results])
    for result, new_events in zip(results, events, strict=True):
        result.events += new_events
    by_source = {result.source_id: result.events for result in results if result.events}
    store_and_judge(session, by_source, max(request.at for request in requests))
    return results


def make_events(session: Session, new: Sequence[tuple[int, NewValues]]) -> list[list[NewEvent]]:
    """Return the events of new values, a list for each source; their series are looked up in one query."""
    # In order of reading: series are listed in the order in which they were created.
    series = series_of_many(session, [(source_id, *place) for source_id, places in new for place in places])
    return [
        [new_event(series[source_id, *place], at, value, text) for place, (at, value, text) in places.items()]
        for source_id, places in new
    ]


def store_and_judge(session: Session, events: dict[int, list[NewEvent]], now: int) -> None:
    """Store the events of each source, and judge the alerts on them."""
    if not events:
        return
    session.flush()
    store_events(session, [event for some in events.values() for event in some])
    for some in chunks(sorted(events)):
        judge_all(session, {source_id: events[source_id] for source_id in some}, now)


class _Ingestion:
    """Ingestion of one reading."""

    def __init__(self, session: Session, state: SourceState, request: IngestRequest) -> None:
        self._session = session
        self._state = state
        self._request = request
        self._config = request.config
        self._memory = SourceMemory.of(state.memory)
        self._changed = self._rows_changed = False
        self._moment = datetime.fromtimestamp(request.at / 1e6, UTC)
        self._doubts: list[DoubtfulText] = []
        self._result = IngestResult(request.source_id, request.config)

    def run(self) -> IngestResult:
        outcome, state, result = self._request.outcome, self._state, self._result
        tracker = SourceStatusTracker(state, self._config, self._request.at)
        if not self._config.fields:
            tracker.missed(SourceStatus.MISSING, NO_FIELDS_SENTENCE)
        elif isinstance(outcome, SourceReading):
            self._read_rows(outcome)
            is_undecided = put_aside.record_doubts(self._session, state.source_id, self._doubts, self._request.at)
            result.aside = self._doubts
            tracker.read(result.missing, self._doubts if is_undecided else [])
        elif isinstance(outcome, FailedReading):
            tracker.missed(outcome.status, outcome.sentence)
        else:
            self._count_unchanged()
        self._update_state(tracker.is_changed)
        result.config, result.status, result.sentence = self._config, tracker.status, tracker.sentence
        return result

    def _read_rows(self, reading: SourceReading) -> None:
        if self._memory.adapter != reading.memory:
            self._memory.adapter, self._changed = reading.memory, True
        self._set_config(with_guessed_kinds(self._config, reading.rows, self._memory))
        self._doubts += [doubt for doubt in reading.doubts if clean_text(doubt.text)]
        self._result.missing = dict(reading.missing)
        if reading.news:
            self._ingest_entries(reading.rows)
            return
        self._remember_rows(reading)
        for row in reading.rows:
            for field in self._config.fields:
                if field.key in row.texts:
                    self._ingest_text(field, row.name[:300], clean_text(row.texts[field.key]))
        found = {key for key, _ in self._result.values} | {doubt.field for doubt in self._doubts}
        for field in self._config.fields:
            if field.key not in found:
                self._result.missing.setdefault(field.key, MISSING_SENTENCE)

    def _remember_rows(self, reading: SourceReading) -> None:
        """Remember the row names and their order; an empty reading leaves them unchanged."""
        names = dict.fromkeys([*(row.name[:300] for row in reading.rows), *(doubt.row for doubt in reading.doubts)])
        named = [name for name in names if name]
        if named and named != self._memory.rows:
            self._memory.rows, self._changed, self._rows_changed = named, True, True

    def _ingest_text(self, field: SourceField, row: str, text: str) -> None:
        if not text:
            self._result.missing.setdefault(field.key, EMPTY_SENTENCE)
            return
        try:
            value = self._parse(field, text)
        except ValueParseError as error:
            self._doubts.append(DoubtfulText(field.key, text, str(error), row))
            return
        if self._is_expected(field, row, text, value):
            self._result.values[field.key, row] = value
            self._remember_value(field.key, row, text, value)

    def _parse(self, field: SourceField, text: str) -> Value:
        try:
            return typed_value(field, text, self._memory, self._config.masked_address, self._moment)
        except ValueParseError:
            wider = widened_kind(field, text, self._memory)
            if wider is field:
                raise
            fields = tuple(wider if one.key == wider.key else one for one in self._config.fields)
            self._set_config(self._config.model_copy(update={"fields": fields}))
            return typed_value(wider, text, self._memory, self._config.masked_address, self._moment)

    def _is_expected(self, field: SourceField, row: str, text: str, value: Value) -> bool:
        """Whether a value is within the usual range or confirmed by now; otherwise put it aside."""
        if value.number is None or value.kind not in RANGED_KINDS:
            return True
        number = float(value.number)
        ranges = self._memory.usual.setdefault(field.key, {})
        runs = self._memory.runs.setdefault(field.key, {})
        if is_outlier(number, ranges.get(row)):
            run = extended_run(number, runs.get(row))
            self._changed = True
            if run[1] < CONFIRMING_READINGS:
                runs[row] = run
                self._doubts.append(DoubtfulText(field.key, text, outlier_sentence(number, ranges[row]), row))
                return False
            put_aside.confirm_doubts(self._session, self._state.source_id, field.key, row, self._moment)
            del ranges[row]
        self._changed |= runs.pop(row, None) is not None
        extended = extended_range(number, ranges.get(row))
        if extended != ranges.get(row):
            ranges[row], self._changed = extended, True
        return True

    def _remember_value(self, key: str, row: str, text: str, value: Value) -> None:
        """Remember a value; it becomes an event if it differs from the previous one."""
        rows = self._memory.last.setdefault(key, {})
        before = rows.get(row)
        if before is None or before[0] != value.text:
            self._result.new[key, row] = (self._request.at, value, text)
        now: list[str | None] = [value.text, None if text == value.text else text]
        if before != now:
            rows[row], self._changed = now, True
            self._memory.note_text(key, text)

    def _ingest_entries(self, rows: list[ReadRow]) -> None:
        entries = EntryEvents(self._session, self._state.source_id, self._request.at)
        self._memory.news = True
        for row in sorted(rows, key=entries.moment):
            values: dict[str, tuple[Value, str]] = {}
            for field in self._config.fields:
                if text := clean_text(row.texts.get(field.key, "")):
                    try:
                        values[field.key] = self._parse(field, text), text
                        self._memory.note_text(field.key, text)
                    except ValueParseError as error:
                        self._doubts.append(DoubtfulText(field.key, text, str(error)))
            self._result.events += entries.events(row, values)
            self._result.values |= {(key, ""): value for key, (value, _) in values.items()}
            self._changed = True

    def _count_unchanged(self) -> None:
        """Count an unchanged response as a further reading of each usual range."""
        for ranges in self._memory.usual.values():
            for usual in ranges.values():
                if usual[0] < MIN_RANGE_READINGS:
                    usual[0] += 1
                    self._changed = True

    def _set_config(self, config: SourceConfig) -> None:
        if config is not self._config:
            self._config, self._changed = config, True
            self._result.revision = registry.settle_kinds(self._session, self._state.source_id, config)

    def _update_state(self, is_status_changed: bool) -> None:
        """Update the source's state: times, validators, memory, stamp."""
        state, request = self._state, self._request
        state.read_at = request.at
        if request.due_at is not None:
            state.due_at = request.due_at
        # An incomplete page is requested unconditionally next time, even if it did not change.
        validators = {} if state.misses else request.validators
        if validators is not None and state.validators != validators:
            state.validators = dict(validators)
        self._result.validators = validators
        if self._changed:
            state.memory = self._memory.as_json()
            flag_modified(state, "memory")
        if self._result.events or self._result.new:
            state.event_at = request.at
        if self._result.events or self._result.new or is_status_changed or self._doubts or self._rows_changed:
            state.stamp = max(request.at, state.stamp + 1)


class EntryEvents:
    """Assigns each entry of a feed a timestamp of its own."""

    def __init__(self, session: Session, source_id: int, at: int) -> None:
        self._session = session
        self._source_id = source_id
        self._at = at
        self._used: set[int] = set()

    def events(self, row: ReadRow, values: Mapping[str, tuple[Value, str]]) -> list[NewEvent]:
        """Return the events of an entry, all at one unused timestamp; empty if the entry is stored already."""
        if not values:
            return []
        series = series_of(self._session, self._source_id, [(key, "") for key in values])
        first = self.moment(row)
        stored: dict[int, dict[int, str]] = {}
        for identity, at, value in self._session.execute(
            select(Event.series_id, Event.at, Event.value).where(
                Event.series_id.in_(series.values()), Event.at.between(first, first + TIEBREAK_MICROSECONDS)
            )
        ):
            stored.setdefault(at, {})[identity] = value
        texts = {series[key, ""]: value.text for key, (value, _) in values.items()}
        if texts in stored.values():
            return []
        at = next(at for at in count(first) if at not in stored and at not in self._used)
        self._used.add(at)
        return [new_event(series[key, ""], at, value, text) for key, (value, text) in values.items()]

    def moment(self, row: ReadRow) -> int:
        """Return the time of an entry, at most the time of reading, in microseconds since 1970."""
        return self._at if row.at is None else min(int(row.at.timestamp() * 1e6), self._at)
