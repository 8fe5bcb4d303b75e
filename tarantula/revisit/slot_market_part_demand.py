"""When a page would be visited if each time had a price: its best visits, by dynamic programming over points of time.

After a visit at t the rest depends on t alone. A page of worth c = w/(λT) that is visited next at t' is fresh for
c(1 − e^(−λ(t' − t))) until then, so what t' is worth, seen from t, is a number of its own less a multiple of e^(λt):
a straight line in e^(λt). The best of all later points is the upper hull of such lines. As time runs backwards a
nearer point that has become better stays better, so each point enters the hull once and leaves it once.
"""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit


@njit(cache=True)
def work_arrays(points):  # type: ignore[no-untyped-def]
    """Return room to work in, for so many points of time: powers, worths, which visit follows, and the hull."""
    hull = np.empty(points + 1, np.int64), np.empty(points + 1)
    return np.empty(points + 1), np.empty(points), np.empty(points, np.int64), hull


@njit(cache=True)
def fill_powers(rate, step, powers):  # type: ignore[no-untyped-def]
    """Write down how likely it is that nothing changes in so many steps."""
    factor = exp(-rate * step)
    powers[0] = 1.0
    for steps in range(1, len(powers)):
        powers[steps] = powers[steps - 1] * factor


@njit(cache=True)
def has_profitable_visit(worth, decay, before, after, prices, powers):  # type: ignore[no-untyped-def]
    """Tell whether any visit is worth its price: if none is alone, no more of them are together."""
    last = len(prices) - 1
    never = before * powers[last] * after
    for point in range(len(prices)):
        if worth - decay * (before * powers[point] + after * powers[last - point] - never) > prices[point]:
            return True
    return False


@njit(cache=True)
def best_visits(worth, decay, before, after, prices, powers, worths, follows, hull):  # type: ignore[no-untyped-def]
    """Return the first of a page's best visits, and what they leave it when they are paid; *follows* has the others.

    A gap is worth *worth* − *decay* times the chance that nothing changes in it. *before* and *after* are the chances
    from the beginning to the first point, and from the last to the end. The number of points stands for no visit.
    """
    points = len(prices)
    places, values = hull
    head, tail, value = 0, 0, 0.0
    for point in range(points - 1, -1, -1):
        best, follower = -decay * after * powers[points - 1 - point], points
        if point + 1 < points:
            # The point after this one comes onto the hull, and takes off those that were the best at no time any more.
            while tail - head >= 2:
                near, far = powers[places[tail - 1] - point - 1], powers[places[tail - 2] - point - 1]
                rise, fall = value - values[tail - 1], values[tail - 1] - values[tail - 2]
                if rise * (near - far) < fall * (1.0 - near):
                    break
                tail -= 1
            places[tail], values[tail] = point + 1, value
            tail += 1
            other = values[head] - decay * powers[places[head] - point]
            while tail - head >= 2:
                nearer = values[head + 1] - decay * powers[places[head + 1] - point]
                if nearer < other:
                    break
                other = nearer
                head += 1
            if other > best:
                best, follower = other, places[head]
        follows[point] = follower
        value = worth + best - prices[point]
        worths[point] = value
    best, first = -decay * before * powers[points - 1] * after, points
    for point in range(points):
        other = worths[point] - decay * before * powers[point]
        if other > best:
            best, first = other, point
    return first, worth + best
