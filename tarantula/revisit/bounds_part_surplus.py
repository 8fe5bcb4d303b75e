"""What visits can pay at prices of time, and what pages have left of their worth when they pay."""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit

from tarantula.revisit.model import visit_gain
from tarantula.revisit.slot_market_part_demand import best_visits, fill_powers, has_profitable_visit, work_arrays

GAP_TOLERANCE = 0.001
"""What the steps between points of time may add to the worth of a gap, if points are not too many."""
MANY, TOO_MANY = 1 << 11, 1 << 16


@njit(cache=True)
def refine_prices(nodes, times):  # type: ignore[no-untyped-def]
    """Return prices that are straight between nodes at so many times as many points."""
    points = times * (len(nodes) - 1) + 1
    return np.interp(np.arange(points) / times, np.arange(len(nodes)) * 1.0, nodes)


@njit(cache=True)
def most_paid(nodes, horizon, pause):  # type: ignore[no-untyped-def]
    """Return more than visits that are a pause apart can pay at prices that are straight between the nodes.

    A visit pays the mean of the prices half a pause before and after it, but for bends within: where the slope falls
    by d it may be dearer than that mean, by d/8 times the pause at most. What lies around visits does not overlap.
    """
    step = horizon / (len(nodes) - 1)
    area = step * (nodes.sum() - (nodes[0] + nodes[-1]) / 2) + pause / 2 * (nodes[0] + nodes[-1])
    bends, slope = 0.0, 0.0
    for node in range(1, len(nodes)):
        following = (nodes[node] - nodes[node - 1]) / step
        bends += max(0.0, slope - following)
        slope = following
    return area / pause + (bends + max(0.0, slope)) * pause / 8


@njit(cache=True)
def page_surplus(nodes, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return more than pages have left of their worth when they are visited as they like and pay for it."""
    total, cheapest = 0.0, nodes.min()
    fineness = np.empty(len(rates), np.int64)
    for page in range(len(rates)):
        fineness[page] = _fineness(rates[page], weights[page], horizon, len(nodes) - 1, cheapest)
        if fineness[page] == 0:
            total += weights[page] * (visit_gain(0, rates[page] * horizon, True) if rates[page] < np.inf else 0.0)
        elif fineness[page] * (len(nodes) - 1) > TOO_MANY:
            total += weights[page]
    times = 1
    while times * (len(nodes) - 1) <= TOO_MANY:
        chosen = np.flatnonzero(fineness == times)
        if len(chosen):
            total += _left_at(refine_prices(nodes, times), rates[chosen], weights[chosen], horizon)
        times *= 2
    return total


@njit(cache=True)
def _fineness(rate, weight, horizon, steps, cheapest):  # type: ignore[no-untyped-def]
    """Return how many times finer than the nodes a page's points are; none if no visit can be worth anything to it."""
    if not 0.0 < rate < np.inf or weight / (rate * horizon) <= cheapest:
        return 0
    times = 1
    while times * steps <= TOO_MANY:
        slack = _slack(rate * horizon / (times * steps))
        if slack * weight / (rate * horizon) <= cheapest and (slack <= GAP_TOLERANCE or times * steps >= MANY):
            break
        times *= 2
    return times


@njit(cache=True)
def _slack(changes):  # type: ignore[no-untyped-def]
    """Return what a gap may be worth more if its ends need not be on points that so many changes are between."""
    return changes**2 / 2 * exp(changes) if changes < 2.0 else np.inf


@njit(cache=True)
def _left_at(prices, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return more than these pages have left, if visits may be at any time, from what they have with visits on points.

    Freshness is concave in the times of visits, prices are straight between points, and the best visits, if they are
    not on a point, feel no slope. So moving each to the nearest point costs no more than half the bend of each gap.
    Two that come to the same point are one: the price is above what the bend of no gap at all adds.
    """
    left, step = 0.0, horizon / (len(prices) - 1)
    powers, worths, follows, hull = work_arrays(len(prices))
    for page in range(len(rates)):
        worth, rate = weights[page] / (rates[page] * horizon), rates[page]
        decay = worth * max(0.0, 1.0 - _slack(rate * step))
        fill_powers(rate, step, powers)
        most = worth * (1.0 - exp(-rate * horizon))
        if has_profitable_visit(worth, decay, 1.0, 1.0, prices, powers):
            most = max(most, best_visits(worth, decay, 1.0, 1.0, prices, powers, worths, follows, hull)[1])
        left += most
    return left
