"""Phase 1: the number of visits to each page.

The gain of one more visit to a page falls with each visit, and the limits are nested (per server, and in all). Taking
the best visit again and again until the limits are reached is therefore optimal.

To save time, visits that are surely among the best are taken at once: a price is guessed from a sample of the pages of
each server, and each page gets the visits worth more than it. Their number is then counted exactly. Where the guess was
wrong, more visits are compared one by one, or the allocation starts from nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from weakref import ref

import numpy as np
from numba import njit, prange

from tarantula.revisit.changes import Laws, all_poisson, visit_gain_by_law
from tarantula.revisit.model import Floats, Ints, ModelReading, bracketing_gaps, visit_gain
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.schedule import run_starts

SAMPLED_PAGES = 256
"""Sampled pages of a server to estimate its price; many more if there are few servers."""
BISECTION_STEPS = 30
PRICE_TOLERANCE_FACTOR = 1.03
"""Factor between the estimated price and the true one, at most."""
LEAST_RELIABLE_GAIN = 1e-9
"""Below this gain the next visit may seem to gain more, through rounding."""

AllocationFunction = Callable[[Pages, VisitLimits, ModelReading, Laws | None], Ints]


class HeadStart(NamedTuple):
    """Start of an allocation."""

    visits: Ints
    """Visits to each page that are surely among the best."""
    upper_price: float
    """All these visits are worth more than this."""
    lower_price: float
    """Visits worth less than this are not among the best."""


def head_start(starts: Ints, changes: Floats, weights: Floats, budgets: Ints, most: int, steady: bool) -> HeadStart:
    """Return visits that are among the best of each server, and of all if the estimated price is good."""
    sample = max(SAMPLED_PAGES, 100_000 // max(len(budgets), 1))
    server_prices = _prices(starts, changes, weights, budgets, sample, steady)
    price = _price(starts, changes, weights, budgets, most, server_prices, sample, steady)
    visits = np.zeros(len(changes), dtype=np.int64)
    _take_above_prices(
        starts, changes, weights, budgets, np.maximum(server_prices, price) * PRICE_TOLERANCE_FACTOR, steady, visits
    )
    return HeadStart(visits, price * PRICE_TOLERANCE_FACTOR, price / PRICE_TOLERANCE_FACTOR)


@njit(cache=True)
def _approximate_visits(price, changes, weight, steady):  # type: ignore[no-untyped-def]
    """Return the approximate number of visits to a page that are worth more than a price."""
    if not (0.0 < changes < np.inf and weight > 0.0 and price > 0.0):
        return 0.0
    share = price * changes / weight
    if share >= 1.0:
        return 0.0
    low, high = bracketing_gaps(share)
    return max(0.0, 2.0 * changes / (low + high) + (0.5 if steady else -0.5))


@njit(cache=True)
def _server_demand(price, first, last, changes, weights, sample, steady):  # type: ignore[no-untyped-def]
    """Return the approximate number of visits to a server that are worth more than a price."""
    stride = max(1, (last - first) // sample)
    total, seen = 0.0, 0
    for page in range(first, last, stride):
        total += np.floor(_approximate_visits(price, changes[page], weights[page], steady))
        seen += 1
    return total * (last - first) / max(seen, 1)


@njit(cache=True, parallel=True)
def _prices(starts, changes, weights, budgets, sample, steady):  # type: ignore[no-untyped-def]
    """Return the price at which the demand for each server is about its budget; 0 where it is always less."""
    prices = np.zeros(len(budgets))
    for server in prange(len(budgets)):
        first, last = starts[server], starts[server + 1]
        low, high = 0.0, 0.0
        for page in range(first, last):
            if 0.0 < changes[page] < np.inf:
                high = max(high, weights[page] / changes[page])
        low = high * 1e-12
        for _ in range(BISECTION_STEPS):
            middle = np.sqrt(low * high)
            if _server_demand(middle, first, last, changes, weights, sample, steady) > budgets[server]:
                low = middle
            else:
                high = middle
        prices[server] = high
    return prices


@njit(cache=True)
def _price(starts, changes, weights, budgets, most, server_prices, sample, steady):  # type: ignore[no-untyped-def]
    """Return the price at which the total demand is about the total budget; 0 where it is always less."""
    low, high = 0.0, 0.0
    for server in range(len(budgets)):
        high = max(high, server_prices[server])
    if budgets.sum() <= most or high == 0.0:
        return 0.0
    low = high * 1e-12
    for _ in range(BISECTION_STEPS):
        middle, total = np.sqrt(low * high), 0.0
        for server in range(len(budgets)):
            price = max(middle, server_prices[server])
            if price == server_prices[server] and price > 0.0:
                total += budgets[server]
            else:
                total += _server_demand(price, starts[server], starts[server + 1], changes, weights, sample, steady)
        if total > most:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True, parallel=True)
def _take_above_prices(starts, changes, weights, budgets, prices, steady, visits):  # type: ignore[no-untyped-def]
    """Set the visits to each page that are worth more than its server's price.

    The result equals that of a greedy allocation, unless the visits are too many: then the price is raised.
    """
    for server in prange(len(budgets)):
        price = prices[server]
        for _ in range(BISECTION_STEPS):
            total = 0
            for page in range(starts[server], starts[server + 1]):
                visits[page] = _exact_visits(price, changes[page], weights[page], steady, budgets[server])
                total += visits[page]
            if total <= budgets[server]:
                break
            visits[starts[server] : starts[server + 1]] = 0
            price *= PRICE_TOLERANCE_FACTOR


@njit(cache=True)
def _exact_visits(price, changes, weight, steady, most):  # type: ignore[no-untyped-def]
    """Return the number of visits to a page that are worth more than a price, or a number above *most*."""
    count = int(min(max(_approximate_visits(price, changes, weight, steady) - 1.0, 0.0), most))
    if count > 0:
        least = visit_gain(count - 1, changes, steady)
        count = count if least > LEAST_RELIABLE_GAIN and weight * least > price else 0
    while count <= most and weight * visit_gain(count, changes, steady) > price:
        count += 1
    return count


_cached: dict[AllocationFunction, tuple[ref[Pages], VisitLimits, ModelReading, Ints]] = {}


def cached_allocation(allocation: AllocationFunction, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Ints:
    """Return the number of visits to each page; the last result is cached, since policies and bounds share it."""
    if allocation in _cached:
        known, *others, visits = _cached[allocation]
        if known() is pages and others == [limits, reading]:
            return visits
    visits = allocation(pages, limits, reading, None)
    _cached[allocation] = ref(pages), limits, reading, visits
    return visits


def allocate_politely(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> Ints:
    """Return the optimal number of visits to each page under the limits of servers; by default for Poisson changes."""
    budgets = np.full(len(pages.starts) - 1, min(limits.visits_per_server, limits.visits), dtype=np.int64)
    return _allocate(pages, pages.starts, budgets, limits, reading, laws)


def allocate_impolitely(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> Ints:
    """Return the optimal number of visits to each page when only the total is limited."""
    everything = np.array([0, len(pages)], dtype=np.int64)
    return _allocate(pages, everything, np.array([limits.visits], dtype=np.int64), limits, reading, laws)


def _allocate(
    pages: Pages, starts: Ints, budgets: Ints, limits: VisitLimits, reading: ModelReading, laws: Laws | None
) -> Ints:
    budgets = np.where(np.diff(starts) > 0, budgets, 0)
    changes, steady = pages.changes(limits.horizon), reading is ModelReading.STEADY
    if laws is None:
        laws = all_poisson(len(pages))
        start = head_start(starts, changes, pages.weights, budgets, limits.visits, steady)
        visits = _complete(start, pages, starts, changes, laws, budgets, limits.visits, steady)
        if visits is not None:
            return visits
    # Without a head start, or after a bad one: start from nothing.
    no_start = HeadStart(np.zeros(len(pages), dtype=np.int64), np.inf, 0.0)
    visits = _complete(no_start, pages, starts, changes, laws, budgets, limits.visits, steady)
    assert visits is not None
    return visits


def _complete(
    start: HeadStart, pages: Pages, starts: Ints, changes: Floats, laws: Laws, budgets: Ints, most: int, steady: bool
) -> Ints | None:
    """Return the number of visits to each page; None if it cannot be found from this start."""
    started_visits = int(start.visits.sum())
    remaining = budgets - np.add.reduceat(np.append(start.visits, 0), starts[:-1]) * (np.diff(starts) > 0)
    chosen = run_starts(remaining)
    gains, visit_pages = np.zeros(chosen[-1]), np.full(chosen[-1], -1, dtype=np.int64)
    _take_best_visits(
        starts, changes, laws, pages.weights, chosen, steady, start.visits, start.lower_price, gains, visit_pages
    )
    taken = np.flatnonzero(visit_pages >= 0)
    if started_visits > most or (start.lower_price > 0.0 and started_visits + len(taken) < most):
        return None
    best = _best_indexes(gains, taken, most - started_visits)
    if len(best) < len(taken) and not start.lower_price <= gains[best].min(initial=np.inf) <= start.upper_price:
        return None
    return start.visits + np.bincount(visit_pages[best], minlength=len(pages))


def _best_indexes(gains: Floats, taken: Ints, most: int) -> Ints:
    """Return the indexes of the best visits; ties go to the first server."""
    if len(taken) <= most:
        return taken
    if most == 0:
        return taken[:0]
    least = np.partition(gains[taken], len(taken) - most)[len(taken) - most]
    above = taken[gains[taken] > least]
    return np.concatenate([above, taken[gains[taken] == least][: most - len(above)]])


@njit(cache=True, parallel=True)
def _take_best_visits(starts, changes, laws, weights, chosen, steady, started, lower_price, gains, visit_pages):  # type: ignore[no-untyped-def]
    """Append the best visits of each server to its head start, in descending order of gain.

    Visits that gain nothing, or less than *lower_price*, are left out.
    """
    for server in prange(len(starts) - 1):
        first = starts[server]
        size = starts[server + 1] - first
        heap = np.arange(size)
        last = first + size
        visits, value = started[first:last].copy(), np.empty(size)
        server_prices, expected, weight = laws[first:last], changes[first:last], weights[first:last]
        for page in range(size):
            value[page] = weight[page] * visit_gain_by_law(server_prices[page], visits[page], expected[page], steady)
        for root in range(size // 2 - 1, -1, -1):
            _sink(heap, value, root, size)
        for slot in range(chosen[server], chosen[server + 1]):
            page = heap[0]
            if value[page] <= 0.0 or value[page] < lower_price:
                break
            gains[slot] = value[page]
            visit_pages[slot] = first + page
            visits[page] += 1
            value[page] = weight[page] * visit_gain_by_law(server_prices[page], visits[page], expected[page], steady)
            _sink(heap, value, 0, size)


@njit(cache=True)
def _sink(heap, value, root, size):  # type: ignore[no-untyped-def]
    """Sift a page down the heap of gains; ties go to the first page."""
    page = heap[root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _is_before(heap[other], heap[child], value):
            child = other
        if not _is_before(heap[child], page, value):
            break
        heap[root] = heap[child]
        root = child
    heap[root] = page


@njit(cache=True)
def _is_before(one, other, value):  # type: ignore[no-untyped-def]
    return value[one] > value[other] or (value[one] == value[other] and one < other)
