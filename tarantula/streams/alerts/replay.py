"""An alert goes through the past: quietly, to know what it would know, or aloud, to say when it would have fired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice

from pydantic import BaseModel
from sqlalchemy import delete
from sqlalchemy.orm import Session

from tarantula.streams.alerts import judgement_part_remembering, replay_part_past
from tarantula.streams.alerts.config_part_alert import AlertConfig
from tarantula.streams.alerts.judgement import AlertStep, firing_rows, store_firings, values_by_group
from tarantula.streams.alerts.memory import WatchMemory
from tarantula.streams.alerts.watch import AlertTerms, AlertWatch, WatchFiring
from tarantula.streams.alerts.watch_part_terms import make_terms, single_group, terms_of
from tarantula.tables.publications import Alert, AlertMemory, Firing, Source

MAX_REPLAYED_STEPS = 200_000
"""Moments of one dry run."""
MAX_LISTED_FIRINGS = 500
"""Firings that it lists."""
MAX_WARMUP_STEPS = 20_000
"""Moments that a new alert goes through, to know what it would know."""
VALUES_BEFORE_WINDOW = 2
"""Values of each series before a window: the one that stood when it began, and the one before."""

ReplayFirings = list[tuple[str, WatchFiring]]


class WouldFire(BaseModel):
    """When an alert would have fired, and why."""

    at: datetime
    row: str
    why: str


class DryRun(BaseModel):
    """What an alert would have done in some stretch of the past."""

    fired: list[WouldFire]
    """The first ones first, and not more of them than can be read."""
    count: int
    """How often it would have fired."""
    moments: int
    """At how many moments something happened."""
    notes: list[str]
    """What has to be known beside it: what was forgotten, what was left out."""


class AlertReplay:
    """The watches of one alert: one for each row, or one for all."""

    def __init__(self, terms: AlertTerms, since: int) -> None:
        self._terms = terms
        self._since = since
        self.watches: dict[str, AlertWatch] = {}
        group = single_group(terms)
        if group is not None:
            self._watch(group)

    def go(self, steps: Iterable[AlertStep]) -> Iterator[ReplayFirings]:
        """Go through what happened, moment by moment."""
        for at, values in steps:
            fired = ReplayFirings()
            for group, some in values_by_group(self._terms, values).items():
                is_new = group not in self.watches
                watch = self._watch(group)
                begun = watch.begin(at) if is_new else []
                fired += [(group, one) for one in (*begun, *watch.take(at, some, watch.memory.event_at is None))]
            yield fired

    def pass_time(self, to: int) -> ReplayFirings:
        """Let time pass."""
        due = [(group, watch) for group, watch in self.watches.items() if watch.due is not None]
        return [(group, one) for group, watch in due for one in watch.pass_time(to)]

    def _watch(self, group: str) -> AlertWatch:
        if group not in self.watches:
            self.watches[group] = AlertWatch(self._terms, WatchMemory(since=self._since))
        return self.watches[group]


def start_watching(session: Session, alert: Alert, source: Source, now: int, *, quietly: bool = False) -> list[Firing]:
    """Let an alert know the past, as if it had been there; it fires at once only where that is asked for."""
    session.execute(delete(AlertMemory).where(AlertMemory.alert_id == alert.id))
    terms = terms_of(alert.configuration, source.configuration)
    known = replay_part_past.watched_series(session, source.id, terms)
    replay = AlertReplay(terms, since=now)
    begin = now - replay_part_past.longest_window(terms)
    before = replay_part_past.values_before(session, known, begin, VALUES_BEFORE_WINDOW)
    for _quietly in replay.go(
        chain(before, islice(replay_part_past.past_steps(session, known, begin, now + 1), MAX_WARMUP_STEPS))
    ):
        pass
    firings, is_told = list[Firing](), bool(alert.configuration.get("notify"))
    for group, watch in replay.watches.items():
        replay_part_past.load_records(session, known, terms, watch.memory.rows)
        fired = watch.begin(now)
        firings += [] if quietly else firing_rows(alert.id, is_told, group, fired, now)
    judgement_part_remembering.save_memories(
        session,
        [judgement_part_remembering.MemoryUpdate(alert.id, group, watch) for group, watch in replay.watches.items()],
    )
    return store_firings(session, firings)


def dry_run(session: Session, alert: Alert, begin: int, end: int) -> DryRun:
    """Say when a stored alert would have fired, from *begin* on and before *end*."""
    source = session.get_one(Source, alert.source_id)
    return replay_window(session, source, terms_of(alert.configuration, source.configuration), begin, end)


def dry_run_config(session: Session, source: Source, config: AlertConfig, begin: int, end: int) -> DryRun:
    """Say when an alert that need not be stored would have fired."""
    return replay_window(session, source, make_terms(config, source.configuration), begin, end)


def replay_window(session: Session, source: Source, terms: AlertTerms, begin: int, end: int) -> DryRun:
    """Go through the events that are still there, by the same judgement as when they came."""
    known = replay_part_past.watched_series(session, source.id, terms)
    replay = AlertReplay(terms, since=begin)
    since = begin - replay_part_past.longest_window(terms)
    before = replay_part_past.values_before(session, known, since, VALUES_BEFORE_WINDOW)
    for _quietly in replay.go(
        chain(before, islice(replay_part_past.past_steps(session, known, since, begin), MAX_WARMUP_STEPS))
    ):
        pass
    for watch in replay.watches.values():
        replay_part_past.load_records(session, known, terms, watch.memory.rows)
        watch.pass_time(begin)
    fired, moments = ReplayFirings(), 0
    for some in replay.go(islice(replay_part_past.past_steps(session, known, begin, end), MAX_REPLAYED_STEPS)):
        fired += some
        moments += 1
    if moments < MAX_REPLAYED_STEPS:
        fired += replay.pass_time(end)
    fired.sort(key=lambda one: one[1].at)
    would = [WouldFire(at=moment_of(one.at), row=row, why=one.why) for row, one in fired[:MAX_LISTED_FIRINGS]]
    return DryRun(fired=would, count=len(fired), moments=moments, notes=_notes(session, known, since, moments))


def moment_of(at: int) -> datetime:
    """Return a stored time as a moment."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def _notes(session: Session, known: Iterable[int], since: int, moments: int) -> list[str]:
    notes = list[str]()
    forgotten = replay_part_past.events_forgotten_before(session, known)
    if forgotten is not None and forgotten > since:
        day = f"{moment_of(forgotten):%Y-%m-%d %H:%M}"
        notes.append(f"Single events before {day} (UTC) were forgotten: what would have fired before is not known.")
    if moments == MAX_REPLAYED_STEPS:
        notes.append(f"Only the first {MAX_REPLAYED_STEPS} events were gone through.")
    if not moments:
        notes.append("There are no events in that time.")
    return notes
