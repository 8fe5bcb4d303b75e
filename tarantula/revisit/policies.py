"""Revisit policies for known rates: PSP, MP2 and m-Wolf of 2007, and the slotted policy.

A policy decides which page is visited when. What happens when crawlers are late is phase 3, the same for all.

The slotted policy improves phase 2 by choosing page and slot together. MERGE assigns slots in the order of the times
that pages prefer, and all pages with one visit prefer the middle. Here the slots are the same, but they have prices
(see `tarantula.revisit.slot_market`): a page that loses little elsewhere leaves the middle to others. In the steady
state all times are equal, and it is enough that pages start at different times.
"""

from __future__ import annotations

from math import exp
from typing import Protocol

import numpy as np
from numba import njit, prange

from tarantula.revisit import phases
from tarantula.revisit.model import Floats, Ints, ModelReading, Pages, VisitLimits, even_freshness_of_pages
from tarantula.revisit.phases import GOLDEN_RATIO, even_visits, merge_visits
from tarantula.revisit.schedule import Schedule, schedule_freshness
from tarantula.revisit.slot_market import divide_into_lots, find_prices, initial_prices, least_visit_gain, trade_visits

SWAP_DISTANCES = np.array([1, 2, 3, 5, 8, 1])
"""Distances between visits that may swap slots, one round after the other."""

SAMPLE_FIRMNESS = np.linspace(0.3, 0.05, 10)
"""Price steps per round while a sample of pages finds the prices."""
SAMPLE_VISITS_PER_LOT = 4
"""Visits per lot of the sampled pages."""
TRADE_FIRMNESS = np.array([0.3, 1.0])
"""Price steps per round when all pages choose; the last one must clear crowded lots."""
IMPROVED_LOSS_SHARE = {ModelReading.FRESH: 0.97, ModelReading.STEADY: 1.0}
"""Share of MERGE's loss that is worked on; trading is slow, and servers with the small rest are left as they are."""


@njit(cache=True)
def fit_to_count(preferred_times, preferred_pages, rates, weights, horizon, count):  # type: ignore[no-untyped-def]
    """Drop the least valuable or add the most valuable preferred times until there are *missing*.

    The times of each page are contiguous and sorted.
    """
    while len(preferred_times) != count:
        if len(preferred_times) > count:
            kept = _kept_visits(preferred_times, preferred_pages, rates, weights, horizon, len(preferred_times) - count)
            preferred_times, preferred_pages = preferred_times[kept], preferred_pages[kept]
        else:
            preferred_times, preferred_pages = _with_added_visits(
                preferred_times, preferred_pages, rates, weights, horizon, count - len(preferred_times)
            )
    return preferred_times, preferred_pages


@njit(cache=True)
def _kept_visits(preferred_times, preferred_pages, rates, weights, horizon, surplus):  # type: ignore[no-untyped-def]
    """Return which visits remain when the *surplus* least valuable ones are dropped."""
    visits = len(preferred_times)
    losses = np.empty(visits)
    for visit in range(visits):
        page, time = preferred_pages[visit], preferred_times[visit]
        before = time - preferred_times[visit - 1] if visit > 0 and preferred_pages[visit - 1] == page else time
        is_last = visit + 1 == visits or preferred_pages[visit + 1] != page
        after = (horizon if is_last else preferred_times[visit + 1]) - time
        losses[visit] = _split_gain(rates[page], weights[page], before, after)
    kept = np.ones(visits, np.bool_)
    for visit in np.argsort(losses, kind="mergesort"):
        if surplus == 0:
            break
        # The loss of a visit is known only while its neighbours are kept.
        has_dropped_neighbour = (
            visit > 0 and preferred_pages[visit - 1] == preferred_pages[visit] and not kept[visit - 1]
        ) or (visit + 1 < visits and preferred_pages[visit + 1] == preferred_pages[visit] and not kept[visit + 1])
        if not has_dropped_neighbour:
            kept[visit] = False
            surplus -= 1
    return kept


@njit(cache=True)
def _with_added_visits(preferred_times, preferred_pages, rates, weights, horizon, missing):  # type: ignore[no-untyped-def]
    """Add the *missing* most valuable visits, each in the middle of its page's widest gap."""
    pages = len(rates)
    latest, widest, middle = np.zeros(pages), np.zeros(pages), np.zeros(pages)
    for visit in range(len(preferred_times)):
        page, time = preferred_pages[visit], preferred_times[visit]
        if time - latest[page] > widest[page]:
            widest[page], middle[page] = time - latest[page], (time + latest[page]) / 2
        latest[page] = time
    gains = np.empty(pages)
    for page in range(pages):
        if horizon - latest[page] > widest[page]:
            widest[page], middle[page] = horizon - latest[page], (horizon + latest[page]) / 2
        gains[page] = _split_gain(rates[page], weights[page], widest[page] / 2, widest[page] / 2)
    added = np.argsort(-gains, kind="mergesort")[:missing]
    times = np.concatenate((preferred_times, middle[added]))
    visit_pages = np.concatenate((preferred_pages, added))
    order = np.argsort(times, kind="mergesort")
    order = order[np.argsort(visit_pages[order], kind="mergesort")]
    return times[order], visit_pages[order]


@njit(cache=True)
def _split_gain(rate, weight, before, after):  # type: ignore[no-untyped-def]
    """Return the fresh seconds gained by a visit between two others, by its distances to them."""
    if not 0.0 < rate < np.inf:
        return 0.0
    return weight / rate * (1.0 - exp(-rate * before)) * (1.0 - exp(-rate * after))


@njit(cache=True)
def swap_neighbours(visit_pages, times, rates, weights, horizon, steady):  # type: ignore[no-untyped-def]
    """Swap visits in nearby slots wherever that makes pages fresher."""
    visits = len(visit_pages)
    earlier, later = _neighbours(visit_pages, len(rates), steady)
    for reach in SWAP_DISTANCES:
        for one in range(visits - reach):
            other = one + reach
            page, other_page = visit_pages[one], visit_pages[other]
            if page == other_page or (one < later[one] < other) or (one < earlier[other] < other):
                continue
            change = _move_gain(one, other, earlier, later, times, rates[page], weights[page], horizon)
            change += _move_gain(other, one, earlier, later, times, rates[other_page], weights[other_page], horizon)
            if change > 1e-12 * weights[page]:
                visit_pages[one], visit_pages[other] = other_page, page
                _relink(one, other, earlier, later)


@njit(cache=True)
def _neighbours(visit_pages, pages, steady):  # type: ignore[no-untyped-def]
    """Return the previous and next visit of the same page for each visit, or -1; they wrap around if *steady*."""
    visits = len(visit_pages)
    earlier, later = np.full(visits, -1), np.full(visits, -1)
    first, last = np.full(pages, -1), np.full(pages, -1)
    for visit in range(visits):
        page = visit_pages[visit]
        if last[page] >= 0:
            earlier[visit], later[last[page]] = last[page], visit
        else:
            first[page] = visit
        last[page] = visit
    if steady:
        for page in range(pages):
            if first[page] >= 0:
                earlier[first[page]], later[last[page]] = last[page], first[page]
    return earlier, later


@njit(cache=True)
def _move_gain(visit, to, earlier, later, times, rate, weight, horizon):  # type: ignore[no-untyped-def]
    """Return the fresh seconds gained if a visit moves to another slot between its neighbours."""
    if not 0.0 < rate < np.inf or earlier[visit] == visit:
        return 0.0
    before = times[earlier[visit]] if earlier[visit] >= 0 else 0.0
    after = times[later[visit]] if later[visit] >= 0 else horizon
    before -= horizon if earlier[visit] > visit else 0.0
    after += horizon if 0 <= later[visit] < visit else 0.0
    old = exp(-rate * (times[visit] - before)) + exp(-rate * (after - times[visit]))
    new = exp(-rate * (times[to] - before)) + exp(-rate * (after - times[to]))
    return weight / rate * (old - new)


@njit(cache=True)
def _relink(one, other, earlier, later):  # type: ignore[no-untyped-def]
    """Swap two visits in the linked lists of their pages."""
    links = earlier[one], later[one], earlier[other], later[other]
    for visit, before, after, was in ((other, links[0], links[1], one), (one, links[2], links[3], other)):
        earlier[visit] = visit if before == was else before
        later[visit] = visit if after == was else after
        if before >= 0 and before != was:
            later[before] = visit
        if after >= 0 and after != was:
            earlier[after] = visit


def slotted(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Choose pages and slots together; keep MERGE's result for a server where it is better."""
    visits = phases.cached_allocation(phases.allocate_politely, pages, limits, reading)
    merged = merge_visits(visits, pages, limits, reading)
    fresh = _sum_by_server(schedule_freshness(merged, pages, limits, reading), pages)
    best = _sum_by_server(even_freshness_of_pages(visits, pages.changes(limits.horizon), reading), pages)
    worst = _servers_with_largest_losses(best - fresh, IMPROVED_LOSS_SHARE[reading])
    visit_pages = merged.pages.copy()
    choose = _spread_all_servers if reading is ModelReading.STEADY else _trade_all_servers
    choose(
        worst,
        visits,
        merged.times,
        merged.starts,
        pages.starts,
        pages.rates,
        pages.weights,
        limits.horizon,
        visit_pages,
    )
    chosen = Schedule(merged.times, visit_pages, merged.starts)
    is_better = _sum_by_server(schedule_freshness(chosen, pages, limits, reading), pages) > fresh
    return Schedule(
        merged.times, np.where(np.repeat(is_better, np.diff(merged.starts)), visit_pages, merged.pages), merged.starts
    )


def _sum_by_server(fresh: Floats, pages: Pages) -> Floats:
    sums: Floats = np.bincount(pages.servers, fresh * pages.weights, minlength=len(pages.starts) - 1).astype(np.float64)
    return sums


def _servers_with_largest_losses(losses: Floats, loss_share: float) -> Ints:
    """Return the servers with the largest losses, interleaved so that parallel threads get about equal work."""
    order = np.argsort(-losses, kind="stable")
    lost = np.cumsum(losses[order])
    worst = order[: np.searchsorted(lost, loss_share * lost[-1]) + 1] if len(order) else order
    return np.concatenate([worst[::2], worst[1::2]])


@njit(cache=True, parallel=True)
def _trade_all_servers(servers, visits, times, starts, pages, rates, weights, horizon, visit_pages):  # type: ignore[no-untyped-def]
    for number in prange(len(servers)):
        server = servers[number]
        begin, end, first, last = starts[server], starts[server + 1], pages[server], pages[server + 1]
        if end - begin > 1:
            visit_pages[begin:end] = first + _trade_server(
                visits[first:last], times[begin:end], rates[first:last], weights[first:last], horizon
            )


@njit(cache=True)
def _trade_server(visits, times, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the page in each slot of a server."""
    points, room, others, preferred_times, preferred_pages = divide_into_lots(visits, times, rates, weights, horizon)
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
    # Within a lot all times are equal: spread the pages over it.
    step = points[1] - points[0] if len(points) > 1 else 0.0
    buyers = np.repeat(np.arange(len(others)), np.diff(begins))
    bought_times = points[bought] + (buyers * GOLDEN_RATIO % 1.0 - 0.5) * step
    bought_times, buyers = fit_to_count(
        bought_times, buyers, rates[others], weights[others], horizon, len(times) - len(preferred_times)
    )
    order = np.argsort(np.concatenate((preferred_times, bought_times)), kind="mergesort")
    visit_pages = np.concatenate((preferred_pages, others[buyers]))[order]
    swap_neighbours(visit_pages, times, rates, weights, horizon, False)
    return visit_pages


@njit(cache=True, parallel=True)
def _spread_all_servers(servers, visits, times, starts, pages, rates, weights, horizon, visit_pages):  # type: ignore[no-untyped-def]
    """Start each page at a different offset between two of its visits, ordered by number of visits."""
    for number in prange(len(servers)):
        server = servers[number]
        begin, end, first, last = starts[server], starts[server + 1], pages[server], pages[server + 1]
        order = np.argsort(visits[first:last], kind="mergesort")
        counts = visits[first:last][order]
        preferred_times, preferred_pages, at = np.empty(end - begin), np.repeat(order, counts), 0
        for place in range(len(counts)):
            for visit in range(counts[place]):
                preferred_times[at] = (visit + place * GOLDEN_RATIO % 1.0) / counts[place]
                at += 1
        taken = preferred_pages[np.argsort(preferred_times, kind="mergesort")]
        swap_neighbours(taken, times[begin:end], rates[first:last], weights[first:last], horizon, True)
        visit_pages[begin:end] = first + taken


class RevisitPolicy(Protocol):
    """Decides when each page is due."""

    def __call__(self, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
        """Return the visits of a horizon."""
        ...


def psp(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Allocate visits under the limits of servers, and spread those of a server evenly: the policy of 2007."""
    return merge_visits(
        phases.cached_allocation(phases.allocate_politely, pages, limits, reading), pages, limits, reading
    )


def mp2(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Allocate visits as PSP does, and spread those of each page evenly, ignoring other visits to its server."""
    return even_visits(
        phases.cached_allocation(phases.allocate_politely, pages, limits, reading), pages, limits, reading
    )


def m_wolf(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Allocate visits as Wolf does, without limits of servers, and spread those of each page evenly."""
    return even_visits(
        phases.cached_allocation(phases.allocate_impolitely, pages, limits, reading), pages, limits, reading
    )


POLICIES: dict[str, RevisitPolicy] = {"psp": psp, "mp2": mp2, "m-wolf": m_wolf, "slotted": slotted}
