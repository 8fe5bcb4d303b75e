"""A bound that knows that visits are apart: no schedule that servers and crawlers can keep is less stale.

Let time have any prices. Each page, left alone, would choose the visits that leave it most when they are paid, and no
schedule can pay more than the dearest times that are far enough apart. So what pages have left, and that sum, are
together more than any schedule is worth. One price for all times gives WP; prices that fall towards the ends, as those
of the market do, say more.

A visit pays two prices: to crawlers, who make one visit after the other, and to its server, which is left alone for P
seconds. A server that could be asked more often than there is time for wants nothing for itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from tarantula.revisit.bounds_part_surplus import most_paid, page_surplus, refine_prices
from tarantula.revisit.model import Floats, Ints, ModelReading, even_freshness_of_pages
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.phases import allocate
from tarantula.revisit.slot_market import find_prices, initial_prices, least_visit_gain
from tarantula.revisit.slot_market_part_lots import FEWEST, divide_into_lots

PRICE_FIRMNESS = np.linspace(0.3, 0.02, 20)
"""Crowds do not matter here, only prices: they are found gently."""
A_LOT, A_LOT_OF_ALL = 16, 128
"""Visits of the pages that the prices of one server are found with, and those of crawlers."""
LEAST_PRICE_SHARE = 1 / 32
"""Of the price without ends: no time is cheaper, for at no price pages would be visited without an end."""


def polite_bound(pages: Pages, limits: VisitLimits, reading: ModelReading) -> float:
    """Return a staleness that no polite schedule is under; in the steady state, where all times are alike, it is WP."""
    visits = allocate.cached_allocation(allocate.allocate_politely, pages, limits, reading)
    fresh = pages.weights * even_freshness_of_pages(visits, pages.changes(limits.horizon), reading)
    most = float(fresh.sum())
    if reading is ModelReading.FRESH and visits.any():
        most = min(most, _most(visits, fresh, pages, limits))
    return 1.0 - most / float(pages.weights.sum())


def _most(visits: Ints, fresh: Floats, pages: Pages, limits: VisitLimits) -> float:
    """Return what any schedule is worth at most, by prices of time."""
    of_server = np.bincount(pages.servers, visits, len(pages.starts) - 1)
    is_full = (of_server >= limits.of_server) & (of_server > 1)
    crew = _crew(visits, is_full, pages, limits)
    if crew is None:
        # One price for all visits. Servers that are not asked as often as they may be have even visits, and pay it.
        price = _price_of_any(visits, pages, limits)
        crew = _Crew(np.full(FEWEST + 1, price), price * int(visits.sum()))
        most = np.bincount(pages.servers, fresh - price * visits, len(of_server))
        chosen = np.flatnonzero(is_full)
    else:
        most = np.where(np.diff(pages.starts) > 0, np.inf, 0.0)
        chosen = np.flatnonzero(np.diff(pages.starts))
    # Of the largest ones first, so that those who share the work have about as much each.
    chosen = chosen[np.argsort(-np.diff(pages.starts)[chosen], kind="stable")]
    chosen = np.concatenate([chosen[::2], chosen[1::2]])
    _lower(
        chosen, is_full, visits, pages.starts, pages.rates, pages.weights,
        limits.horizon, limits.politeness, crew.prices, most,
    )  # fmt: skip
    return float(most.sum()) + crew.paid


class _Crew(NamedTuple):
    """What crawlers ask for."""

    prices: Floats
    """At even times from the beginning to the end, and straight between them."""
    paid: float
    """By all visits together, at most."""


def _crew(visits: Ints, is_full: NDArray[np.bool_], pages: Pages, limits: VisitLimits) -> _Crew | None:
    """Return the prices of crawlers by time; none if they could make one visit more, or have no choice of servers."""
    if visits.sum() < limits.visits or not limits.crawlers or limits.could_be_made >= limits.visits + 1:
        return None
    free = np.flatnonzero(~is_full[pages.servers] & (visits > 0))
    if visits[free].sum() < 2:
        return None
    # Full servers take the same share of all times: of what is left these pages may choose.
    nothing = np.zeros(FEWEST + 1)
    prices = _prices(visits[free], pages.rates[free], pages.weights[free], limits.horizon, nothing, A_LOT_OF_ALL)
    seconds, crawlers = np.unique(limits.crawlers, return_counts=True)
    together = sum(
        number * float(most_paid(prices, limits.horizon, pause))
        for pause, number in zip(seconds, crawlers, strict=True)
    )
    return _Crew(prices, together)


def _price_of_any(visits: Ints, pages: Pages, limits: VisitLimits) -> float:
    """Return what the last visit was worth if there could have been more but for the limit of all together."""
    if visits.sum() < limits.visits:
        return 0.0
    return float(least_visit_gain(pages.changes(limits.horizon), pages.weights, visits))


@njit(cache=True, parallel=True)
def _lower(servers, is_full, visits, starts, rates, weights, horizon, pause, base, most):  # type: ignore[no-untyped-def]
    """Write down what each server's schedule is worth at most, beyond what crawlers are paid, if prices tell."""
    for number in prange(len(servers)):
        server = servers[number]
        first, last = starts[server], starts[server + 1]
        nodes, own = base, 0.0
        if is_full[server]:
            nodes = _prices(visits[first:last], rates[first:last], weights[first:last], horizon, base, A_LOT)
            own = most_paid(nodes - refine_prices(base, (len(nodes) - 1) // (len(base) - 1)), horizon, pause)
        most[server] = min(most[server], page_surplus(nodes, rates[first:last], weights[first:last], horizon) + own)


@njit(cache=True)
def _prices(visits, rates, weights, horizon, base, visits_a_lot):  # type: ignore[no-untyped-def]
    """Return prices such as the market finds them, nowhere below others; at the times of these, or finer ones."""
    count = visits.sum()
    times = (np.arange(count) + 0.5) * (horizon / count)
    points, room, others, _, _ = divide_into_lots(visits, times, rates, weights, horizon)
    dear = least_visit_gain(rates * horizon, weights, visits)
    prices = initial_prices(points, horizon, dear, horizon / (count / max((visits > 0).sum(), 1) + 1))
    find_prices(
        rates[others], weights[others], visits[others], horizon, points, room, prices, PRICE_FIRMNESS, visits_a_lot
    )
    doubled = 1
    while 1.5 * doubled * (len(base) - 1) < len(points):
        doubled *= 2
    floor = refine_prices(base, doubled)
    nodes = np.interp(np.linspace(0.0, horizon, len(floor)), points, prices)
    return np.maximum(nodes, np.maximum(floor, LEAST_PRICE_SHARE * dear))
