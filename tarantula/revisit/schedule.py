"""Schedule: the visits of each server in time order, and the expected freshness of pages under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from tarantula.revisit.changes import Laws, all_poisson, expected_fresh_seconds
from tarantula.revisit.model import Floats, Ints, ModelReading, Pages, VisitLimits, weighted_mean


def run_starts(counts: Ints) -> Ints:
    """Return the start of each run of *counts* elements, then the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def places_in_runs(counts: Ints) -> Ints:
    """Return the index of each element within its run."""
    starts = run_starts(counts)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], counts)


@dataclass(frozen=True)
class Schedule:
    """Visits in time order, server by server."""

    times: Floats
    pages: Ints
    starts: Ints
    """Index of the first visit of each server, then the number of visits."""

    def at(self, times: Floats) -> Schedule:
        """Return the same visits at other times; visits with a time of NaN are dropped."""
        made = ~np.isnan(times)
        before = run_starts(made)
        return Schedule(times[made], self.pages[made], before[self.starts])

    def closest(self) -> float:
        """Return the least seconds between two visits to one server."""
        gaps = np.diff(self.times)
        borders = self.starts[1:-1] - 1
        gaps[borders[(borders >= 0) & (borders < len(gaps))]] = np.inf
        return float(gaps.min(initial=np.inf))


def schedule_freshness(
    schedule: Schedule, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None
) -> Floats:
    """Return the expected freshness of each page under a schedule; by default for Poisson changes."""
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
    """Return the mean staleness of all pages by weight."""
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
