"""A bound that knows that slots are apart: no polite schedule can be less stale.

Let a server's time have any prices. Each page, left alone, would choose the visits that leave it most when they are
paid, and no polite schedule can pay more than the dearest times that are far enough apart. So what pages have left, and
that sum, are together more than any schedule is worth. One price for all times gives WP; prices that fall towards the
ends, as those of the market do, say more.
"""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit, prange

from tarantula.revisit import allocate
from tarantula.revisit.demand import best_visits, desk, is_tempted, prepare
from tarantula.revisit.lots import cut
from tarantula.revisit.market import dearness, first_prices, trade
from tarantula.revisit.model import Ints, Reading, freshness, gain
from tarantula.revisit.pages import Limits, Pages

FIRMNESS = np.full(10, 0.1)
"""Crowds do not matter here, only prices: they are found gently."""
FLOOR = 1 / 32
"""Of the price without ends: no time is cheaper, for at no price pages would be visited without an end."""
EXACT = 0.001
"""What the steps between points of time may add to the worth of a gap, if points are not too many."""
MANY, TOO_MANY = 1 << 11, 1 << 16


def polite_bound(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return a staleness that no polite schedule is under; in the steady state, where all times are alike, it is WP."""
    visits = allocate.phase_1(allocate.polite, pages, limits, reading)
    fresh = pages.weights * freshness(visits, pages.changes(limits.horizon), reading)
    if reading is Reading.FRESH and visits.any():
        fresh_of, of_server = (np.bincount(pages.servers, values, len(pages.starts) - 1) for values in (fresh, visits))
        price = _price_of_any(visits, pages, limits)
        full = np.flatnonzero((of_server >= limits.of_server) & (of_server > 1))
        # Of the largest ones first, so that those who share the work have about as much each.
        full = full[np.argsort(-np.diff(pages.starts)[full], kind="stable")]
        most = fresh_of - price * of_server
        full = np.concatenate([full[::2], full[1::2]])
        _lower(full, visits, pages.starts, pages.rates, pages.weights, limits.horizon, limits.politeness, price, most)
        return 1.0 - min(float(fresh.sum()), float(most.sum()) + price * int(visits.sum())) / float(pages.weights.sum())
    return 1.0 - float(fresh.sum()) / float(pages.weights.sum())


def _price_of_any(visits: Ints, pages: Pages, limits: Limits) -> float:
    """Return what the last visit was worth if there could have been more but for the limit of all together."""
    if visits.sum() < limits.visits:
        return 0.0
    return float(dearness(pages.changes(limits.horizon), pages.weights, visits))


@njit(cache=True, parallel=True)
def _lower(servers, visits, starts, rates, weights, horizon, pause, price, most):  # type: ignore[no-untyped-def]
    """Write down what each server's schedule is worth at most, where prices by time say more than one price does."""
    for number in prange(len(servers)):
        server = servers[number]
        first, last = starts[server], starts[server + 1]
        nodes = _prices(visits[first:last], rates[first:last], weights[first:last], horizon, pause, price)
        remains = left(nodes, rates[first:last], weights[first:last], horizon)
        most[server] = min(most[server], remains + paid(nodes - price, horizon, pause))


@njit(cache=True)
def _prices(visits, rates, weights, horizon, pause, price):  # type: ignore[no-untyped-def]
    """Return prices at even times from the beginning to the end, such as the market finds them."""
    count = visits.sum()
    times = (np.arange(count) + 0.5) * (horizon / count)
    points, room, others, _, _ = cut(visits, times, rates, weights, horizon)
    dear = dearness(rates * horizon, weights, visits)
    prices = first_prices(points, horizon, dear, horizon / (count / max((visits > 0).sum(), 1) + 1))
    trade(rates[others], weights[others], visits[others], horizon, points, room, prices, FIRMNESS)
    nodes = np.interp(np.linspace(0.0, horizon, len(points) + 1), points, prices)
    return np.maximum(nodes, max(price, FLOOR * dear))


@njit(cache=True)
def paid(nodes, horizon, pause):  # type: ignore[no-untyped-def]
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
def left(nodes, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return more than pages have left of their worth when they are visited as they like and pay for it."""
    total, cheapest = 0.0, nodes.min()
    finer = np.empty(len(rates), np.int64)
    for page in range(len(rates)):
        finer[page] = _fineness(rates[page], weights[page], horizon, len(nodes) - 1, cheapest)
        if finer[page] == 0:
            total += weights[page] * (gain(0, rates[page] * horizon, True) if rates[page] < np.inf else 0.0)
        elif finer[page] * (len(nodes) - 1) > TOO_MANY:
            total += weights[page]
    times = 1
    while times * (len(nodes) - 1) <= TOO_MANY:
        chosen = np.flatnonzero(finer == times)
        if len(chosen):
            points = times * (len(nodes) - 1) + 1
            prices = np.interp(np.arange(points) / times, np.arange(len(nodes)) * 1.0, nodes)
            total += _left_at(prices, rates[chosen], weights[chosen], horizon)
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
        if slack * weight / (rate * horizon) <= cheapest and (slack <= EXACT or times * steps >= MANY):
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
    powers, worths, follows, hull = desk(len(prices))
    for page in range(len(rates)):
        worth, rate = weights[page] / (rates[page] * horizon), rates[page]
        decay = worth * max(0.0, 1.0 - _slack(rate * step))
        prepare(rate, step, powers)
        most = worth * (1.0 - exp(-rate * horizon))
        if is_tempted(worth, decay, 1.0, 1.0, prices, powers):
            most = max(most, best_visits(worth, decay, 1.0, 1.0, prices, powers, worths, follows, hull)[1])
        left += most
    return left
