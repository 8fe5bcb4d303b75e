"""Phase 2: when each visit is made."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, ModelReading
from tarantula.revisit.pages import TICKS_PER_SECOND, Pages, VisitLimits
from tarantula.revisit.schedule import Schedule, places_in_runs, run_starts

GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Multiples of it, without their whole part, are as far from each other as can be, however many there are."""


def merge_visits(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Spread the visits of each server evenly over the horizon, in the order in which its pages would like them."""
    wishes = even_visits(visits, pages, limits, reading)
    return Schedule(server_slots(np.diff(wishes.starts), limits, reading), wishes.pages, wishes.starts)


def even_visits(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Visit each page at even intervals, whatever else its server is asked for at that time."""
    counts = np.add.reduceat(np.append(visits, 0), pages.starts[:-1]) * (np.diff(pages.starts) > 0)
    starts = run_starts(counts)
    times = np.empty(starts[-1])
    takers = np.empty(starts[-1], dtype=np.int64)
    _wish(visits, pages.starts, starts, limits.horizon, reading is ModelReading.STEADY, times, takers)
    return Schedule(times, takers, starts)


def server_slots(counts: Ints, limits: VisitLimits, reading: ModelReading) -> Floats:
    """Return as many even times for each server; in the steady state the gap from the last to the first is one more."""
    return even_times(counts, limits.horizon, np.full(len(counts), limits.pause), steady=reading is ModelReading.STEADY)


def even_times(counts: Ints, horizon: float, pauses: Floats, *, steady: bool = False) -> Floats:
    """Return as many even times for each server, never nearer to each other than its pause, in whole ticks.

    As many visits as just fit into the horizon leave no room before the first: then they begin where the server's
    turn is, for servers that are all asked at the same moments would have to wait for each other.
    """
    # What is never visited may have a pause without an end.
    pauses = np.minimum(pauses, horizon)
    gaps = horizon / (counts + 1.0)
    full = np.full(len(counts), steady) | (gaps < pauses)
    spacing = np.maximum(_tick(np.where(full, horizon / np.maximum(counts, 1), gaps)), pauses)
    # What is left of the horizon when the visits are as near to each other as that.
    room = np.maximum(horizon - spacing * np.maximum(counts - 1, 0), 0.0)
    first = _tick(np.where(full, np.minimum(server_offsets(len(counts)) * spacing, room), gaps))
    times: Floats = np.repeat(first, counts) + places_in_runs(counts) * np.repeat(spacing, counts)
    return times


def server_offsets(servers: int) -> Floats:
    """Return for each server a share of its pause that is far from those of others."""
    return (np.arange(servers) * GOLDEN_RATIO % 1.0).astype(np.float64)


def _tick(seconds: Floats) -> Floats:
    """Round down to times that add up without an error: politeness is kept to the last bit."""
    return np.floor(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND


@njit(cache=True, parallel=True)
def _wish(visits, pages, starts, horizon, steady, times, takers):  # type: ignore[no-untyped-def]
    for server in prange(len(starts) - 1):
        begin, end = starts[server], starts[server + 1]
        at = begin
        for page in range(pages[server], pages[server + 1]):
            for number in range(visits[page]):
                share = (number + 0.5) / visits[page] if steady else (number + 1.0) / (visits[page] + 1.0)
                times[at] = share * horizon
                takers[at] = page
                at += 1
        # Pages are in their order already, and stay so where they wish for the same time.
        order = np.argsort(times[begin:end], kind="mergesort")
        times[begin:end] = times[begin:end][order]
        takers[begin:end] = takers[begin:end][order]
