"""Reference simulator: slow and simple, to check the fast one."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, inf

import numpy as np

from tarantula.revisit.changes import first_change, generator_states, next_change
from tarantula.revisit.model import TICKS_PER_SECOND, Floats, VisitLimits
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.simulator.simulation import SimulatedWeb


def made(schedule: Schedule, web: SimulatedWeb, crawlers: Floats, limits: VisitLimits) -> list[float]:
    """Check every server whenever a crawler is free; return the time of each visit, nan if it is never made."""
    due = np.ceil(schedule.times * TICKS_PER_SECOND) / TICKS_PER_SECOND
    done = np.full(len(due), np.nan)
    servers = range(len(schedule.starts) - 1)
    turn, rested = [int(start) for start in schedule.starts[:-1]], [0.0 for _ in servers]
    busy = dict.fromkeys(range(len(crawlers)), 0.0)
    free: list[int] = []

    def soonest(server: int) -> float:
        waits = turn[server] < schedule.starts[server + 1]
        return max(due[turn[server]], rested[server]) if waits else inf

    while True:
        next_due = min(map(soonest, servers), default=inf) if free else inf
        next_free, crawler = min(((time, one) for one, time in busy.items()), default=(inf, -1))
        now = min(next_due, next_free)
        if now > limits.horizon:
            return done.tolist()
        if next_free <= next_due:
            del busy[crawler]
            free.append(crawler)
        while free and (ready := [server for server in servers if soonest(server) <= now]):
            server = min(ready, key=lambda one: (due[turn[one]], one))
            visit = turn[server]
            crawler = free.pop()
            seconds = web.sizes[schedule.pages[visit]] / min(crawlers[crawler], web.speeds[server])
            done[visit] = now
            busy[crawler] = now + ceil(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND
            rested[server] = max(now + limits.pause, busy[crawler])
            turn[server] += 1


def staleness(visits: Schedule, web: SimulatedWeb, limits: VisitLimits, seed: int) -> float:
    """Return the staleness of documents that start fresh, summed between visits and changes."""
    draws = generator_states(len(web.pages), seed)
    stale = 0.0
    for document, (rate, law) in enumerate(zip(web.pages.rates.tolist(), web.laws.tolist(), strict=True)):
        changes, time = [], first_change(law, rate, draws, document) if rate < inf else inf
        while time <= limits.horizon:
            changes.append(time)
            time += next_change(law, rate, draws, document)
        times = [0.0, *visits.times[visits.pages == document], limits.horizon]
        for since, until in pairwise(times):
            changed = min((change for change in changes if change > since), default=inf) if rate < inf else since
            stale += web.pages.weights[document] * max(until - changed, 0.0)
    return stale / limits.horizon / float(web.pages.weights.sum())
