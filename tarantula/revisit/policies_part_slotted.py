"""A better phase 2: page and slot are chosen together.

MERGE gives slots to visits in the order of the times that pages would like, and all pages that are visited once would
like the middle. Here the slots are the same, but their time has prices (see market.py): a page that can do without
the middle leaves it to others, and one to which only the middle is worth a visit is not visited at the ends.

In the steady state one time is as good as another. There it is enough that pages begin at different times.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, Reading, freshness
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.phases import allocate
from tarantula.revisit.phases.merge import GOLDEN, merge
from tarantula.revisit.policies_part_seats import fit, polish
from tarantula.revisit.schedule import Schedule, freshness_of
from tarantula.revisit.slot_market import dearness, find_prices, first_prices, trade
from tarantula.revisit.slot_market_part_lots import cut

FINDING = np.linspace(0.3, 0.05, 10)
"""How dear a crowd is, round by round, while some pages find the prices."""
A_LOT = 4
"""Visits of these pages."""
FIRMNESS = np.array([0.3, 1.0])
"""How dear a crowd is when all pages choose: it has to go."""
EFFORT = {Reading.FRESH: 0.97, Reading.STEADY: 1.0}
"""Of what MERGE loses: bargaining takes its time, and servers that lose the rest, little each, are left as they are."""


def slotted(pages: Pages, limits: Limits, reading: Reading) -> Schedule:
    """Choose pages and slots together; a server for which MERGE does better is left to it."""
    visits = allocate.phase_1(allocate.polite, pages, limits, reading)
    merged = merge(visits, pages, limits, reading)
    fresh = _of_servers(freshness_of(merged, pages, limits, reading), pages)
    best = _of_servers(freshness(visits, pages.changes(limits.horizon), reading), pages)
    worst = _where_most_is_lost(best - fresh, EFFORT[reading])
    takers = merged.pages.copy()
    choose = _spread if reading is Reading.STEADY else _bargain
    choose(worst, visits, merged.times, merged.starts, pages.starts, pages.rates, pages.weights, limits.horizon, takers)
    chosen = Schedule(merged.times, takers, merged.starts)
    is_better = _of_servers(freshness_of(chosen, pages, limits, reading), pages) > fresh
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
    points, room, others, wishes, owners = cut(visits, times, rates, weights, horizon)
    gap = horizon / (len(times) / max((visits > 0).sum(), 1) + 1)
    prices = first_prices(points, horizon, dearness(rates * horizon, weights, visits), gap)
    find_prices(rates[others], weights[others], visits[others], horizon, points, room, prices, FINDING, A_LOT)
    bought, begins = trade(rates[others], weights[others], visits[others], horizon, points, room, prices, FIRMNESS)
    # Within a lot one time is as good as another: pages are spread over it.
    step = points[1] - points[0] if len(points) > 1 else 0.0
    buyers = np.repeat(np.arange(len(others)), np.diff(begins))
    times_of = points[bought] + (buyers * GOLDEN % 1.0 - 0.5) * step
    times_of, buyers = fit(times_of, buyers, rates[others], weights[others], horizon, len(times) - len(wishes))
    order = np.argsort(np.concatenate((wishes, times_of)), kind="mergesort")
    takers = np.concatenate((owners, others[buyers]))[order]
    polish(takers, times, rates, weights, horizon, False)
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
                wishes[at] = (visit + place * GOLDEN % 1.0) / counts[place]
                at += 1
        taken = owners[np.argsort(wishes, kind="mergesort")]
        polish(taken, times[begin:end], rates[first:last], weights[first:last], horizon, True)
        takers[begin:end] = first + taken
