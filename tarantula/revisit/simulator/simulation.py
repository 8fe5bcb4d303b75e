"""A simulation from its beginning to its end, with statistics along the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.changes import all_poisson, streams
from tarantula.revisit.heap import empty
from tarantula.revisit.model import Floats, Reading
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.phases.dispatch import queues
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.simulator import event_loop, event_loop_part_documents
from tarantula.revisit.simulator.event_loop_part_events import Event, add
from tarantula.revisit.simulator.simulation_part_outcome import Moment, Outcome
from tarantula.revisit.simulator.simulation_part_web import Web, check_speeds

MOMENTS = 24
"""How often statistics are made."""

Watch = Callable[[Moment], None]
"""Is told how things are, along the way."""


def simulate(
    schedule: Schedule,
    web: Web,
    crawlers: Floats,
    limits: Limits,
    reading: Reading,
    *,
    seed: int = 0,
    moments: int = MOMENTS,
    watch: Watch = lambda moment: None,
    diary: int = 0,
) -> Outcome:
    """Visit documents as crawlers find the time, from the beginning of the horizon to its end, while they change."""
    web.check_changes(limits)
    visited = np.zeros(len(web.pages))
    if reading is Reading.STEADY:
        visited = _the_day_before(made(schedule, web, crawlers, limits), web.pages, limits)
    state = _begin(schedule, web, crawlers, moments, diary, seed)
    event_loop_part_documents.begin(state.documents, visited, state.line, limits.horizon)
    along = []
    for moment in _moments(state, web, crawlers, limits, moments):
        along.append(moment)
        watch(moment)
    return Outcome.of(state, schedule, web, limits, reading, along)


def made(schedule: Schedule, web: Web, crawlers: Floats, limits: Limits) -> Schedule:
    """Return when the visits of a schedule are made by crawlers: phase 3 alone, for nothing changes meanwhile."""
    still = replace(web.pages, rates=np.zeros(len(web.pages)))
    state = _begin(schedule, replace(web, pages=still, laws=all_poisson(len(still))), crawlers, others=1)
    add(state.line, limits.horizon, int(Event.END), 0)
    event_loop.run(state, _speeds(web, crawlers, limits))
    return schedule.at(state.visits.made)


def _begin(
    schedule: Schedule, web: Web, crawlers: Floats, others: int, diary: int = 0, seed: int = 0
) -> event_loop.State:
    """Line up the visits, and let every crawler be free; the line has room for so many *others* beside its changes."""
    if not len(crawlers):
        raise TarantulaError("At least one crawler is needed.")
    check_speeds(crawlers, "crawler")
    servers = len(schedule.starts) - 1
    state = event_loop.State(
        empty(len(web.pages) + len(crawlers) + servers + others),
        queues(schedule),
        event_loop_part_documents.all_of(web.pages.rates, web.laws, streams(len(web.pages), seed)),
        event_loop.Visits(schedule.pages, np.full(len(schedule.times), np.nan), np.full(servers, -np.inf)),
        event_loop.Crew(np.empty(len(crawlers), dtype=np.int64), np.empty(servers + 1)),
        np.zeros(event_loop.COUNTS, dtype=np.int64),
        np.empty((diary, 3)),
    )
    for crawler in range(len(crawlers)):
        add(state.line, 0.0, int(Event.FREE), crawler)
    return state


def _moments(state: event_loop.State, web: Web, crawlers: Floats, limits: Limits, moments: int) -> Iterator[Moment]:
    """Let time pass, and say how things are now and then and at the end."""
    speeds = _speeds(web, crawlers, limits)
    for number in range(1, moments):
        add(state.line, limits.horizon * number / moments, int(Event.STATISTICS), number)
    add(state.line, limits.horizon, int(Event.END), 0)
    kind = Event.STATISTICS
    while kind is not Event.END:
        now, kind = event_loop.run(state, speeds)
        kind = Event(kind)
        yield Moment.of(state, web, now)


def _speeds(web: Web, crawlers: Floats, limits: Limits) -> event_loop.Speeds:
    return event_loop.Speeds(crawlers, web.speeds, web.sizes, limits.politeness, limits.pause, limits.horizon)


def _the_day_before(schedule: Schedule, pages: Pages, limits: Limits) -> Floats:
    """Return when each page was last visited before the horizon, if the one before was like it; nan for never."""
    last = np.full(len(pages), np.nan)
    # A page has all its visits at one server, in their order: the last one stays.
    last[schedule.pages] = schedule.times - limits.horizon
    return last
