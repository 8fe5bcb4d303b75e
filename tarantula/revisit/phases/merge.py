"""Phase 2: the time of each visit."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, ModelReading
from tarantula.revisit.pages import TICKS_PER_SECOND, Pages, VisitLimits
from tarantula.revisit.schedule import Schedule, places_in_runs, run_starts

GOLDEN_RATIO = (5**0.5 - 1) / 2
"""The fractional parts of its multiples are spread as evenly as possible, for any number of them."""


def merge_visits(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Spread the visits of each server evenly over the horizon, in the order of their pages' preferred times."""
    preferred = even_visits(visits, pages, limits, reading)
    return Schedule(server_slots(np.diff(preferred.starts), limits, reading), preferred.pages, preferred.starts)


def even_visits(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Visit each page at even intervals, ignoring other visits to its server."""
    counts = np.add.reduceat(np.append(visits, 0), pages.starts[:-1]) * (np.diff(pages.starts) > 0)
    starts = run_starts(counts)
    times = np.empty(starts[-1])
    visit_pages = np.empty(starts[-1], dtype=np.int64)
    _fill_even_times(visits, pages.starts, starts, limits.horizon, reading is ModelReading.STEADY, times, visit_pages)
    return Schedule(times, visit_pages, starts)


def server_slots(counts: Ints, limits: VisitLimits, reading: ModelReading) -> Floats:
    """Return even times for the visits of each server; in the steady state the gap from last to first counts too."""
    return even_times(counts, limits.horizon, np.full(len(counts), limits.pause), steady=reading is ModelReading.STEADY)


def even_times(counts: Ints, horizon: float, pauses: Floats, *, steady: bool = False) -> Floats:
    """Return even times for the visits of each server, at least its pause apart, in whole ticks.

    If the visits just fit into the horizon, there is no room before the first. They then start at an offset of the
    server, since servers with the same times would wait for each other.
    """
    # Servers without visits may have an infinite pause.
    pauses = np.minimum(pauses, horizon)
    gaps = horizon / (counts + 1.0)
    full = np.full(len(counts), steady) | (gaps < pauses)
    spacing = np.maximum(_tick(np.where(full, horizon / np.maximum(counts, 1), gaps)), pauses)
    # The rest of the horizon at this spacing.
    room = np.maximum(horizon - spacing * np.maximum(counts - 1, 0), 0.0)
    first = _tick(np.where(full, np.minimum(server_offsets(len(counts)) * spacing, room), gaps))
    times: Floats = np.repeat(first, counts) + places_in_runs(counts) * np.repeat(spacing, counts)
    return times


def server_offsets(servers: int) -> Floats:
    """Return an offset for each server, as a share of its pause, far from those of other servers."""
    return (np.arange(servers) * GOLDEN_RATIO % 1.0).astype(np.float64)


def _tick(seconds: Floats) -> Floats:
    """Round times down to whole ticks, which add up without rounding, so that politeness holds exactly."""
    return np.floor(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND


@njit(cache=True, parallel=True)
def _fill_even_times(visits, pages, starts, horizon, steady, times, visit_pages):  # type: ignore[no-untyped-def]
    for server in prange(len(starts) - 1):
        begin, end = starts[server], starts[server + 1]
        at = begin
        for page in range(pages[server], pages[server + 1]):
            for number in range(visits[page]):
                share = (number + 0.5) / visits[page] if steady else (number + 1.0) / (visits[page] + 1.0)
                times[at] = share * horizon
                visit_pages[at] = page
                at += 1
        # Stable, so that pages with equal preferred times keep their order.
        order = np.argsort(times[begin:end], kind="mergesort")
        times[begin:end] = times[begin:end][order]
        visit_pages[begin:end] = visit_pages[begin:end][order]
