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

from tarantula.models import Event, Source, SourceState
from tarantula.store.bulk import chunks
from tarantula.streams.adapters.base import DoubtfulText, ReadRow, SourceReading
from tarantula.streams.alerts import judge_all
from tarantula.streams.history import NewEvent, series_of, series_of_many, store_events
from tarantula.streams.ingest import memory, put_aside
from tarantula.streams.ingest.failures import SourceStatusTracker
from tarantula.streams.ingest.memory import SourceMemory
from tarantula.streams.ingest.outcome import (
    FailedReading,
    IngestRequest,
    IngestResult,
    NewValues,
    UnchangedReading,
    new_event,
)
from tarantula.streams.ingest.value_typing import clean_text, typed_value, widened_kind, with_guessed_kinds
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import SourceConfig, SourceField, SourceStatus
from tarantula.streams.values.value import Value, ValueParseError

TIEBREAK_MICROSECONDS = 10_000
"""Microseconds within which an entry gives way to others of the same second."""


class EntryEvents:
    """Gives each a moment of its own."""

    def __init__(self, session: Session, source_id: int, at: int) -> None:
        self._session = session
        self._source_id = source_id
        self._at = at
        self._used: set[int] = set()

    def events(self, row: ReadRow, values: Mapping[str, tuple[Value, str]]) -> list[NewEvent]:
        """Return a row's events, all at one moment that no other row has; none if it is stored already."""
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
        wanted = {series[key, ""]: value.text for key, (value, _) in values.items()}
        if wanted in stored.values():
            return []
        at = next(at for at in count(first) if at not in stored and at not in self._used)
        self._used.add(at)
        return [new_event(series[key, ""], at, value, text) for key, (value, text) in values.items()]

    def moment(self, row: ReadRow) -> int:
        """When it happened; nothing is read before it happens, whatever it says of itself."""
        return self._at if row.at is None else min(int(row.at.timestamp() * 1e6), self._at)


EMPTY_SENTENCE = "The place where it should be is empty."
MISSING_SENTENCE = "It was not there."
NO_FIELDS_SENTENCE = "The source has no field, so nothing of it is kept. Add one."


def ingest_reading(
    session: Session,
    source: Source,
    config: SourceConfig,
    reading: SourceReading | FailedReading | UnchangedReading,
    at: int,
    revision: int | None = None,
) -> IngestResult:
    """Keep one reading, made at that time in microseconds since 1970."""
    return ingest_readings(session, [IngestRequest(source.id, config, reading, at, revision=revision)])[0]


def ingest_readings(session: Session, made: Sequence[IngestRequest]) -> list[IngestResult]:
    """Keep many; of sources that were removed or described anew meanwhile nothing is kept."""
    wanted = sorted({one.source_id for one in made})
    # In one order, so that two who keep the same sources wait for each other and not for ever.
    chosen = select(SourceState).where(SourceState.source_id.in_(wanted)).order_by(SourceState.source_id)
    states = {state.source_id: state for state in session.scalars(chosen.with_for_update())}
    described = session.execute(select(Source.id, Source.revision).where(Source.id.in_(wanted)))
    revisions = dict(described.all())
    kept = [
        _Ingestion(session, states[one.source_id], one).keep()
        if one.source_id in states and one.revision in (None, revisions[one.source_id])
        else IngestResult(one.source_id, one.config)
        for one in made
    ]
    events = make_events(session, [(one.source_id, one.new) for one in kept])
    for one, made_of_it in zip(kept, events, strict=True):
        one.events += made_of_it
    store_and_judge(session, {one.source_id: one.events for one in kept if one.events}, max(one.at for one in made))
    return kept


def make_events(session: Session, new: Sequence[tuple[int, NewValues]]) -> list[list[NewEvent]]:
    """Return the events of new values, for each source; the series of all of them are looked for at once."""
    # In the order in which they were read, which is the one that people know them in.
    known = series_of_many(session, [(source_id, *place) for source_id, places in new for place in places])
    return [
        [new_event(known[source_id, *place], at, value, text) for place, (at, value, text) in places.items()]
        for source_id, places in new
    ]


def store_and_judge(session: Session, events: dict[int, list[NewEvent]], now: int) -> None:
    """Store the events of sources, and judge who wants to be told."""
    if not events:
        return
    session.flush()
    store_events(session, [event for some in events.values() for event in some])
    for some in chunks(sorted(events)):
        judge_all(session, {source_id: events[source_id] for source_id in some}, now)


class _Ingestion:
    """Keeps one reading."""

    def __init__(self, session: Session, state: SourceState, made: IngestRequest) -> None:
        self._session = session
        self._state = state
        self._made = made
        self._config = made.config
        self._remembered = SourceMemory.of(state.memory)
        self._changed = self._moved = False
        self._moment = datetime.fromtimestamp(made.at / 1e6, UTC)
        self._doubts: list[DoubtfulText] = []
        self._kept = IngestResult(made.source_id, made.config)

    def keep(self) -> IngestResult:
        """Take in what came, and say how it went."""
        outcome, state, kept = self._made.outcome, self._state, self._kept
        standing = SourceStatusTracker(state, self._config, self._made.at)
        if not self._config.fields:
            standing.missed(SourceStatus.MISSING, NO_FIELDS_SENTENCE)
        elif isinstance(outcome, SourceReading):
            self._read(outcome)
            waiting = put_aside.record_doubts(self._session, state.source_id, self._doubts, self._made.at)
            kept.aside = self._doubts
            standing.read(kept.missing, self._doubts if waiting else [])
        elif isinstance(outcome, FailedReading):
            standing.missed(outcome.status, outcome.sentence)
        else:
            self._confirm()
        self._move(standing.is_news)
        kept.config, kept.status, kept.sentence = self._config, standing.status, standing.sentence
        return kept

    def _read(self, reading: SourceReading) -> None:
        remembered = self._remembered
        if remembered.adapter != reading.memory:
            remembered.adapter, self._changed = reading.memory, True
        self._settle_kinds(with_guessed_kinds(self._config, reading.rows, remembered))
        self._doubts += [doubt for doubt in reading.doubts if clean_text(doubt.text)]
        self._kept.missing = dict(reading.missing)
        if reading.news:
            self._take_news(reading.rows)
            return
        self._note_rows(reading)
        for row in reading.rows:
            for field in self._config.fields:
                if field.key in row.texts:
                    self._take(field, row.name[:300], clean_text(row.texts[field.key]))
        found = {key for key, _ in self._kept.values} | {doubt.field for doubt in self._doubts}
        for field in self._config.fields:
            if field.key not in found:
                self._kept.missing.setdefault(field.key, MISSING_SENTENCE)

    def _note_rows(self, reading: SourceReading) -> None:
        """Remember which rows are there, and in which order; where nothing was found, those that were stay."""
        names = dict.fromkeys([*(row.name[:300] for row in reading.rows), *(doubt.row for doubt in reading.doubts)])
        there = [name for name in names if name]
        if there and there != self._remembered.rows:
            self._remembered.rows, self._changed, self._moved = there, True, True

    def _take(self, field: SourceField, row: str, text: str) -> None:
        if not text:
            self._kept.missing.setdefault(field.key, EMPTY_SENTENCE)
            return
        try:
            value = self._typed(field, text)
        except ValueParseError as error:
            self._doubts.append(DoubtfulText(field.key, text, str(error), row))
            return
        if self._is_usual(field, row, text, value):
            self._kept.values[field.key, row] = value
            self._note(field.key, row, text, value)

    def _typed(self, field: SourceField, text: str) -> Value:
        try:
            return typed_value(field, text, self._remembered, self._config.address_shown, self._moment)
        except ValueParseError:
            wider = widened_kind(field, text, self._remembered)
            if wider is field:
                raise
            fields = tuple(wider if one.key == wider.key else one for one in self._config.fields)
            self._settle_kinds(self._config.model_copy(update={"fields": fields}))
            return typed_value(wider, text, self._remembered, self._config.address_shown, self._moment)

    def _is_usual(self, field: SourceField, row: str, text: str, value: Value) -> bool:
        """Whether a value is what could be expected, or has been confirmed; otherwise it is put aside."""
        if value.number is None or value.kind not in memory.RANGED_KINDS:
            return True
        number = float(value.number)
        ranges = self._remembered.usual.setdefault(field.key, {})
        runs = self._remembered.runs.setdefault(field.key, {})
        if memory.is_outlier(number, ranges.get(row)):
            run = memory.extended_run(number, runs.get(row))
            self._changed = True
            if run[1] < memory.CONFIRMING_READINGS:
                runs[row] = run
                self._doubts.append(DoubtfulText(field.key, text, memory.outlier_sentence(number, ranges[row]), row))
                return False
            put_aside.confirm_doubts(self._session, self._state.source_id, field.key, row, self._moment)
            del ranges[row]
        self._changed |= runs.pop(row, None) is not None
        learnt = memory.extended_range(number, ranges.get(row))
        if learnt != ranges.get(row):
            ranges[row], self._changed = learnt, True
        return True

    def _note(self, key: str, row: str, text: str, value: Value) -> None:
        """Remember a value; it is new if it is not the one before."""
        rows = self._remembered.last.setdefault(key, {})
        before = rows.get(row)
        if before is None or before[0] != value.text:
            self._kept.new[key, row] = (self._made.at, value, text)
        now: list[str | None] = [value.text, None if text == value.text else text]
        if before != now:
            rows[row], self._changed = now, True
            self._remembered.note_text(key, text)

    def _take_news(self, rows: list[ReadRow]) -> None:
        news = EntryEvents(self._session, self._state.source_id, self._made.at)
        self._remembered.news = True
        for row in sorted(rows, key=news.moment):
            values: dict[str, tuple[Value, str]] = {}
            for field in self._config.fields:
                if text := clean_text(row.texts.get(field.key, "")):
                    try:
                        values[field.key] = self._typed(field, text), text
                        self._remembered.note_text(field.key, text)
                    except ValueParseError as error:
                        self._doubts.append(DoubtfulText(field.key, text, str(error)))
            self._kept.events += news.events(row, values)
            self._kept.values |= {(key, ""): value for key, (value, _) in values.items()}
            self._changed = True

    def _confirm(self) -> None:
        """Take note that all is as it was: that, too, is something known of what is usual."""
        for ranges in self._remembered.usual.values():
            for known in ranges.values():
                if known[0] < memory.MIN_RANGE_READINGS:
                    known[0] += 1
                    self._changed = True

    def _settle_kinds(self, config: SourceConfig) -> None:
        if config is not self._config:
            self._config, self._changed = config, True
            self._kept.revision = registry.settle_kinds(self._session, self._state.source_id, config)

    def _move(self, is_news: bool) -> None:
        """Write how far the source is."""
        state, made = self._state, self._made
        state.read_at = made.at
        if made.due_at is not None:
            state.due_at = made.due_at
        # What lacked something is read in full next time, whether it changed or not.
        validators = {} if state.misses else made.validators
        if validators is not None and state.validators != validators:
            state.validators = dict(validators)
        self._kept.validators = validators
        if self._changed:
            state.memory = self._remembered.as_json()
            flag_modified(state, "memory")
        if self._kept.events or self._kept.new:
            state.event_at = made.at
        if self._kept.events or self._kept.new or is_news or self._doubts or self._moved:
            state.stamp = max(made.at, state.stamp + 1)
