"""Alerts are judged in the transaction in which events are stored: what fires is committed with what made it fire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from tarantula.models import Alert, AlertMemory, Firing, Series, Source, SourceState
from tarantula.streams.alerts.memory import Memory, Seen
from tarantula.streams.alerts.terms import group_of, terms_of
from tarantula.streams.alerts.truth import Place
from tarantula.streams.alerts.watch import Fired, Terms, Watch
from tarantula.streams.history import NewEvent

LONGEST_REASON = 4000
AT_A_TIME = 200
"""Alerts that are looked at because time has passed."""

Step = tuple[int, dict[Place, Seen]]
"""What came at one moment."""


@dataclass(slots=True)
class Judged:
    """An alert with what it goes by."""

    alert: Alert
    terms: Terms

    @classmethod
    def of(cls, alert: Alert, source: Source) -> Judged:
        """Return an alert ready to be judged."""
        return cls(alert, terms_of(alert.configuration, source.configuration))


def is_watched() -> ColumnElement[bool]:
    """Return the condition on alerts that are on, of people who may still see the source; the terminal sees all."""
    may_see = or_(Source.is_private.is_(False), Source.owner == Alert.owner, Alert.owner == "")
    return Alert.is_on.is_(True) & may_see


def judge(session: Session, source_id: int, events: Sequence[NewEvent], now: int) -> list[Firing]:
    """Judge the alerts of a source that had events; return what fired. It is called where they are stored."""
    if not events:
        return []
    chosen = select(Alert, Source).join(Source).where(Alert.source_id == source_id, is_watched()).order_by(Alert.id)
    judged = [Judged.of(*row) for row in session.execute(chosen.with_for_update(of=Alert))]
    if not judged:
        return []
    steps = _steps(session, events, now)
    rows = {row for _, values in steps for row, _ in values} | {""}
    known = _memories(session, [one.alert.id for one in judged], rows)
    return [firing for one in judged for firing in _judge(session, one, steps, known, now)]


def judge_silence(session: Session, now: int) -> list[Firing]:
    """Judge what time alone brings: silences, and conditions that held for long enough; return what fired."""
    chosen = (
        select(AlertMemory, Alert, Source)
        .join(Alert, Alert.id == AlertMemory.alert_id)
        .join(Source, Source.id == Alert.source_id)
        .where(AlertMemory.due_at <= now, is_watched(), Source.is_paused.is_(False))
        .order_by(AlertMemory.due_at)
        .limit(AT_A_TIME)
    )
    firings = list[Firing]()
    for kept, alert, source in session.execute(chosen.with_for_update(of=Alert, skip_locked=True)).all():
        watch = Watch(Judged.of(alert, source).terms, Memory.of_json(kept.memory))
        fired = watch.pass_time(now)
        kept.memory, kept.due_at = watch.memory.as_json(), watch.due
        firings += note(session, alert, kept.row, fired, now)
        if fired:
            _show(session, source.id, now)
    session.flush()
    return firings


def note(session: Session, alert: Alert, row: str, fired: Iterable[Fired], now: int) -> list[Firing]:
    """Write down that an alert fired, and that somebody is to be told."""
    is_told = bool(alert.configuration.get("notify"))
    firings = [
        Firing(
            alert_id=alert.id,
            at=one.at,
            row=row,
            why=one.why[:LONGEST_REASON],
            news={} if is_told else None,
            tell_at=now if is_told else None,
        )
        for one in fired
    ]
    session.add_all(firings)
    session.flush()
    return firings


def seen(value: str, number: float | None) -> Seen:
    """Return a stored value: exact, where its text is a number."""
    if number is None:
        return Seen(value)
    try:
        return Seen(value, Decimal(value))
    except InvalidOperation:
        return Seen(value, Decimal(repr(number)))


def _judge(
    session: Session, judged: Judged, steps: Sequence[Step], known: Mapping[tuple[int, str], AlertMemory], now: int
) -> list[Firing]:
    firings, watches = list[Firing](), dict[str, tuple[Watch, bool]]()
    for at, values in steps:
        for group, some in by_group(judged.terms, values).items():
            if group not in watches:
                kept = known.get((judged.alert.id, group))
                memory = Memory.of_json(kept.memory) if kept else Memory(since=at)
                watches[group] = Watch(judged.terms, memory), memory.event_at is None
                if kept is None:
                    firings += note(session, judged.alert, group, watches[group][0].begin(at), now)
            watch, is_first = watches[group]
            firings += note(session, judged.alert, group, watch.take(at, some, is_first), now)
    for group, (watch, _) in watches.items():
        remember(session, judged.alert, group, watch, known.get((judged.alert.id, group)))
    return firings


def by_group(terms: Terms, values: Mapping[Place, Seen]) -> dict[str, dict[Place, Seen]]:
    """Return what came, by what is remembered together."""
    groups = dict[str, dict[Place, Seen]]()
    for (row, key), one in values.items():
        group = group_of(terms, row)
        if group is not None:
            groups.setdefault(group, {})[row, key] = one
    return groups


def remember(session: Session, alert: Alert, group: str, watch: Watch, kept: AlertMemory | None) -> None:
    """Write down what an alert has to know the next time."""
    if kept is None:
        kept = AlertMemory(alert_id=alert.id, row=group)
        session.add(kept)
    kept.memory, kept.due_at = watch.memory.as_json(), watch.due
    session.flush()


def _steps(session: Session, events: Sequence[NewEvent], now: int) -> list[Step]:
    """Return what came, moment by moment; nothing happened later than now."""
    identities = {event.series_id for event in events}
    series = session.execute(select(Series.id, Series.row, Series.field).where(Series.id.in_(identities)))
    places = {identity: (row, field) for identity, row, field in series}
    steps = dict[int, dict[Place, Seen]]()
    for event in events:
        if event.series_id in places:
            at = min(event.at, now)
            steps.setdefault(at, {})[places[event.series_id]] = seen(event.value, event.number)
    return sorted(steps.items(), key=lambda step: step[0])


def _memories(session: Session, alerts: Sequence[int], rows: Iterable[str]) -> dict[tuple[int, str], AlertMemory]:
    chosen = select(AlertMemory).where(AlertMemory.alert_id.in_(alerts), AlertMemory.row.in_(list(rows)))
    return {(kept.alert_id, kept.row): kept for kept in session.scalars(chosen)}


def _show(session: Session, source_id: int, now: int) -> None:
    """Let the pages that show the source look again."""
    state = session.get(SourceState, source_id, with_for_update=True)
    if state is not None:
        state.stamp = max(now, state.stamp + 1)
