"""A simulation from its beginning to its end, with statistics along the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.changes import all_poisson, generator_states
from tarantula.revisit.heap import empty_heap
from tarantula.revisit.model import Floats, ModelReading
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.phases.dispatch import dispatch_queues
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.simulator import event_loop, event_loop_part_documents
from tarantula.revisit.simulator.event_loop_part_events import SimulationEvent, add_event
from tarantula.revisit.simulator.simulation_part_outcome import SimulationOutcome, SimulationSnapshot
from tarantula.revisit.simulator.simulation_part_web import SimulatedWeb, check_speeds

SNAPSHOTS = 24
"""How often statistics are made."""

SnapshotCallback = Callable[[SimulationSnapshot], None]
"""Is told how things are, along the way."""


def simulate(
    schedule: Schedule,
    web: SimulatedWeb,
    crawlers: Floats,
    limits: VisitLimits,
    reading: ModelReading,
    *,
    seed: int = 0,
    moments: int = SNAPSHOTS,
    watch: SnapshotCallback = lambda moment: None,
    diary: int = 0,
) -> SimulationOutcome:
    """Visit documents as crawlers find the time, from the beginning of the horizon to its end, while they change."""
    web.check_changes(limits)
    visited = np.zeros(len(web.pages))
    if reading is ModelReading.STEADY:
        visited = _the_day_before(dispatched_schedule(schedule, web, crawlers, limits), web.pages, limits)
    state = _begin(schedule, web, crawlers, moments, diary, seed)
    event_loop_part_documents.start_documents(state.documents, visited, state.line, limits.horizon)
    along = []
    for moment in _moments(state, web, crawlers, limits, moments):
        along.append(moment)
        watch(moment)
    return SimulationOutcome.of(state, schedule, web, limits, reading, along)


def dispatched_schedule(schedule: Schedule, web: SimulatedWeb, crawlers: Floats, limits: VisitLimits) -> Schedule:
    """Return when the visits of a schedule are made by crawlers: phase 3 alone, for nothing changes meanwhile."""
    still = replace(web.pages, rates=np.zeros(len(web.pages)))
    state = _begin(schedule, replace(web, pages=still, laws=all_poisson(len(still))), crawlers, others=1)
    add_event(state.line, limits.horizon, int(SimulationEvent.END), 0)
    event_loop.run_until_statistics(state, _speeds(web, crawlers, limits))
    return schedule.at(state.visits.made)


def _begin(
    schedule: Schedule, web: SimulatedWeb, crawlers: Floats, others: int, diary: int = 0, seed: int = 0
) -> event_loop.SimulationState:
    """Line up the visits, and let every crawler be free; the line has room for so many *others* beside its changes."""
    if not len(crawlers):
        raise TarantulaError("At least one crawler is needed.")
    check_speeds(crawlers, "crawler")
    servers = len(schedule.starts) - 1
    state = event_loop.SimulationState(
        empty_heap(len(web.pages) + len(crawlers) + servers + others),
        dispatch_queues(schedule),
        event_loop_part_documents.new_documents(web.pages.rates, web.laws, generator_states(len(web.pages), seed)),
        event_loop.VisitLog(schedule.pages, np.full(len(schedule.times), np.nan), np.full(servers, -np.inf)),
        event_loop.CrawlerPool(np.empty(len(crawlers), dtype=np.int64), np.empty(servers + 1)),
        np.zeros(event_loop.COUNTS, dtype=np.int64),
        np.empty((diary, 3)),
    )
    for crawler in range(len(crawlers)):
        add_event(state.line, 0.0, int(SimulationEvent.FREE), crawler)
    return state


def _moments(
    state: event_loop.SimulationState, web: SimulatedWeb, crawlers: Floats, limits: VisitLimits, moments: int
) -> Iterator[SimulationSnapshot]:
    """Let time pass, and say how things are now and then and at the end."""
    speeds = _speeds(web, crawlers, limits)
    for number in range(1, moments):
        add_event(state.line, limits.horizon * number / moments, int(SimulationEvent.STATISTICS), number)
    add_event(state.line, limits.horizon, int(SimulationEvent.END), 0)
    kind = SimulationEvent.STATISTICS
    while kind is not SimulationEvent.END:
        now, kind = event_loop.run_until_statistics(state, speeds)
        kind = SimulationEvent(kind)
        yield SimulationSnapshot.of(state, web, now)


def _speeds(web: SimulatedWeb, crawlers: Floats, limits: VisitLimits) -> event_loop.SimulationSpeeds:
    return event_loop.SimulationSpeeds(crawlers, web.speeds, web.sizes, limits.politeness, limits.pause, limits.horizon)


def _the_day_before(schedule: Schedule, pages: Pages, limits: VisitLimits) -> Floats:
    """Return when each page was last visited before the horizon, if the one before was like it; nan for never."""
    last = np.full(len(pages), np.nan)
    # A page has all its visits at one server, in their order: the last one stays.
    last[schedule.pages] = schedule.times - limits.horizon
    return last
