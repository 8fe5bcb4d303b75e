"""Judge alerts in the transaction that stores the events: firings are committed together with their cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from sqlalchemy import ColumnElement, Table, Text, bindparam, cast, insert, or_, select, update
from sqlalchemy.orm import Session

from tarantula.models import Alert, AlertMemory, Firing, Series, Source, SourceState
from tarantula.streams.alerts.evaluate import RowField, SeenValue, WatchMemory
from tarantula.streams.alerts.watch import (
    AlertTerms,
    AlertWatch,
    WatchFiring,
    group_of_row,
    has_recipients,
    terms_of_json,
)
from tarantula.streams.history import NewEvent
from tarantula.streams.texts import pattern_budget

_TABLE = AlertMemory.__table__
assert isinstance(_TABLE, Table)
_KNOWN = select(AlertMemory.alert_id, AlertMemory.row, AlertMemory.memory).where(
    AlertMemory.alert_id.in_(bindparam("alerts", expanding=True)),
    AlertMemory.row.in_(bindparam("rows", expanding=True)),
)
_CHANGE = (
    update(_TABLE)
    .where(_TABLE.c.alert_id == bindparam("of_alert"), _TABLE.c.row == bindparam("of_row"))
    .values(memory=bindparam("memory"), due_at=bindparam("due_at"))
)
_ADD = insert(_TABLE)
MAX_REASON_CHARS = 4000
PATTERN_SECONDS = 1.0
"""Time limit of all regular expressions of the alerts that are judged in one transaction."""
DUE_ALERTS_PER_ROUND = 200
"""Maximum number of alerts that are judged per round because time has passed."""
AlertStep = tuple[int, dict[RowField, SeenValue]]
"""A time, and the values of its events."""
_COLUMNS = (
    Alert.id,
    Alert.source_id,
    cast(Alert.configuration, Text).label("of_alert"),
    cast(Source.configuration, Text).label("of_source"),
)
_PLACES = select(Series.id, Series.row, Series.field).where(Series.id.in_(bindparam("series", expanding=True)))


class MemoryUpdate(NamedTuple):
    """New state of an alert, for one row or for all rows together."""

    alert_id: int
    row: str
    watch: AlertWatch


def load_memories(session: Session, alerts: Sequence[int], rows: Iterable[str]) -> dict[tuple[int, str], WatchMemory]:
    """Load the states of some alerts and rows."""
    states = session.execute(_KNOWN, {"alerts": alerts, "rows": list(rows)})
    return {(alert_id, row): WatchMemory.of_json(memory) for alert_id, row, memory in states}


def save_memories(
    session: Session, updates: Sequence[MemoryUpdate], existing: Collection[tuple[int, str]] = ()
) -> None:
    """Insert alert states; update those whose alert and row are in *existing*."""
    changed, added = list[dict[str, object]](), list[dict[str, object]]()
    for one in updates:
        values = {"memory": one.watch.memory.as_json(), "due_at": one.watch.due}
        if (one.alert_id, one.row) in existing:
            changed.append({"of_alert": one.alert_id, "of_row": one.row, **values})
        else:
            added.append({"alert_id": one.alert_id, "row": one.row, **values})
    connection = session.connection()
    if changed:
        connection.execute(_CHANGE, changed)
    if added:
        connection.execute(_ADD, added)


class JudgedAlert(NamedTuple):
    """An alert and the configurations that it is judged by."""

    id: int
    source_id: int
    alert: str
    """Configuration as JSON."""
    source: str
    """Configuration of the source as JSON."""

    @property
    def terms(self) -> AlertTerms:
        return terms_of_json(self.alert, self.source)


def is_watched() -> ColumnElement[bool]:
    """Return the SQL condition for active alerts whose owner may see the source; alerts without an owner see all."""
    is_same_owner = (Source.owner == Alert.owner) & Source.owner_id.is_not_distinct_from(Alert.owner_id)
    may_see = or_(Source.is_private.is_(False), is_same_owner, Alert.owner == "")
    return Alert.is_on.is_(True) & may_see


_OF_SOURCES = (
    select(*_COLUMNS)
    .join(Source, Source.id == Alert.source_id)
    .where(Alert.source_id.in_(bindparam("sources", expanding=True)), is_watched())
    .order_by(Alert.id)
    .with_for_update(of=Alert)
)


_DUE = (
    select(AlertMemory.row, AlertMemory.memory, *_COLUMNS)
    .join(Alert, Alert.id == AlertMemory.alert_id)
    .join(Source, Source.id == Alert.source_id)
    .join(SourceState, SourceState.source_id == Source.id)
    .where(AlertMemory.due_at <= bindparam("now"), is_watched(), Source.is_paused.is_(False))
    .order_by(AlertMemory.due_at)
    .limit(DUE_ALERTS_PER_ROUND)
    # Ingestion locks the state before the alerts; rows that are locked now are judged in the next round.
    .with_for_update(of=[SourceState, Alert], skip_locked=True)
)


def judge(session: Session, source_id: int, events: Sequence[NewEvent], now: int) -> list[Firing]:
    """Judge the alerts of one source; return the firings. Called in the transaction that stores the events."""
    return judge_all(session, {source_id: events}, now)


def judge_all(session: Session, events: Mapping[int, Sequence[NewEvent]], now: int) -> list[Firing]:
    """Judge the alerts of all sources with events, loading them in one query; return the firings."""
    rows = session.execute(_OF_SOURCES, {"sources": [source for source, some in events.items() if some]})
    judged = [JudgedAlert(*row) for row in rows]
    if not judged:
        return []
    steps = _steps(session, {one.source_id: events[one.source_id] for one in judged}, now)
    known = load_memories(session, [one.id for one in judged], _rows(steps))
    firings, updates = list[Firing](), list[MemoryUpdate]()
    # The transaction holds locks: what is not evaluated in time counts as unknown.
    with pattern_budget(PATTERN_SECONDS):
        for one in judged:
            _judge(one, steps[one.source_id], known, now, firings, updates)
    save_memories(session, updates, known)
    return store_firings(session, firings)


def judge_silence(session: Session, now: int) -> list[Firing]:
    """Judge alerts that are due because time has passed (silence, end of a hold); return the firings."""
    firings, updates, fired_sources = list[Firing](), list[MemoryUpdate](), set[int]()
    for row, memory, *columns in session.execute(_DUE, {"now": now}).all():
        judged = JudgedAlert(*columns)
        watch = AlertWatch(judged.terms, WatchMemory.of_json(memory))
        fired = firing_rows(judged.id, has_recipients(judged.alert), row, watch.pass_time(now), now)
        updates.append(MemoryUpdate(judged.id, row, watch))
        firings += fired
        fired_sources |= {judged.source_id} if fired else set()
    save_memories(session, updates, {(one.alert_id, one.row) for one in updates})
    if fired_sources:
        for state in session.scalars(select(SourceState).where(SourceState.source_id.in_(fired_sources))):
            # A new stamp makes the pages that show the source update.
            state.stamp = max(now, state.stamp + 1)
    return store_firings(session, firings)


def firing_rows(alert_id: int, has_recipients: bool, row: str, fired: Iterable[WatchFiring], now: int) -> list[Firing]:
    """Return rows for the firings of an alert; with *has_recipients*, a notification is queued."""
    return [
        Firing(
            alert_id=alert_id,
            at=one.at,
            row=row,
            why=one.why if len(one.why) <= MAX_REASON_CHARS else one.why[:MAX_REASON_CHARS],
            news={} if has_recipients else None,
            tell_at=now if has_recipients else None,
        )
        for one in fired
    ]


def store_firings(session: Session, firings: list[Firing]) -> list[Firing]:
    if firings:
        session.add_all(firings)
        session.flush()
    return firings


def stored_value(value: str, number: float | None) -> SeenValue:
    """Return a stored value, with its exact number if its text is one."""
    if number is None:
        return SeenValue(value)
    try:
        return SeenValue(value, Decimal(value))
    except InvalidOperation:
        return SeenValue(value, Decimal(repr(number)))


def values_by_group(terms: AlertTerms, values: Mapping[RowField, SeenValue]) -> dict[str, dict[RowField, SeenValue]]:
    """Return values by the group whose state they belong to."""
    groups = dict[str, dict[RowField, SeenValue]]()
    for (row, key), one in values.items():
        group = group_of_row(terms, row)
        if group is not None:
            groups.setdefault(group, {})[row, key] = one
    return groups


def _judge(
    judged: JudgedAlert,
    steps: Sequence[AlertStep],
    known: Mapping[tuple[int, str], WatchMemory],
    now: int,
    firings: list[Firing],
    updates: list[MemoryUpdate],
) -> None:
    terms, notifies, watches = judged.terms, has_recipients(judged.alert), dict[str, tuple[AlertWatch, bool]]()
    for at, values in steps:
        for group, group_values in values_by_group(terms, values).items():
            fired = list[WatchFiring]()
            if group not in watches:
                memory = known.get((judged.id, group))
                watch = AlertWatch(terms, memory or WatchMemory(since=at))
                watches[group] = watch, watch.memory.event_at is None
                fired += watch.start(at) if memory is None else []
            watch, is_first = watches[group]
            fired += watch.judge_values(at, group_values, is_first)
            firings += firing_rows(judged.id, notifies, group, fired, now)
    updates += [MemoryUpdate(judged.id, group, watch) for group, (watch, _) in watches.items()]


def _rows(steps: Mapping[int, Sequence[AlertStep]]) -> set[str]:
    return {row for some in steps.values() for _, values in some for row, _ in values} | {""}


def _steps(session: Session, events: Mapping[int, Sequence[NewEvent]], now: int) -> dict[int, list[AlertStep]]:
    """Return the steps of each source in order of time; times in the future become *now*."""
    series = list({event.series_id for some in events.values() for event in some})
    places = {identity: (row, field) for identity, row, field in session.execute(_PLACES, {"series": series})}
    by_source = dict[int, list[AlertStep]]()
    for source_id, some in events.items():
        moments = dict[int, dict[RowField, SeenValue]]()
        for event in some:
            if event.series_id in places:
                at = min(event.at, now)
                moments.setdefault(at, {})[places[event.series_id]] = stored_value(event.value, event.number)
        by_source[source_id] = sorted(moments.items(), key=lambda step: step[0])
    return by_source
