"""Phase 1: how often each page is visited.

What a further visit to a page adds becomes less with each, and the limits are nested: of a server, and of all. So
taking the best visit again and again, until no server has one left, is the best that can be done.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

import numpy as np
from numba import njit, prange

from tarantula.revisit.changes import Laws, all_poisson, visit_gain_by_law
from tarantula.revisit.model import Floats, Ints, ModelReading
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.phases.allocate_part_head_start import HeadStart, head_start
from tarantula.revisit.schedule_part_runs import run_starts

AllocationFunction = Callable[[Pages, VisitLimits, ModelReading, Laws | None], Ints]

_last: dict[AllocationFunction, tuple[ref[Pages], VisitLimits, ModelReading, Ints]] = {}


def cached_allocation(allocation: AllocationFunction, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Ints:
    """Return how often each page is visited; what was found last is remembered, for policies and bounds share it."""
    if allocation in _last:
        known, *others, visits = _last[allocation]
        if known() is pages and others == [limits, reading]:
            return visits
    visits = allocation(pages, limits, reading, None)
    _last[allocation] = ref(pages), limits, reading, visits
    return visits


def allocate_politely(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> Ints:
    """Return how often each page is visited when no server may be visited too often; by Poisson's law unless told."""
    budgets = np.full(len(pages.starts) - 1, min(limits.of_server, limits.visits), dtype=np.int64)
    return _allocate(pages, pages.starts, budgets, limits, reading, laws)


def allocate_impolitely(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> Ints:
    """Return how often each page is visited when only the visits in all are limited."""
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
        visits = _from(start, pages, starts, changes, laws, budgets, limits.visits, steady)
        if visits is not None:
            return visits
    # There is no guess, or it was wrong: begin at the beginning, and go to the end.
    nowhere = HeadStart(np.zeros(len(pages), dtype=np.int64), np.inf, 0.0)
    visits = _from(nowhere, pages, starts, changes, laws, budgets, limits.visits, steady)
    assert visits is not None
    return visits


def _from(
    start: HeadStart, pages: Pages, starts: Ints, changes: Floats, laws: Laws, budgets: Ints, most: int, steady: bool
) -> Ints | None:
    """Return how often each page is visited, or nothing if it cannot be found from where this starts."""
    sure = int(start.visits.sum())
    rooms = budgets - np.add.reduceat(np.append(start.visits, 0), starts[:-1]) * (np.diff(starts) > 0)
    chosen = run_starts(rooms)
    gains, takers = np.zeros(chosen[-1]), np.full(chosen[-1], -1, dtype=np.int64)
    _take_the_best(starts, changes, laws, pages.weights, chosen, steady, start.visits, start.cheap, gains, takers)
    taken = np.flatnonzero(takers >= 0)
    if sure > most or (start.cheap > 0.0 and sure + len(taken) < most):
        return None
    best = _best(gains, taken, most - sure)
    if len(best) < len(taken) and not start.cheap <= gains[best].min(initial=np.inf) <= start.dear:
        return None
    return start.visits + np.bincount(takers[best], minlength=len(pages))


def _best(gains: Floats, taken: Ints, most: int) -> Ints:
    """Return which visits are among the best of all; of equal ones those of the first server."""
    if len(taken) <= most:
        return taken
    if most == 0:
        return taken[:0]
    least = np.partition(gains[taken], len(taken) - most)[len(taken) - most]
    above = taken[gains[taken] > least]
    return np.concatenate([above, taken[gains[taken] == least][: most - len(above)]])


@njit(cache=True, parallel=True)
def _take_the_best(starts, changes, laws, weights, chosen, steady, begun, cheap, gains, takers):  # type: ignore[no-untyped-def]
    """Write down the best visits of each server after those that are begun with, the best first.

    A visit that adds nothing is not made, nor one that is known to be too cheap.
    """
    for server in prange(len(starts) - 1):
        first = starts[server]
        size = starts[server + 1] - first
        heap = np.arange(size)
        last = first + size
        visits, value = begun[first:last].copy(), np.empty(size)
        own, expected, weight = laws[first:last], changes[first:last], weights[first:last]
        for page in range(size):
            value[page] = weight[page] * visit_gain_by_law(own[page], visits[page], expected[page], steady)
        for root in range(size // 2 - 1, -1, -1):
            _sink(heap, value, root, size)
        for slot in range(chosen[server], chosen[server + 1]):
            page = heap[0]
            if value[page] <= 0.0 or value[page] < cheap:
                break
            gains[slot] = value[page]
            takers[slot] = first + page
            visits[page] += 1
            value[page] = weight[page] * visit_gain_by_law(own[page], visits[page], expected[page], steady)
            _sink(heap, value, 0, size)


@njit(cache=True)
def _sink(heap, value, root, size):  # type: ignore[no-untyped-def]
    """Let a page find its place below others that are worth more; of equal ones the first comes first."""
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
