"""Which page is visited when: the visits of each server in the order of their times, and how fresh that keeps pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, Reading, mean, of_gap
from tarantula.revisit.pages import Limits, Pages


@dataclass(frozen=True)
class Schedule:
    """Visits, server by server."""

    times: Floats
    pages: Ints
    starts: Ints
    """Where the visits of each server begin, and where those of the last end."""

    def closest(self) -> float:
        """Return how many seconds are between the two nearest visits to one server."""
        gaps = np.diff(self.times)
        borders = self.starts[1:-1] - 1
        gaps[borders[(borders >= 0) & (borders < len(gaps))]] = np.inf
        return float(gaps.min(initial=np.inf))


def freshness_of(schedule: Schedule, pages: Pages, limits: Limits, reading: Reading) -> Floats:
    """Return how fresh each page is when it is visited at exactly these times."""
    fresh: Floats = _freshness(
        schedule.times,
        schedule.pages,
        schedule.starts,
        pages.rates,
        limits.horizon,
        reading is Reading.STEADY,
    )
    return fresh


def staleness_of(schedule: Schedule, pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return how stale all pages are, by their weights."""
    return 1.0 - mean(freshness_of(schedule, pages, limits, reading), pages.weights)


@njit(cache=True, parallel=True)
def _freshness(times, pages, starts, rates, horizon, steady):  # type: ignore[no-untyped-def]
    first = np.full(len(rates), np.nan)
    last = np.full(len(rates), np.nan)
    fresh = np.zeros(len(rates))
    for server in prange(len(starts) - 1):
        for visit in range(starts[server], starts[server + 1]):
            page, time = pages[visit], times[visit]
            if np.isnan(last[page]):
                first[page] = time
                if not steady:
                    fresh[page] += _fresh_in(time, rates[page])
            else:
                gap = time - last[page]
                fresh[page] += _fresh_in(gap, rates[page])
            last[page] = time
    for page in prange(len(rates)):
        if np.isnan(last[page]):
            gap = 0.0 if steady else horizon
        else:
            gap = horizon - last[page] + (first[page] if steady else 0.0)
        fresh[page] = (fresh[page] + _fresh_in(gap, rates[page])) / horizon
    return fresh


@njit(cache=True)
def _fresh_in(gap, rate):  # type: ignore[no-untyped-def]
    """Return for how many seconds of a gap a page is fresh; in no time for none, however often it changes."""
    return gap * of_gap(rate * gap) if gap > 0.0 else 0.0
