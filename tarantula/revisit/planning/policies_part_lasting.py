"""A policy for a horizon that others follow: what a visit buys after the end counts too.

A plan for one day alone has little use for a page that changes once in ten: hardly anything of a visit pays off before
the evening. If every day is planned so, nobody visits it. Here a page is due when its index reaches a price, whenever
that is; and the price is the one at which as many visits are due as can be made. With known rates, and for ever, that
is the best there is (see optimum.py).

The visits of a server are made at even times, in the order in which they are due.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats
from tarantula.revisit.phases.merge import even_times
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages
from tarantula.revisit.planning.uncertain_pages_part_greedy import allocate_best_visits, longest_gap
from tarantula.revisit.rates.gamma_part_doubt import gamma_visit_index
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.schedule_part_runs import places_in_runs, run_starts

GAP_BISECTION_STEPS = 30
"""Of the bisection of a gap."""


def lasting(believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Return when each page is best visited, in a horizon of many."""
    pages, (visits, prices) = believed.pages, allocate_best_visits(believed, pauses, for_good=True)
    gaps: Floats = _gaps(
        visits, prices[pages.servers], believed.shapes, believed.scales, believed.ages, pages.weights, pauses.horizon
    )
    takers = np.repeat(np.arange(len(visits)), visits)
    number = places_in_runs(visits)
    # What is overdue comes before all that is not, the longest overdue first; what follows it is counted from now.
    first = (gaps - believed.ages)[takers]
    due = np.where(number > 0, np.maximum(first, 0.0), first) + number * gaps[takers]
    order = np.lexsort((due, pages.servers[takers]))
    counts = np.bincount(pages.servers[takers], minlength=len(pages.starts) - 1)
    return Schedule(even_times(counts, pauses.horizon, pauses.ticks, steady=True), takers[order], run_starts(counts))


@njit(cache=True)
def _gaps(visits, prices, shapes, scales, ages, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the gap after which each page is due that is visited: when its index is what its server's time costs."""
    gaps = np.zeros(len(visits))
    for page in np.flatnonzero(visits):
        low, high = longest_gap(visits[page] + 1, ages[page], horizon), longest_gap(visits[page], ages[page], horizon)
        for _ in range(GAP_BISECTION_STEPS):
            middle = (low + high) / 2
            if weights[page] * gamma_visit_index(middle, shapes[page], scales[page]) < prices[page]:
                low = middle
            else:
                high = middle
        gaps[page] = high
    return gaps
