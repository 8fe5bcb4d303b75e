"""A whole simulation: the simulated web, statistics on the way, and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.changes import Laws, all_poisson, generator_states
from tarantula.revisit.heap import empty_heap
from tarantula.revisit.model import Floats, ModelReading, Pages, VisitLimits, weighted_mean
from tarantula.revisit.phases import dispatch_queues
from tarantula.revisit.schedule import Schedule, schedule_freshness
from tarantula.revisit.simulator import event_loop
from tarantula.revisit.simulator.event_loop import SimulationEvent, add_event

MOST_CHANGES = 1_000_000_000
"""Most changes to simulate; it takes some minutes."""

SNAPSHOTS = 24
"""Number of statistics in a horizon."""


@dataclass(frozen=True)
class SimulatedWeb:
    """Pages with laws of change and sizes, on servers with speeds."""

    pages: Pages
    laws: Laws
    """Law of change of each document."""
    sizes: Floats
    """Size of each document."""
    speeds: Floats
    """Speed of each server, in sizes a second."""

    @classmethod
    def of(
        cls, pages: Pages, laws: Laws | None = None, sizes: Floats | None = None, speeds: Floats | None = None
    ) -> Self:
        """Build a web; by default with Poisson changes, sizes of 1 and unlimited server speeds."""
        count, servers = len(pages), len(pages.starts) - 1
        web = cls(
            pages,
            all_poisson(count) if laws is None else laws,
            np.ones(count) if sizes is None else sizes,
            np.full(servers, np.inf) if speeds is None else speeds,
        )
        if not count:
            raise TarantulaError("At least one document is needed.")
        if not (len(web.laws) == len(web.sizes) == count and len(web.speeds) == servers):
            raise TarantulaError("Give one size and one law of change per document, and one speed per server.")
        if not np.all(np.isfinite(web.sizes) & (web.sizes >= 0)):
            raise TarantulaError("A document size must be a finite number, 0 or more.")
        check_speeds(web.speeds, "server")
        return web

    def check_changes(self, limits: VisitLimits) -> None:
        """Raise an error if there would be too many changes to simulate."""
        changes = self.pages.rates[np.isfinite(self.pages.rates)] * limits.horizon
        if not changes.sum() <= MOST_CHANGES:
            raise TarantulaError(
                "The simulation would have about {changes:.3g} changes; at most {limit:,} are allowed. "
                "Choose lower rates, fewer documents or a shorter horizon.",
                changes=changes.sum(),
                limit=MOST_CHANGES,
            )


def check_speeds(speeds: Floats, owner: str) -> None:
    """Raise an error if a speed is not positive."""
    if not np.all(speeds > 0):
        raise TarantulaError("The speed of a {owner} must be above 0.", owner=owner)


class SimulationSnapshot(NamedTuple):
    """Statistics at a point of time."""

    seconds: float
    staleness: float
    """Mean staleness by weight, since the start."""
    stale_now: float
    visits: int
    changes: int

    @classmethod
    def of(cls, state: event_loop.SimulationState, web: SimulatedWeb, now: float) -> Self:
        """Compute the statistics now."""
        weights = web.pages.weights
        is_stale = (state.documents.fresh_since == event_loop.NEVER_FRESH).astype(np.float64)
        return cls(
            now,
            1.0 - weighted_mean(event_loop.document_freshness(state.documents, now), weights),
            weighted_mean(is_stale, weights),
            int(state.counts[event_loop.VISITS]),
            int(state.counts[event_loop.EVENTS + SimulationEvent.MODIFIED]),
        )


@dataclass(frozen=True)
class SimulationOutcome:
    """Simulated and expected staleness, with statistics of the visits."""

    staleness: float
    expected_staleness: float
    """Expected staleness of the visits as they were made."""
    standard_error: float
    """Standard error of the simulated staleness."""
    planned: int
    visits: int
    changed_visits: int
    """Visits that found a change."""
    breaches: int
    """Visits that came too soon after another to the same server."""
    mean_delay: float
    """Mean delay of visits after their due time, in seconds."""
    longest_delay: float
    events: dict[SimulationEvent, int]
    snapshots: tuple[SimulationSnapshot, ...]
    executed: Schedule
    event_log: tuple[tuple[float, SimulationEvent, int], ...]

    @property
    def closest(self) -> float | None:
        """Least seconds between two visits to one server; None if no server was visited twice."""
        seconds = self.executed.closest()
        return seconds if seconds < np.inf else None

    @property
    def standard_errors_off(self) -> float:
        """Difference of simulated and expected staleness, in standard errors."""
        return (self.staleness - self.expected_staleness) / self.standard_error if self.standard_error else 0.0

    @classmethod
    def of(
        cls,
        state: event_loop.SimulationState,
        schedule: Schedule,
        web: SimulatedWeb,
        limits: VisitLimits,
        reading: ModelReading,
        snapshots: list[SimulationSnapshot],
    ) -> Self:
        """Compute the outcome at the end."""
        executed = schedule.at(state.visits.visit_times)
        weights = web.pages.weights
        simulated = event_loop.document_freshness(state.documents, limits.horizon)
        expected = schedule_freshness(executed, web.pages, limits, reading, web.laws)
        delays = _delays(state)
        return cls(
            1.0 - weighted_mean(simulated, weights),
            1.0 - weighted_mean(expected, weights),
            _standard_error(simulated, expected, weights),
            len(schedule.times),
            int(state.counts[event_loop.VISITS]),
            int(state.counts[event_loop.CHANGED]),
            int(state.counts[event_loop.BREACHES]),
            float(delays.mean()) if len(delays) else 0.0,
            float(delays.max(initial=0.0)),
            {event: int(state.counts[event_loop.EVENTS + event]) for event in SimulationEvent},
            tuple(snapshots),
            executed,
            tuple(
                (float(time), SimulationEvent(int(kind)), int(owner))
                for time, kind, owner in state.event_log[: int(state.counts[event_loop.RECORDED])]
            ),
        )


def _delays(state: event_loop.SimulationState) -> Floats:
    delays = state.visits.visit_times - state.queues.due
    return delays[~np.isnan(delays)]


def _standard_error(simulated: Floats, expected: Floats, weights: Floats) -> float:
    """Documents change independently, so their variances add up."""
    return float(np.sqrt(((weights * (simulated - expected)) ** 2).sum()) / weights.sum())


SnapshotCallback = Callable[[SimulationSnapshot], None]
"""Receives the statistics on the way."""


def simulate(
    schedule: Schedule,
    web: SimulatedWeb,
    crawlers: Floats,
    limits: VisitLimits,
    reading: ModelReading,
    *,
    seed: int = 0,
    snapshot_count: int = SNAPSHOTS,
    on_snapshot: SnapshotCallback = lambda snapshot: None,
    logged_events: int = 0,
) -> SimulationOutcome:
    """Simulate the visits of a schedule by crawlers over the horizon, while documents change."""
    web.check_changes(limits)
    visited = np.zeros(len(web.pages))
    if reading is ModelReading.STEADY:
        visited = _previous_visits(dispatched_schedule(schedule, web, crawlers, limits), web.pages, limits)
    state = _initial_state(schedule, web, crawlers, snapshot_count, logged_events, seed)
    event_loop.start_documents(state.documents, visited, state.queue, limits.horizon)
    snapshots = []
    for snapshot in _snapshots(state, web, crawlers, limits, snapshot_count):
        snapshots.append(snapshot)
        on_snapshot(snapshot)
    return SimulationOutcome.of(state, schedule, web, limits, reading, snapshots)


def dispatched_schedule(schedule: Schedule, web: SimulatedWeb, crawlers: Floats, limits: VisitLimits) -> Schedule:
    """Return the schedule as crawlers execute it: phase 3 alone, without changes."""
    unchanging = replace(web.pages, rates=np.zeros(len(web.pages)))
    state = _initial_state(
        schedule, replace(web, pages=unchanging, laws=all_poisson(len(unchanging))), crawlers, other_events=1
    )
    add_event(state.queue, limits.horizon, int(SimulationEvent.END), 0)
    event_loop.run_until_statistics(state, _speeds(web, crawlers, limits))
    return schedule.at(state.visits.visit_times)


def _initial_state(
    schedule: Schedule, web: SimulatedWeb, crawlers: Floats, other_events: int, logged_events: int = 0, seed: int = 0
) -> event_loop.SimulationState:
    """Queue the visits and free all crawlers; *other_events* is the room in the event queue for other events."""
    if not len(crawlers):
        raise TarantulaError("At least one crawler is needed.")
    check_speeds(crawlers, "crawler")
    servers = len(schedule.starts) - 1
    state = event_loop.SimulationState(
        empty_heap(len(web.pages) + len(crawlers) + servers + other_events),
        dispatch_queues(schedule),
        event_loop.new_documents(web.pages.rates, web.laws, generator_states(len(web.pages), seed)),
        event_loop.VisitLog(schedule.pages, np.full(len(schedule.times), np.nan), np.full(servers, -np.inf)),
        event_loop.CrawlerPool(np.empty(len(crawlers), dtype=np.int64), np.empty(servers + 1)),
        np.zeros(event_loop.COUNTS, dtype=np.int64),
        np.empty((logged_events, 3)),
    )
    for crawler in range(len(crawlers)):
        add_event(state.queue, 0.0, int(SimulationEvent.FREE), crawler)
    return state


def _snapshots(
    state: event_loop.SimulationState, web: SimulatedWeb, crawlers: Floats, limits: VisitLimits, snapshot_count: int
) -> Iterator[SimulationSnapshot]:
    """Run the simulation; yield statistics on the way and at the end."""
    speeds = _speeds(web, crawlers, limits)
    for number in range(1, snapshot_count):
        add_event(state.queue, limits.horizon * number / snapshot_count, int(SimulationEvent.STATISTICS), number)
    add_event(state.queue, limits.horizon, int(SimulationEvent.END), 0)
    kind = SimulationEvent.STATISTICS
    while kind is not SimulationEvent.END:
        now, kind = event_loop.run_until_statistics(state, speeds)
        kind = SimulationEvent(kind)
        yield SimulationSnapshot.of(state, web, now)


def _speeds(web: SimulatedWeb, crawlers: Floats, limits: VisitLimits) -> event_loop.SimulationSpeeds:
    return event_loop.SimulationSpeeds(crawlers, web.speeds, web.sizes, limits.politeness, limits.pause, limits.horizon)


def _previous_visits(schedule: Schedule, pages: Pages, limits: VisitLimits) -> Floats:
    """Return the time of each page's last visit in a preceding equal horizon; NaN if it has none."""
    last = np.full(len(pages), np.nan)
    # A page is on one server, whose visits are in time order: the last assignment remains.
    last[schedule.pages] = schedule.times - limits.horizon
    return last
