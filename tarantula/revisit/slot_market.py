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


RECONSIDERED_PRICE_SHARE = 0.7
"""A page to which no visit is worth that share of its price in one round is not asked again in the next ones."""
PRICE_UPDATE_SHARE = 0.002
"""Of the pages: so often, in the first round, all prices are brought up to how many pages have been asked."""


@njit(cache=True)
def least_visit_gain(changes, weights, visits):  # type: ignore[no-untyped-def]
    """Return what the visit is worth that is worth least of those that are made."""
    least = np.inf
    for page in range(len(visits)):
        if visits[page] > 0:
            least = min(least, weights[page] * visit_gain(visits[page] - 1, changes[page], False))
    return least


@njit(cache=True)
def initial_prices(points, horizon, price, gap):  # type: ignore[no-untyped-def]
    """Return one price for all lots, but less where pages are still fresh, or it soon will no longer matter."""
    return price * np.minimum(1.0, np.minimum(points, horizon - points) / (gap / 2))


@njit(cache=True)
def find_prices(rates, weights, expected, horizon, points, room, prices, firmness, visits_a_lot):  # type: ignore[no-untyped-def]
    """Let some of the pages trade: as many as are expected to want so many visits in each lot; *prices* become theirs.

    Prices hardly depend on how many pages there are, and a few of them can bargain for long.
    """
    wanted = expected.sum()
    apart = max(1, int(wanted / (visits_a_lot * len(points))))
    some = np.arange(0, len(rates), apart)
    share = expected[some].sum() / max(wanted, 1)
    if share > 0.0:
        trade_visits(rates[some], weights[some], expected[some], horizon, points, room * share, prices, firmness)


@njit(cache=True)
def trade_visits(rates, weights, expected, horizon, points, room, prices, firmness):  # type: ignore[no-untyped-def]
    """Return which lots each page buys, page after page, and where those of each begin; *prices* become the last ones.

    *points* are the middles of the lots, *room* how many visits each has, *expected* how many each page is supposed
    to want. *firmness* tells, round by round, by how much of the mean price a lot with twice the visits is dearer.
    """
    pages = len(rates)
    starts, bought = np.zeros(pages + 1, np.int64), np.empty(0, np.int64)
    load, asked = np.zeros(len(points)), np.ones(pages, np.bool_)
    shares = np.cumsum(expected) / max(expected.sum(), 1)
    level, size = prices.mean(), max(room.mean(), 1.0)
    for turn in range(len(firmness)):
        push = firmness[turn] * level / size
        due = shares if turn == 0 else np.ones(pages)
        starts, bought = _ask_all(rates, weights, horizon, points, room, prices, push, due, starts, bought, load, asked)
        for lot in range(len(points)):
            prices[lot] = max(0.0, prices[lot] + push * (load[lot] - room[lot]))
    return bought, starts


@njit(cache=True)
def _ask_all(rates, weights, horizon, points, room, prices, push, due, starts, bought, load, asked):  # type: ignore[no-untyped-def]
    """Let each page give back what it bought and choose anew; *due* is the share of the room that may be taken then."""
    lots = len(points)
    now, seen = np.empty(lots), -1.0
    powers, worths, follows, hull = work_arrays(lots)
    step = points[1] - points[0] if lots > 1 else horizon
    begins, chosen = np.empty(len(rates) + 1, np.int64), np.empty(2 * int(room.sum()) + lots, np.int64)
    count = 0
    for page in range(len(rates)):
        begins[page] = count
        # At first nobody has bought: a lot is crowded if it has more than its share of the pages so far.
        if due[page] - seen > PRICE_UPDATE_SHARE:
            seen = due[page]
            for lot in range(lots):
                now[lot] = _price(lot, prices, push, load, room, seen)
        for lot in bought[starts[page] : starts[page + 1]]:
            load[lot] -= 1.0
            now[lot] = _price(lot, prices, push, load, room, seen)
        if not asked[page]:
            continue
        rate, worth = rates[page], weights[page] / (rates[page] * horizon)
        before, after = exp(-rate * points[0]), exp(-rate * (horizon - points[-1]))
        fill_powers(rate, step, powers)
        if not has_profitable_visit(worth, worth, before, after, now, powers):
            asked[page] = has_profitable_visit(
                worth / RECONSIDERED_PRICE_SHARE, worth / RECONSIDERED_PRICE_SHARE, before, after, now, powers
            )
            continue
        lot = best_visits(worth, worth, before, after, now, powers, worths, follows, hull)[0]
        while lot < lots and count < len(chosen):
            chosen[count] = lot
            count += 1
            load[lot] += 1.0
            now[lot] = _price(lot, prices, push, load, room, seen)
            lot = follows[lot]
    begins[-1] = count
    return begins, chosen[:count]


@njit(cache=True)
def _price(lot, prices, push, load, room, due):  # type: ignore[no-untyped-def]
    """Return what one visit more costs in a lot."""
    return max(0.0, prices[lot] + push * (load[lot] + 0.5 - room[lot] * due))


FEWEST, MOST = 128, 1024
LOTS_PER_VISIT = 12
"""Lots for each visit of a page that is visited as often as most are."""
FREQUENT_PAGE_LOTS = 3
"""A page with more than one visit in so many lots is too often there to choose among them."""


@njit(cache=True)
def divide_into_lots(visits, times, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the middles of the lots, their room, the pages that choose among them, and what is not left to choice.

    Pages that are visited very often come at even intervals whatever the prices: their wishes, and whose they are.
    """
    count = len(times)
    usual = count / max((visits > 0).sum(), 1)
    size = max(1, int(count / min(max(LOTS_PER_VISIT * usual, FEWEST), MOST)))
    lots = (count + size - 1) // size
    pause = times[1] - times[0]
    points = times[0] + (np.arange(lots) * size + (size - 1) / 2) * pause
    room = np.full(lots, float(size))
    room[-1] = count - size * (lots - 1)
    is_worth = (rates > 0) & (rates < np.inf) & (weights > 0)
    is_often = visits * FREQUENT_PAGE_LOTS > lots
    regulars = np.flatnonzero(is_often)
    owners = np.repeat(regulars, visits[regulars])
    wishes, at = np.empty(len(owners)), 0
    for page in regulars:
        for visit in range(visits[page]):
            wishes[at] = (visit + 1) / (visits[page] + 1) * horizon
            lot = int((wishes[at] - times[0]) / (size * pause) + 0.5 / size)
            room[min(max(lot, 0), lots - 1)] -= 1.0
            at += 1
    return points, np.maximum(room, 0.0), np.flatnonzero(is_worth & ~is_often), wishes, owners
