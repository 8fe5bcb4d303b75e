"""The three phases of the revisit policy of 2007: how often, when, and by which crawler."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple
from weakref import ref

import numpy as np
from numba import njit, prange

from tarantula.revisit.changes import Laws, all_poisson, visit_gain_by_law
from tarantula.revisit.heap import TimeHeap, empty_heap, heap_pop, heap_push
from tarantula.revisit.model import (
    TICKS_PER_SECOND,
    Floats,
    Ints,
    ModelReading,
    Pages,
    VisitLimits,
    bracketing_gaps,
    visit_gain,
)
from tarantula.revisit.schedule import Schedule, places_in_runs, run_starts

SAMPLED_PAGES = 256
"""Sampled pages of a server to estimate its price; many more if there are few servers."""
BISECTION_STEPS = 30
PRICE_TOLERANCE_FACTOR = 1.03
"""Factor between the estimated price and the true one, at most."""
LEAST_RELIABLE_GAIN = 1e-9
"""Below this gain the next visit may seem to gain more, through rounding."""
GOLDEN_RATIO = (5**0.5 - 1) / 2
"""The fractional parts of its multiples are spread as evenly as possible, for any number of them."""


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


class DispatchQueues(NamedTuple):
    """Visits to make, by server."""

    due: Floats
    starts: Ints
    following: Ints
    """Index of the next visit of each server."""
    resting: TimeHeap
    waiting: TimeHeap


def dispatch_queues(schedule: Schedule) -> DispatchQueues:
    """Queue the visits of a schedule; times are rounded up to whole ticks, so that they add up without rounding."""
    servers = len(schedule.starts) - 1
    queues_of_servers = DispatchQueues(
        np.ceil(schedule.times * TICKS_PER_SECOND) / TICKS_PER_SECOND,
        schedule.starts,
        schedule.starts[:-1].copy(),
        empty_heap(servers),
        empty_heap(servers),
    )
    for server in range(servers):
        rest_server(queues_of_servers, server, 0.0)
    return queues_of_servers


@njit(cache=True)
def take_server(queues, now):  # type: ignore[no-untyped-def]
    """Return the server of the most overdue visit that may be made now, or -1; `following` has its visit."""
    resting, waiting = queues.resting, queues.waiting
    while resting.size[0] > 0 and resting.times[0] <= now:
        server = resting.numbers[0]
        heap_pop(resting)
        heap_push(waiting, queues.due[queues.following[server]], server)
    if waiting.size[0] == 0:
        return -1
    server = waiting.numbers[0]
    heap_pop(waiting)
    return server


@njit(cache=True)
def rest_server(queues, server, until):  # type: ignore[no-untyped-def]
    """Keep a server resting until a time, and until its next visit is due."""
    visit = queues.following[server]
    if visit < queues.starts[server + 1]:
        heap_push(queues.resting, max(queues.due[visit], until), server)


@njit(cache=True)
def next_ready_time(queues):  # type: ignore[no-untyped-def]
    """Return the time at which the next resting server becomes ready."""
    return queues.resting.times[0] if queues.resting.size[0] > 0 else inf


def merge_visits(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Spread the visits of each server evenly over the horizon, in the order of their pages' preferred times."""
    preferred = even_visits(visits, pages, limits, reading)
    return Schedule(server_slots(np.diff(preferred.starts), limits, reading), preferred.pages, preferred.starts)


def even_visits(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Visit each page at even intervals, ignoring other visits to its server."""
    counts = np.add.reduceat(np.append(visits, 0), pages.starts[:-1]) * (np.diff(pages.starts) > 0)
    starts = run_starts(counts)
    times = np.empty(starts[-1])
    visit_pages = np.empty(starts[-1], dtype=np.int64)
    _fill_even_times(visits, pages.starts, starts, limits.horizon, reading is ModelReading.STEADY, times, visit_pages)
    return Schedule(times, visit_pages, starts)


def server_slots(counts: Ints, limits: VisitLimits, reading: ModelReading) -> Floats:
    """Return even times for the visits of each server; in the steady state the gap from last to first counts too."""
    return even_times(counts, limits.horizon, np.full(len(counts), limits.pause), steady=reading is ModelReading.STEADY)


def even_times(counts: Ints, horizon: float, pauses: Floats, *, steady: bool = False) -> Floats:
    """Return even times for the visits of each server, at least its pause apart, in whole ticks.

    If the visits just fit into the horizon, there is no room before the first. They then start at an offset of the
    server, since servers with the same times would wait for each other.
    """
    # Servers without visits may have an infinite pause.
    pauses = np.minimum(pauses, horizon)
    gaps = horizon / (counts + 1.0)
    full = np.full(len(counts), steady) | (gaps < pauses)
    spacing = np.maximum(_tick(np.where(full, horizon / np.maximum(counts, 1), gaps)), pauses)
    # The rest of the horizon at this spacing.
    room = np.maximum(horizon - spacing * np.maximum(counts - 1, 0), 0.0)
    first = _tick(np.where(full, np.minimum(server_offsets(len(counts)) * spacing, room), gaps))
    times: Floats = np.repeat(first, counts) + places_in_runs(counts) * np.repeat(spacing, counts)
    return times


def server_offsets(servers: int) -> Floats:
    """Return an offset for each server, as a share of its pause, far from those of other servers."""
    return (np.arange(servers) * GOLDEN_RATIO % 1.0).astype(np.float64)


def _tick(seconds: Floats) -> Floats:
    """Round times down to whole ticks, which add up without rounding, so that politeness holds exactly."""
    return np.floor(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND


@njit(cache=True, parallel=True)
def _fill_even_times(visits, pages, starts, horizon, steady, times, visit_pages):  # type: ignore[no-untyped-def]
    for server in prange(len(starts) - 1):
        begin, end = starts[server], starts[server + 1]
        at = begin
        for page in range(pages[server], pages[server + 1]):
            for number in range(visits[page]):
                share = (number + 0.5) / visits[page] if steady else (number + 1.0) / (visits[page] + 1.0)
                times[at] = share * horizon
                visit_pages[at] = page
                at += 1
        # Stable, so that pages with equal preferred times keep their order.
        order = np.argsort(times[begin:end], kind="mergesort")
        times[begin:end] = times[begin:end][order]
        visit_pages[begin:end] = visit_pages[begin:end][order]
