"""Prices of a server's time, and what its pages buy at them.

The slots of a server are taken together in lots. Page after page chooses its best visits at the prices of the lots,
and each visit makes its lot dearer for the next page: none can be crowded for long. After each round the prices take
up what was too much or too little.
"""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit

from tarantula.revisit.model import visit_gain
from tarantula.revisit.slot_market_part_demand import best_visits, fill_powers, has_profitable_visit, work_arrays

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
