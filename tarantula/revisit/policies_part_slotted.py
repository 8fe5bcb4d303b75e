"""A better phase 2: page and slot are chosen together.

MERGE gives slots to visits in the order of the times that pages would like, and all pages that are visited once would
like the middle. Here the slots are the same, but their time has prices (see market.py): a page that can do without
the middle leaves it to others, and one to which only the middle is worth a visit is not visited at the ends.

In the steady state one time is as good as another. There it is enough that pages begin at different times.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, ModelReading, even_freshness_of_pages
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.phases import allocate
from tarantula.revisit.phases.merge import GOLDEN_RATIO, merge_visits
from tarantula.revisit.policies_part_seats import fit_to_count, swap_neighbours
from tarantula.revisit.schedule import Schedule, schedule_freshness
from tarantula.revisit.slot_market import find_prices, initial_prices, least_visit_gain, trade_visits
from tarantula.revisit.slot_market_part_lots import divide_into_lots

SAMPLE_FIRMNESS = np.linspace(0.3, 0.05, 10)
"""How dear a crowd is, round by round, while some pages find the prices."""
SAMPLE_VISITS_PER_LOT = 4
"""Visits of these pages."""
TRADE_FIRMNESS = np.array([0.3, 1.0])
"""How dear a crowd is when all pages choose: it has to go."""
IMPROVED_LOSS_SHARE = {ModelReading.FRESH: 0.97, ModelReading.STEADY: 1.0}
"""Of what MERGE loses: bargaining takes its time, and servers that lose the rest, little each, are left as they are."""


def slotted(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Choose pages and slots together; a server for which MERGE does better is left to it."""
    visits = allocate.cached_allocation(allocate.allocate_politely, pages, limits, reading)
    merged = merge_visits(visits, pages, limits, reading)
    fresh = _of_servers(schedule_freshness(merged, pages, limits, reading), pages)
    best = _of_servers(even_freshness_of_pages(visits, pages.changes(limits.horizon), reading), pages)
    worst = _where_most_is_lost(best - fresh, IMPROVED_LOSS_SHARE[reading])
    takers = merged.pages.copy()
    choose = _spread if reading is ModelReading.STEADY else _bargain
    choose(worst, visits, merged.times, merged.starts, pages.starts, pages.rates, pages.weights, limits.horizon, takers)
    chosen = Schedule(merged.times, takers, merged.starts)
    is_better = _of_servers(schedule_freshness(chosen, pages, limits, reading), pages) > fresh
    return Schedule(
        merged.times, np.where(np.repeat(is_better, np.diff(merged.starts)), takers, merged.pages), merged.starts
    )


def _of_servers(fresh: Floats, pages: Pages) -> Floats:
    sums: Floats = np.bincount(pages.servers, fresh * pages.weights, minlength=len(pages.starts) - 1).astype(np.float64)
    return sums


def _where_most_is_lost(losses: Floats, effort: float) -> Ints:
    """Return the servers where most is lost, so that those who share the work have about as much each."""
    order = np.argsort(-losses, kind="stable")
    lost = np.cumsum(losses[order])
    worst = order[: np.searchsorted(lost, effort * lost[-1]) + 1] if len(order) else order
    return np.concatenate([worst[::2], worst[1::2]])


@njit(cache=True, parallel=True)
def _bargain(servers, visits, times, starts, pages, rates, weights, horizon, takers):  # type: ignore[no-untyped-def]
    for number in prange(len(servers)):
        server = servers[number]
        begin, end, first, last = starts[server], starts[server + 1], pages[server], pages[server + 1]
        if end - begin > 1:
            takers[begin:end] = first + _bargained(
                visits[first:last], times[begin:end], rates[first:last], weights[first:last], horizon
            )


@njit(cache=True)
def _bargained(visits, times, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the page in each slot of a server."""
    points, room, others, wishes, owners = divide_into_lots(visits, times, rates, weights, horizon)
    gap = horizon / (len(times) / max((visits > 0).sum(), 1) + 1)
    prices = initial_prices(points, horizon, least_visit_gain(rates * horizon, weights, visits), gap)
    find_prices(
        rates[others],
        weights[others],
        visits[others],
        horizon,
        points,
        room,
        prices,
        SAMPLE_FIRMNESS,
        SAMPLE_VISITS_PER_LOT,
    )
    bought, begins = trade_visits(
        rates[others], weights[others], visits[others], horizon, points, room, prices, TRADE_FIRMNESS
    )
    # Within a lot one time is as good as another: pages are spread over it.
    step = points[1] - points[0] if len(points) > 1 else 0.0
    buyers = np.repeat(np.arange(len(others)), np.diff(begins))
    times_of = points[bought] + (buyers * GOLDEN_RATIO % 1.0 - 0.5) * step
    times_of, buyers = fit_to_count(times_of, buyers, rates[others], weights[others], horizon, len(times) - len(wishes))
    order = np.argsort(np.concatenate((wishes, times_of)), kind="mergesort")
    takers = np.concatenate((owners, others[buyers]))[order]
    swap_neighbours(takers, times, rates, weights, horizon, False)
    return takers


@njit(cache=True, parallel=True)
def _spread(servers, visits, times, starts, pages, rates, weights, horizon, takers):  # type: ignore[no-untyped-def]
    """Begin with each page elsewhere between two of its visits, and so with pages that are visited as often."""
    for number in prange(len(servers)):
        server = servers[number]
        begin, end, first, last = starts[server], starts[server + 1], pages[server], pages[server + 1]
        order = np.argsort(visits[first:last], kind="mergesort")
        counts = visits[first:last][order]
        wishes, owners, at = np.empty(end - begin), np.repeat(order, counts), 0
        for place in range(len(counts)):
            for visit in range(counts[place]):
                wishes[at] = (visit + place * GOLDEN_RATIO % 1.0) / counts[place]
                at += 1
        taken = owners[np.argsort(wishes, kind="mergesort")]
        swap_neighbours(taken, times[begin:end], rates[first:last], weights[first:last], horizon, True)
        takers[begin:end] = first + taken
