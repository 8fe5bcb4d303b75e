"""Which visits are the best: taken one after the other, under the limits of servers and of all.

What a further visit is worth to a page becomes less with each, so no other choice is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.heap import empty_heap, heap_pop, heap_push, heap_replace
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages
from tarantula.revisit.rates.gamma_part_doubt import gamma_fresh_seconds, gamma_fresh_seconds_after, gamma_visit_index

LEAST_GAIN_SHARE = 1e-13
"""Of the horizon; a gain that is less is the rounding of what it is the difference of."""


class AllocatedVisits(NamedTuple):
    """What was chosen."""

    visits: Ints
    """Of each page."""
    prices: Floats
    """What the best visit to each server is worth of those that are not made."""


def allocate_best_visits(believed: UncertainPages, pauses: PerServerLimits, *, for_good: bool) -> AllocatedVisits:
    """Take the best visits by what they are worth within the horizon, or *for good*: if others like it follow."""
    pages = believed.pages
    taken = _take_the_best(
        empty_heap(len(believed)),
        believed.shapes, believed.scales, believed.ages, pages.weights, pages.servers, pauses.budgets,
        pauses.visits, pauses.horizon, for_good,
    )  # fmt: skip
    return AllocatedVisits(*taken)


@njit(cache=True)
def longest_gap(visits, age, horizon):  # type: ignore[no-untyped-def]
    """Return the longest gap at which so many visits come within the horizon; one that is overdue comes at once."""
    if visits * age < age + horizon:
        return (age + horizon) / visits
    return min(age, horizon / (visits - 1))


@njit(cache=True)
def fresh_seconds_with_visits(visits, shape, scale, age, horizon):  # type: ignore[no-untyped-def]
    """Return for how long of the horizon a page is fresh that is visited so often, at the best times."""
    if visits == 0:
        return gamma_fresh_seconds_after(age, horizon, shape, scale)
    even = (age + horizon) / (visits + 1)
    gap = even if even > age else horizon / visits
    first = max(horizon - visits * gap, 0.0)
    return gamma_fresh_seconds_after(age, first, shape, scale) + visits * gamma_fresh_seconds(gap, shape, scale)


@njit(cache=True)
def next_visit_gain(visits, shape, scale, age, horizon, for_good):  # type: ignore[no-untyped-def]
    """Return what one visit more than *visits* is worth to a page."""
    if for_good:
        return gamma_visit_index(longest_gap(visits + 1, age, horizon), shape, scale)
    return fresh_seconds_with_visits(visits + 1, shape, scale, age, horizon) - fresh_seconds_with_visits(
        visits, shape, scale, age, horizon
    )


@njit(cache=True)
def _take_the_best(heap, shapes, scales, ages, weights, servers, budgets, most, horizon, for_good):  # type: ignore[no-untyped-def]
    """Take the visit that is worth most, again and again; the heap has them below zero, for the least is on its top."""
    visits, left, prices = np.zeros(len(shapes), dtype=np.int64), budgets.copy(), np.zeros(len(budgets))
    for page in range(len(shapes)):
        heap_push(
            heap, -weights[page] * next_visit_gain(0, shapes[page], scales[page], ages[page], horizon, for_good), page
        )
    best = 0.0
    while heap.size[0] > 0:
        page, best = heap.numbers[0], -heap.times[0]
        server = servers[page]
        if most == 0 or best <= LEAST_GAIN_SHARE * weights[page] * horizon:
            break
        if left[server] == 0:
            prices[server] = max(prices[server], best)
            heap_pop(heap)
            continue
        most -= 1
        left[server] -= 1
        visits[page] += 1
        further = next_visit_gain(visits[page], shapes[page], scales[page], ages[page], horizon, for_good)
        heap_replace(heap, -weights[page] * further, page)
    # Of a server that was not refused anything yet, no visit is worth more than the best of all that are left.
    return visits, np.where(prices > 0.0, prices, best if heap.size[0] > 0 else 0.0)
