"""A policy for pages that were last visited at different times, and whose rates are believed rather than known.

The time since its last visit is the beginning of a page's first gap. x visits in a horizon T are then best at even gaps
of (age + T)/(x + 1) from the last visit on; a page for which the first of them is over already is visited at once, and
evenly from there. What a further visit adds still becomes less with each, so taking the best one again and again, under
the limits of servers and of all, is the best choice; each visit is then made as near to its time as its server allows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tarantula.revisit.heaps import empty, pop, push, replace
from tarantula.revisit.model import Ints
from tarantula.revisit.planning.apart import apart
from tarantula.revisit.planning.believed import Believed, Pauses
from tarantula.revisit.rates.doubt import fresh_after, fresh_seconds
from tarantula.revisit.schedule import Schedule

NOTHING = 1e-13
"""Of the horizon; a gain that is less is the rounding of what it is the difference of."""


def allocate(believed: Believed, pauses: Pauses) -> Ints:
    """Return how often each page is best visited; a visit that adds nothing is not made."""
    pages = believed.pages
    counts: Ints = _take_the_best(
        empty(len(believed)),
        believed.shapes, believed.scales, believed.ages, pages.weights, pages.servers, pauses.budgets,
        pauses.visits, pauses.horizon,
    )  # fmt: skip
    return counts


def aged(believed: Believed, pauses: Pauses) -> Schedule:
    """Return when each page is best visited."""
    return spread(allocate(believed, pauses), believed, pauses)


def spread(visits: Ints, believed: Believed, pauses: Pauses) -> Schedule:
    """Make each visit as near as can be to the time that is best for its page alone, never breaking a pause."""
    takers = np.repeat(np.arange(len(visits)), visits)
    number = np.arange(len(takers)) - np.repeat(np.cumsum(visits) - visits, visits)
    even = (believed.ages + pauses.horizon) / (visits + 1)
    gaps = np.where(even > believed.ages, even, pauses.horizon / np.maximum(visits, 1))[takers]
    times = pauses.horizon - (visits[takers] - number) * gaps
    return apart(times.astype(np.float64), takers, believed, pauses)


@njit(cache=True)
def _worth(visits, shape, scale, age, horizon):  # type: ignore[no-untyped-def]
    """Return for how long of the horizon a page is fresh that is visited so often, at the best times."""
    if visits == 0:
        return fresh_after(age, horizon, shape, scale)
    even = (age + horizon) / (visits + 1)
    gap = even if even > age else horizon / visits
    first = max(horizon - visits * gap, 0.0)
    return fresh_after(age, first, shape, scale) + visits * fresh_seconds(gap, shape, scale)


@njit(cache=True)
def _gain(visits, shape, scale, age, weight, horizon):  # type: ignore[no-untyped-def]
    return weight * (_worth(visits + 1, shape, scale, age, horizon) - _worth(visits, shape, scale, age, horizon))


@njit(cache=True)
def _take_the_best(heap, shapes, scales, ages, weights, servers, budgets, most, horizon):  # type: ignore[no-untyped-def]
    """Take the visit that adds most, again and again; the heap has gains below zero, for the least is on its top."""
    visits, left = np.zeros(len(shapes), dtype=np.int64), budgets.copy()
    for page in range(len(shapes)):
        push(heap, -_gain(0, shapes[page], scales[page], ages[page], weights[page], horizon), page)
    while most > 0 and heap.size[0] > 0:
        page = heap.numbers[0]
        if -heap.times[0] <= NOTHING * weights[page] * horizon:
            break
        if left[servers[page]] == 0:
            pop(heap)
            continue
        most -= 1
        left[servers[page]] -= 1
        visits[page] += 1
        replace(heap, -_gain(visits[page], shapes[page], scales[page], ages[page], weights[page], horizon), page)
    return visits
