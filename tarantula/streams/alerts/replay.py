"""Replay past events through an alert: to initialise its memory, or as a dry run that lists
when it would have fired.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import chain, groupby, islice
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from tarantula.core.deadlines import check_time
from tarantula.core.messages import Message
from tarantula.core.validation import MessageText
from tarantula.models import Alert, AlertMemory, Event, Firing, Forgotten, Level, Series, Source
from tarantula.streams.alerts import judgement
from tarantula.streams.alerts.condition import RowScope, condition_fields, leaf_conditions
from tarantula.streams.alerts.config import AlertConfig
from tarantula.streams.alerts.evaluate import FieldMemory, RowField, SeenValue, WatchMemory, history_needs
from tarantula.streams.alerts.judgement import AlertStep, firing_rows, store_firings, stored_value, values_by_group
from tarantula.streams.alerts.watch import AlertTerms, AlertWatch, WatchFiring, make_terms, single_group, terms_of
from tarantula.streams.history import moment_of
from tarantula.streams.sources.retention import Grain
from tarantula.streams.texts import is_pattern_budget_spent, pattern_budget

PAST_EVENTS_PER_QUERY = 1000
RECORD_GRAINS = (Grain.DAY, Grain.MONTH, Grain.YEAR)
REPLAY_PATTERN_SECONDS = 5.0
"""Time limit of all regular expressions of one replay."""
MAX_REPLAYED_STEPS = 200_000
"""Maximum number of steps of a dry run."""
MAX_LISTED_FIRINGS = 500
MAX_WARMUP_STEPS = 20_000
"""Maximum number of steps from which the state of a new alert is built."""
VALUES_BEFORE_WINDOW = 2
"""Values per series to load before a window: the current one at its start, and the previous one."""
ReplayFirings = list[tuple[str, WatchFiring]]


class SeriesExtremes(NamedTuple):
    """Highest and lowest value of a series."""

    high: SeenValue | None
    low: SeenValue | None


def watched_series(session: Session, source_id: int, terms: AlertTerms) -> dict[int, RowField]:
    """Return the series that an alert depends on; all fields if it waits for silence of the source."""
    chosen = select(Series.id, Series.row, Series.field).where(Series.source_id == source_id)
    if not any(leaf.field is None for leaf in leaf_conditions(terms.rule.when)):
        chosen = chosen.where(Series.field.in_(condition_fields(terms.rule.when)))
    if terms.rule.rows == RowScope.ONE:
        chosen = chosen.where(Series.row == terms.rule.row)
    return {identity: (row, field) for identity, row, field in session.execute(chosen)}


def longest_window(terms: AlertTerms) -> int:
    """Return the longest window of a condition, in microseconds."""
    return max((max(need.past, need.highs, need.lows) for need in history_needs(terms.rule.when).values()), default=0)


def past_steps(session: Session, known: Mapping[int, RowField], begin: int, end: int) -> Iterator[AlertStep]:
    """Yield the events of a period, *begin* <= time < *end*, grouped by time."""
    streams = [_events(session, identity, place, begin, end) for identity, place in known.items()]
    for at, events in groupby(heapq.merge(*streams, key=lambda event: event[0]), key=lambda event: event[0]):
        yield at, {place: value for _, place, value in events}


def values_before(session: Session, known: Mapping[int, RowField], at: int, number: int = 1) -> list[AlertStep]:
    """Return the last values of each series before a time, oldest first."""
    found = dict[int, dict[RowField, SeenValue]]()
    for identity, place in known.items():
        chosen = select(Event.at, Event.value, Event.number).where(Event.series_id == identity, Event.at < at)
        for moment, value, figure in session.execute(chosen.order_by(Event.at.desc()).limit(number)):
            found.setdefault(moment, {})[place] = stored_value(value, figure)
    return sorted(found.items(), key=lambda step: step[0])


def series_extremes(session: Session, identity: int, before: int) -> SeriesExtremes:
    """Return the extremes of a series, from its levels and its events."""
    values = list[SeenValue]()
    chosen = select(Event.value, Event.number).where(Event.series_id == identity, Event.at < before)
    for order in (func.max, func.min):
        best = select(order(Event.number)).where(Event.series_id == identity, Event.at < before).scalar_subquery()
        values += [
            stored_value(value, number)
            for value, number in session.execute(chosen.where(Event.number == best).limit(1))
        ]
    levels = select(Level.minimum, Level.maximum).where(
        Level.series_id == identity, Level.grain.in_(RECORD_GRAINS), Level.start < before
    )
    for row in session.execute(levels):
        values += [SeenValue(text, number) for text in row if (number := _number(text)) is not None]
    numbers = sorted((one for one in values if one.number is not None), key=lambda one: one.number or 0)
    return SeriesExtremes(numbers[-1], numbers[0]) if numbers else SeriesExtremes(None, None)


def load_records(
    session: Session, known: Mapping[int, RowField], terms: AlertTerms, rows: dict[str, dict[str, FieldMemory]]
) -> None:
    """Set the records in the state from the history before it."""
    wanted = history_needs(terms.rule.when)
    for identity, (row, key) in known.items():
        need, followed = wanted.get(key), rows.get(row, {}).get(key)
        if need and followed and (need.high or need.low):
            found = series_extremes(session, identity, followed.at)
            followed.high = found.high if need.high else None
            followed.low = found.low if need.low else None


def events_forgotten_before(session: Session, known: Iterable[int]) -> int | None:
    """Return the time before which events of some series were deleted by retention."""
    chosen = select(func.max(Forgotten.before)).where(
        Forgotten.series_id.in_(list(known)), Forgotten.grain == int(Grain.EVENT)
    )
    return session.scalar(chosen)


def _events(
    session: Session, identity: int, place: RowField, begin: int, end: int
) -> Iterator[tuple[int, RowField, SeenValue]]:
    while True:
        chosen = (
            select(Event.at, Event.value, Event.number)
            .where(Event.series_id == identity, Event.at >= begin, Event.at < end)
            .order_by(Event.at)
            .limit(PAST_EVENTS_PER_QUERY)
        )
        rows = session.execute(chosen).all()
        yield from ((at, place, stored_value(value, number)) for at, value, number in rows)
        if len(rows) < PAST_EVENTS_PER_QUERY:
            return
        begin = rows[-1].at + 1


def _number(text: str | None) -> Decimal | None:
    try:
        return None if text is None else Decimal(text)
    except InvalidOperation:
        return None


class WouldFire(BaseModel):
    at: datetime
    row: str
    why: MessageText


class DryRun(BaseModel):
    """Result of a dry run."""

    fired: list[WouldFire]
    """First firings, at most `MAX_LISTED_FIRINGS`."""
    count: int
    """Total number of firings."""
    moments: int
    """Number of moments with events."""
    notes: list[MessageText]
    """Restrictions of the result: deleted events, limits."""


class AlertReplay:
    """Watches of one alert: one for each row, or one for all."""

    def __init__(self, terms: AlertTerms, since: int) -> None:
        self._terms = terms
        self._since = since
        self.watches: dict[str, AlertWatch] = {}
        group = single_group(terms)
        if group is not None:
            self._watch_of(group)

    def run(self, steps: Iterable[AlertStep]) -> Iterator[ReplayFirings]:
        """Judge steps in order; yield the firings of each."""
        for at, values in steps:
            check_time()
            fired = ReplayFirings()
            for group, group_values in values_by_group(self._terms, values).items():
                is_new = group not in self.watches
                watch = self._watch_of(group)
                begun = watch.start(at) if is_new else []
                fired += [
                    (group, one)
                    for one in (*begun, *watch.judge_values(at, group_values, watch.memory.event_at is None))
                ]
            yield fired

    def pass_time(self, to: int) -> ReplayFirings:
        """Judge the passing of time up to *to*; return the firings."""
        due = [(group, watch) for group, watch in self.watches.items() if watch.due is not None]
        return [(group, one) for group, watch in due for one in watch.pass_time(to)]

    def _watch_of(self, group: str) -> AlertWatch:
        if group not in self.watches:
            self.watches[group] = AlertWatch(self._terms, WatchMemory(since=self._since))
        return self.watches[group]


def start_watching(session: Session, alert: Alert, source: Source, now: int, *, quietly: bool = False) -> list[Firing]:
    """Build the state of an alert from past events; return its firings, which need `at_first` and not *quietly*."""
    session.execute(delete(AlertMemory).where(AlertMemory.alert_id == alert.id))
    terms = terms_of(alert.configuration, source.configuration)
    known = watched_series(session, source.id, terms)
    replay = AlertReplay(terms, since=now)
    begin = now - longest_window(terms)
    before = values_before(session, known, begin, VALUES_BEFORE_WINDOW)
    for _firings in replay.run(chain(before, islice(past_steps(session, known, begin, now + 1), MAX_WARMUP_STEPS))):
        pass
    firings, has_recipients = list[Firing](), bool(alert.configuration.get("notify"))
    for group, watch in replay.watches.items():
        load_records(session, known, terms, watch.memory.rows)
        fired = watch.start(now)
        firings += [] if quietly else firing_rows(alert.id, has_recipients, group, fired, now)
    judgement.save_memories(
        session,
        [judgement.MemoryUpdate(alert.id, group, watch) for group, watch in replay.watches.items()],
    )
    return store_firings(session, firings)


def dry_run(session: Session, alert: Alert, begin: int, end: int) -> DryRun:
    """Return when a stored alert would have fired in a period, *begin* <= time < *end*."""
    source = session.get_one(Source, alert.source_id)
    return replay_window(session, source, terms_of(alert.configuration, source.configuration), begin, end)


def dry_run_config(session: Session, source: Source, config: AlertConfig, begin: int, end: int) -> DryRun:
    """Return when an alert that is not stored would have fired."""
    return replay_window(session, source, make_terms(config, source.configuration), begin, end)


def replay_window(session: Session, source: Source, terms: AlertTerms, begin: int, end: int) -> DryRun:
    """Judge the stored events of a period as they would have been judged when they arrived."""
    with pattern_budget(REPLAY_PATTERN_SECONDS):
        return _replay_window(session, source, terms, begin, end)


def _replay_window(session: Session, source: Source, terms: AlertTerms, begin: int, end: int) -> DryRun:
    known = watched_series(session, source.id, terms)
    replay = AlertReplay(terms, since=begin)
    since = begin - longest_window(terms)
    before = values_before(session, known, since, VALUES_BEFORE_WINDOW)
    for _firings in replay.run(chain(before, islice(past_steps(session, known, since, begin), MAX_WARMUP_STEPS))):
        pass
    for watch in replay.watches.values():
        load_records(session, known, terms, watch.memory.rows)
        watch.pass_time(begin)
    fired, moments = ReplayFirings(), 0
    for firings in replay.run(islice(past_steps(session, known, begin, end), MAX_REPLAYED_STEPS)):
        fired += firings
        moments += 1
    if moments < MAX_REPLAYED_STEPS:
        fired += replay.pass_time(end)
    fired.sort(key=lambda one: one[1].at)
    would = [WouldFire(at=moment_of(one.at), row=row, why=one.why) for row, one in fired[:MAX_LISTED_FIRINGS]]
    return DryRun(fired=would, count=len(fired), moments=moments, notes=_notes(session, known, since, moments))


def _notes(session: Session, known: Iterable[int], since: int, moments: int) -> list[str]:
    notes = list[str]()
    forgotten = events_forgotten_before(session, known)
    if forgotten is not None and forgotten > since:
        day = f"{moment_of(forgotten):%Y-%m-%d %H:%M}"
        notes.append(Message("Events before {day} (UTC) have been deleted: earlier firings are unknown.", day=day))
    if moments == MAX_REPLAYED_STEPS:
        notes.append(Message("Only the first {limit} events were replayed.", limit=MAX_REPLAYED_STEPS))
    if is_pattern_budget_spent():
        notes.append(
            Message(
                "The regular expression took longer than {seconds:g} seconds and was not evaluated for all events.",
                seconds=REPLAY_PATTERN_SECONDS,
            )
        )
    if not moments:
        notes.append(Message("There are no events in this period."))
    return notes
