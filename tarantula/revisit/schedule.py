"""Schedule: the visits of each server in time order, and the expected freshness of pages under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from tarantula.revisit.changes import Laws, all_poisson, expected_fresh_seconds
from tarantula.revisit.model import Floats, Ints, ModelReading, weighted_mean
from tarantula.revisit.pages import Pages, VisitLimits


def run_starts(counts: Ints) -> Ints:
    """Return where runs of so many begin, and where the last of them ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def places_in_runs(counts: Ints) -> Ints:
    """Return the number of each element in its run, from 0 on."""
    starts = run_starts(counts)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], counts)


@dataclass(frozen=True)
class Schedule:
    """Visits, server by server."""

    times: Floats
    pages: Ints
    starts: Ints
    """Where the visits of each server begin, and where those of the last end."""

    def at(self, times: Floats) -> Schedule:
        """Return the visits at other times, in the same order; those whose time is nan are not made."""
        made = ~np.isnan(times)
        before = run_starts(made)
        return Schedule(times[made], self.pages[made], before[self.starts])

    def closest(self) -> float:
        """Return how many seconds are between the two nearest visits to one server."""
        gaps = np.diff(self.times)
        borders = self.starts[1:-1] - 1
        gaps[borders[(borders >= 0) & (borders < len(gaps))]] = np.inf
        return float(gaps.min(initial=np.inf))


def schedule_freshness(
    schedule: Schedule, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None
) -> Floats:
    """Return how fresh each page is when it is visited at exactly these times; Poisson's law holds unless told."""
    fresh: Floats = _freshness(
        schedule.times,
        schedule.pages,
        schedule.starts,
        pages.rates,
        all_poisson(len(pages)) if laws is None else laws,
        limits.horizon,
        reading is ModelReading.STEADY,
    )
    return fresh


def schedule_staleness(
    schedule: Schedule, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None
) -> float:
    """Return how stale all pages are, by their weights."""
    return 1.0 - weighted_mean(schedule_freshness(schedule, pages, limits, reading, laws), pages.weights)


@njit(cache=True, parallel=True)
def _freshness(times, pages, starts, rates, laws, horizon, steady):  # type: ignore[no-untyped-def]
    first = np.full(len(rates), np.nan)
    last = np.full(len(rates), np.nan)
    fresh = np.zeros(len(rates))
    for server in prange(len(starts) - 1):
        for visit in range(starts[server], starts[server + 1]):
            page, time = pages[visit], times[visit]
            if np.isnan(last[page]):
                first[page] = time
                if not steady:
                    fresh[page] += expected_fresh_seconds(laws[page], rates[page], time)
            else:
                gap = time - last[page]
                fresh[page] += expected_fresh_seconds(laws[page], rates[page], gap)
            last[page] = time
    for page in prange(len(rates)):
        if np.isnan(last[page]):
            gap = 0.0 if steady else horizon
        else:
            gap = horizon - last[page] + (first[page] if steady else 0.0)
        fresh[page] = (fresh[page] + expected_fresh_seconds(laws[page], rates[page], gap)) / horizon
    return fresh
