"""Judge alerts in the transaction that stores the events: firings are committed together with their cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from sqlalchemy import ColumnElement, Table, Text, bindparam, cast, insert, or_, select, update
from sqlalchemy.orm import Session

from tarantula.models import Alert, AlertMemory, Firing, Series, Source, SourceState
from tarantula.streams.alerts.evaluate import RowField
from tarantula.streams.alerts.memory import SeenValue, WatchMemory
from tarantula.streams.alerts.watch import (
    AlertTerms,
    AlertWatch,
    WatchFiring,
    group_of_row,
    has_recipients,
    terms_of_json,
)
from tarantula.streams.history import NewEvent

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


class MemoryUpdate(NamedTuple):
    """What is to be remembered of one alert, for one row or for all together."""

    alert_id: int
    row: str
    watch: AlertWatch


def load_memories(session: Session, alerts: Sequence[int], rows: Iterable[str]) -> dict[tuple[int, str], WatchMemory]:
    """Return what some alerts remember of some rows."""
    found = session.execute(_KNOWN, {"alerts": alerts, "rows": list(rows)})
    return {(alert_id, row): WatchMemory.of_json(memory) for alert_id, row, memory in found}


def save_memories(session: Session, kept: Sequence[MemoryUpdate], there: Collection[tuple[int, str]] = ()) -> None:
    """Write down what alerts have to know the next time; of those that are *there* already, in their place."""
    changed, added = list[dict[str, object]](), list[dict[str, object]]()
    for one in kept:
        values = {"memory": one.watch.memory.as_json(), "due_at": one.watch.due}
        if (one.alert_id, one.row) in there:
            changed.append({"of_alert": one.alert_id, "of_row": one.row, **values})
        else:
            added.append({"alert_id": one.alert_id, "row": one.row, **values})
    connection = session.connection()
    if changed:
        connection.execute(_CHANGE, changed)
    if added:
        connection.execute(_ADD, added)


MAX_REASON_CHARS = 4000
DUE_ALERTS_PER_ROUND = 200
"""Alerts that are looked at because time has passed."""

AlertStep = tuple[int, dict[RowField, SeenValue]]
"""What came at one moment."""


class JudgedAlert(NamedTuple):
    """An alert with what it goes by."""

    id: int
    source_id: int
    alert: str
    """Its configuration, as JSON."""
    source: str
    """That of its source."""

    @property
    def terms(self) -> AlertTerms:
        """What it goes by."""
        return terms_of_json(self.alert, self.source)


def is_watched() -> ColumnElement[bool]:
    """Return the condition on alerts that are on, of people who may still see the source; the terminal sees all."""
    may_see = or_(Source.is_private.is_(False), Source.owner == Alert.owner, Alert.owner == "")
    return Alert.is_on.is_(True) & may_see


_COLUMNS = (
    Alert.id,
    Alert.source_id,
    cast(Alert.configuration, Text).label("of_alert"),
    cast(Source.configuration, Text).label("of_source"),
)
_OF_SOURCES = (
    select(*_COLUMNS)
    .join(Source, Source.id == Alert.source_id)
    .where(Alert.source_id.in_(bindparam("sources", expanding=True)), is_watched())
    .order_by(Alert.id)
    .with_for_update(of=Alert)
)
_PLACES = select(Series.id, Series.row, Series.field).where(Series.id.in_(bindparam("series", expanding=True)))
_DUE = (
    select(AlertMemory.row, AlertMemory.memory, *_COLUMNS)
    .join(Alert, Alert.id == AlertMemory.alert_id)
    .join(Source, Source.id == Alert.source_id)
    .join(SourceState, SourceState.source_id == Source.id)
    .where(AlertMemory.due_at <= bindparam("now"), is_watched(), Source.is_paused.is_(False))
    .order_by(AlertMemory.due_at)
    .limit(DUE_ALERTS_PER_ROUND)
    # Whoever keeps a reading has the state before the alerts: what is not free now is judged the next time.
    .with_for_update(of=[SourceState, Alert], skip_locked=True)
)


def judge(session: Session, source_id: int, events: Sequence[NewEvent], now: int) -> list[Firing]:
    """Judge the alerts of a source that had events; return what fired. It is called where they are stored."""
    return judge_all(session, {source_id: events}, now)


def judge_all(session: Session, events: Mapping[int, Sequence[NewEvent]], now: int) -> list[Firing]:
    """Judge the alerts of all sources that had events, with one question for all of them."""
    asked = session.execute(_OF_SOURCES, {"sources": [source for source, some in events.items() if some]})
    judged = [JudgedAlert(*row) for row in asked]
    if not judged:
        return []
    steps = _steps(session, {one.source_id: events[one.source_id] for one in judged}, now)
    known = load_memories(session, [one.id for one in judged], _rows(steps))
    firings, kept = list[Firing](), list[MemoryUpdate]()
    for one in judged:
        _judge(one, steps[one.source_id], known, now, firings, kept)
    save_memories(session, kept, known)
    return store_firings(session, firings)


def judge_silence(session: Session, now: int) -> list[Firing]:
    """Judge what time alone brings: silences, and conditions that held for long enough; return what fired."""
    firings, kept, heard = list[Firing](), list[MemoryUpdate](), set[int]()
    for row, memory, *columns in session.execute(_DUE, {"now": now}).all():
        judged = JudgedAlert(*columns)
        watch = AlertWatch(judged.terms, WatchMemory.of_json(memory))
        fired = firing_rows(judged.id, has_recipients(judged.alert), row, watch.pass_time(now), now)
        kept.append(MemoryUpdate(judged.id, row, watch))
        firings += fired
        heard |= {judged.source_id} if fired else set()
    save_memories(session, kept, {(one.alert_id, one.row) for one in kept})
    for state in session.scalars(select(SourceState).where(SourceState.source_id.in_(heard))) if heard else ():
        # The pages that show the source look again.
        state.stamp = max(now, state.stamp + 1)
    return store_firings(session, firings)


def firing_rows(alert_id: int, is_told: bool, row: str, fired: Iterable[WatchFiring], now: int) -> list[Firing]:
    """Return what is written down of an alert that fired: also that somebody is to be told."""
    return [
        Firing(
            alert_id=alert_id,
            at=one.at,
            row=row,
            why=one.why[:MAX_REASON_CHARS],
            news={} if is_told else None,
            tell_at=now if is_told else None,
        )
        for one in fired
    ]


def store_firings(session: Session, firings: list[Firing]) -> list[Firing]:
    """Write down what fired."""
    if firings:
        session.add_all(firings)
        session.flush()
    return firings


def stored_value(value: str, number: float | None) -> SeenValue:
    """Return a stored value: exact, where its text is a number."""
    if number is None:
        return SeenValue(value)
    try:
        return SeenValue(value, Decimal(value))
    except InvalidOperation:
        return SeenValue(value, Decimal(repr(number)))


def values_by_group(terms: AlertTerms, values: Mapping[RowField, SeenValue]) -> dict[str, dict[RowField, SeenValue]]:
    """Return what came, by what is remembered together."""
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
    kept: list[MemoryUpdate],
) -> None:
    terms, told, watches = judged.terms, has_recipients(judged.alert), dict[str, tuple[AlertWatch, bool]]()
    for at, values in steps:
        for group, some in values_by_group(terms, values).items():
            fired = list[WatchFiring]()
            if group not in watches:
                memory = known.get((judged.id, group))
                watch = AlertWatch(terms, memory or WatchMemory(since=at))
                watches[group] = watch, watch.memory.event_at is None
                fired += watch.begin(at) if memory is None else []
            watch, is_first = watches[group]
            fired += watch.take(at, some, is_first)
            firings += firing_rows(judged.id, told, group, fired, now)
    kept += [MemoryUpdate(judged.id, group, watch) for group, (watch, _) in watches.items()]


def _rows(steps: Mapping[int, Sequence[AlertStep]]) -> set[str]:
    return {row for some in steps.values() for _, values in some for row, _ in values} | {""}


def _steps(session: Session, events: Mapping[int, Sequence[NewEvent]], now: int) -> dict[int, list[AlertStep]]:
    """Return what came, source by source and moment by moment; nothing happened later than now."""
    series = list({event.series_id for some in events.values() for event in some})
    places = {identity: (row, field) for identity, row, field in session.execute(_PLACES, {"series": series})}
    found = dict[int, list[AlertStep]]()
    for source_id, some in events.items():
        moments = dict[int, dict[RowField, SeenValue]]()
        for event in some:
            if event.series_id in places:
                at = min(event.at, now)
                moments.setdefault(at, {})[places[event.series_id]] = stored_value(event.value, event.number)
        found[source_id] = sorted(moments.items(), key=lambda step: step[0])
    return found
