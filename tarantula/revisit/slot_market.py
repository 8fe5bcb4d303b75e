"""Prices of a server's time slots, and the visits each page buys at these prices.

The slots of a server are grouped into lots. Page after page chooses its best visits at the current prices of the lots,
and each visit raises the price of its lot for the next page. After each round the prices absorb the excess or lack of
demand.

The best visits of one page are found by dynamic programming over points of time. After a visit at t the rest depends on
t alone. A page of worth c = w/(λT) whose next visit is at t' is fresh for c(1 − e^(−λ(t' − t))) until then, so
the value of t' seen from t is a straight line in e^(λt), and the best later point is
on the upper hull of these lines. Going
backwards in time, a nearer point that has become better stays better: each point enters and leaves the hull once.
"""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit

from tarantula.revisit.model import visit_gain

RECONSIDERED_PRICE_SHARE = 0.7
"""A page to which no visit is worth this share of its price is skipped in later rounds."""
PRICE_UPDATE_SHARE = 0.002
"""Share of pages after which all prices are updated, in the first round."""
FEWEST_LOTS, MOST_LOTS = 128, 1024
LOTS_PER_VISIT = 12
"""Lots per visit of a page with an average number of visits."""
FREQUENT_PAGE_LOTS = 3
"""A page with more than one visit in so many lots does not choose among them."""


@njit(cache=True)
def work_arrays(points):  # type: ignore[no-untyped-def]
    """Allocate work arrays for *points* points of time: powers, worths, next visits, and the hull."""
    hull = np.empty(points + 1, np.int64), np.empty(points + 1)
    return np.empty(points + 1), np.empty(points), np.empty(points, np.int64), hull


@njit(cache=True)
def fill_powers(rate, step, powers):  # type: ignore[no-untyped-def]
    """Set the probabilities of no change in 0, 1, 2, … steps."""
    factor = exp(-rate * step)
    powers[0] = 1.0
    for steps in range(1, len(powers)):
        powers[steps] = powers[steps - 1] * factor


@njit(cache=True)
def has_profitable_visit(worth, decay, before, after, prices, powers):  # type: ignore[no-untyped-def]
    """Return whether any single visit is worth its price; if none is, no combination of visits is."""
    last = len(prices) - 1
    never = before * powers[last] * after
    for point in range(len(prices)):
        if worth - decay * (before * powers[point] + after * powers[last - point] - never) > prices[point]:
            return True
    return False


@njit(cache=True)
def best_visits(worth, decay, before, after, prices, powers, worths, next_visits, hull):  # type: ignore[no-untyped-def]
    """Return the first of a page's best visits and their surplus; *next_visits* links the other visits.

    A gap is worth *worth* − *decay* times the probability of no change in it. *before* and *after* are these
    probabilities from the start to the first point, and from the last point to the end. The number of points means no
    visit.
    """
    points = len(prices)
    places, values = hull
    head, tail, value = 0, 0, 0.0
    for point in range(points - 1, -1, -1):
        best, next_visit = -decay * after * powers[points - 1 - point], points
        if point + 1 < points:
            # Add the next point to the hull, and remove points that are no longer optimal at any time.
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
                best, next_visit = other, places[head]
        next_visits[point] = next_visit
        value = worth + best - prices[point]
        worths[point] = value
    best, first = -decay * before * powers[points - 1] * after, points
    for point in range(points):
        other = worths[point] - decay * before * powers[point]
        if other > best:
            best, first = other, point
    return first, worth + best


@njit(cache=True)
def least_visit_gain(changes, weights, visits):  # type: ignore[no-untyped-def]
    """Return the gain of the least valuable visit."""
    least = np.inf
    for page in range(len(visits)):
        if visits[page] > 0:
            least = min(least, weights[page] * visit_gain(visits[page] - 1, changes[page], False))
    return least


@njit(cache=True)
def initial_prices(points, horizon, price, gap):  # type: ignore[no-untyped-def]
    """Return one price for all lots, lower near both ends of the horizon, where visits gain less."""
    return price * np.minimum(1.0, np.minimum(points, horizon - points) / (gap / 2))


@njit(cache=True)
def find_prices(rates, weights, expected, horizon, points, capacity, prices, firmness, visits_per_lot):  # type: ignore[no-untyped-def]
    """Let a sample of the pages trade, so large that each lot gets *visits_per_lot* visits; set *prices*.

    Prices hardly depend on the number of pages, and a small sample can trade for many rounds.
    """
    total = expected.sum()
    stride = max(1, int(total / (visits_per_lot * len(points))))
    sample = np.arange(0, len(rates), stride)
    share = expected[sample].sum() / max(total, 1)
    if share > 0.0:
        trade_visits(
            rates[sample], weights[sample], expected[sample], horizon, points, capacity * share, prices, firmness
        )


@njit(cache=True)
def trade_visits(rates, weights, expected, horizon, points, capacity, prices, firmness):  # type: ignore[no-untyped-def]
    """Return the lots that each page buys, and the start of each page's lots; update *prices*.

    *points* are the middles of the lots, *capacity* their sizes, *expected* the expected visits of each page.
    *firmness* is, round by round, the price increase of a lot with twice its visits, as a share of the mean price.
    """
    pages = len(rates)
    starts, bought = np.zeros(pages + 1, np.int64), np.empty(0, np.int64)
    loads, is_active = np.zeros(len(points)), np.ones(pages, np.bool_)
    shares = np.cumsum(expected) / max(expected.sum(), 1)
    level, size = prices.mean(), max(capacity.mean(), 1.0)
    for turn in range(len(firmness)):
        price_step = firmness[turn] * level / size
        due_shares = shares if turn == 0 else np.ones(pages)
        starts, bought = _choose_all(
            rates, weights, horizon, points, capacity, prices, price_step, due_shares, starts, bought, loads, is_active
        )
        for lot in range(len(points)):
            prices[lot] = max(0.0, prices[lot] + price_step * (loads[lot] - capacity[lot]))
    return bought, starts


@njit(cache=True)
def _choose_all(  # type: ignore[no-untyped-def]
    rates, weights, horizon, points, capacity, prices, price_step, due_shares, starts, bought, loads, is_active
):
    """Let each page return its lots and choose again; *due_shares* limit the used capacity after each page."""
    lots = len(points)
    current, share_seen = np.empty(lots), -1.0
    powers, worths, next_visits, hull = work_arrays(lots)
    step = points[1] - points[0] if lots > 1 else horizon
    begins, chosen = np.empty(len(rates) + 1, np.int64), np.empty(2 * int(capacity.sum()) + lots, np.int64)
    count = 0
    for page in range(len(rates)):
        begins[page] = count
        # In the first round, a lot is crowded if it has more than its share of the pages so far.
        if due_shares[page] - share_seen > PRICE_UPDATE_SHARE:
            share_seen = due_shares[page]
            for lot in range(lots):
                current[lot] = _price(lot, prices, price_step, loads, capacity, share_seen)
        for lot in bought[starts[page] : starts[page + 1]]:
            loads[lot] -= 1.0
            current[lot] = _price(lot, prices, price_step, loads, capacity, share_seen)
        if not is_active[page]:
            continue
        rate, worth = rates[page], weights[page] / (rates[page] * horizon)
        before, after = exp(-rate * points[0]), exp(-rate * (horizon - points[-1]))
        fill_powers(rate, step, powers)
        if not has_profitable_visit(worth, worth, before, after, current, powers):
            is_active[page] = has_profitable_visit(
                worth / RECONSIDERED_PRICE_SHARE, worth / RECONSIDERED_PRICE_SHARE, before, after, current, powers
            )
            continue
        lot = best_visits(worth, worth, before, after, current, powers, worths, next_visits, hull)[0]
        while lot < lots and count < len(chosen):
            chosen[count] = lot
            count += 1
            loads[lot] += 1.0
            current[lot] = _price(lot, prices, price_step, loads, capacity, share_seen)
            lot = next_visits[lot]
    begins[-1] = count
    return begins, chosen[:count]


@njit(cache=True)
def _price(lot, prices, price_step, loads, capacity, due_share):  # type: ignore[no-untyped-def]
    """Return the price of one more visit in a lot."""
    return max(0.0, prices[lot] + price_step * (loads[lot] + 0.5 - capacity[lot] * due_share))


@njit(cache=True)
def divide_into_lots(visits, times, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the middles and capacities of the lots, the pages that choose among them, and fixed visits.

    Very frequent pages are visited evenly at any prices: their times, and the page of each.
    """
    count = len(times)
    mean_visits = count / max((visits > 0).sum(), 1)
    size = max(1, int(count / min(max(LOTS_PER_VISIT * mean_visits, FEWEST_LOTS), MOST_LOTS)))
    lots = (count + size - 1) // size
    pause = times[1] - times[0]
    points = times[0] + (np.arange(lots) * size + (size - 1) / 2) * pause
    capacity = np.full(lots, float(size))
    capacity[-1] = count - size * (lots - 1)
    can_gain = (rates > 0) & (rates < np.inf) & (weights > 0)
    is_frequent = visits * FREQUENT_PAGE_LOTS > lots
    frequent_pages = np.flatnonzero(is_frequent)
    fixed_pages = np.repeat(frequent_pages, visits[frequent_pages])
    fixed_times, at = np.empty(len(fixed_pages)), 0
    for page in frequent_pages:
        for visit in range(visits[page]):
            fixed_times[at] = (visit + 1) / (visits[page] + 1) * horizon
            lot = int((fixed_times[at] - times[0]) / (size * pause) + 0.5 / size)
            capacity[min(max(lot, 0), lots - 1)] -= 1.0
            at += 1
    return points, np.maximum(capacity, 0.0), np.flatnonzero(can_gain & ~is_frequent), fixed_times, fixed_pages
