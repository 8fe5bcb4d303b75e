"""Phase 1: how often each page is visited.

What a further visit to a page adds becomes less with each, and the limits are nested: of a server, and of all. So
taking the best visit again and again, until no server has one left, is the best that can be done.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tarantula.revisit.model import Floats, Ints, Reading, gain
from tarantula.revisit.pages import Limits, Pages


def polite(pages: Pages, limits: Limits, reading: Reading) -> Ints:
    """Return how often each page is visited when no server may be visited too often."""
    budgets = np.full(len(pages.starts) - 1, min(limits.of_server, limits.visits), dtype=np.int64)
    return _allocate(pages, pages.starts, budgets, limits, reading)


def impolite(pages: Pages, limits: Limits, reading: Reading) -> Ints:
    """Return how often each page is visited when only the visits in all are limited."""
    everything = np.array([0, len(pages)], dtype=np.int64)
    return _allocate(pages, everything, np.array([limits.visits], dtype=np.int64), limits, reading)


def _allocate(pages: Pages, starts: Ints, budgets: Ints, limits: Limits, reading: Reading) -> Ints:
    chosen = np.zeros(len(budgets) + 1, dtype=np.int64)
    np.cumsum(np.where(np.diff(starts) > 0, budgets, 0), out=chosen[1:])
    gains = np.zeros(chosen[-1])
    takers = np.full(chosen[-1], -1, dtype=np.int64)
    _take_the_best(
        starts, pages.changes(limits.horizon), pages.weights, chosen, reading is Reading.STEADY, gains, takers
    )
    return np.bincount(takers[_best(gains, takers, limits.visits)], minlength=len(pages))


def _best(gains: Floats, takers: Ints, most: int) -> Ints:
    """Return which visits are among the best of all; of equal ones those of the first server."""
    taken = np.flatnonzero(takers >= 0)
    if len(taken) <= most:
        return taken
    if most == 0:
        return taken[:0]
    least = np.partition(gains[taken], len(taken) - most)[len(taken) - most]
    above = taken[gains[taken] > least]
    return np.concatenate([above, taken[gains[taken] == least][: most - len(above)]])


@njit(cache=True, parallel=True)
def _take_the_best(starts, changes, weights, chosen, steady, gains, takers):  # type: ignore[no-untyped-def]
    """Write down the best visits of each server, the best first; a visit that adds nothing is not made."""
    for server in prange(len(starts) - 1):
        first = starts[server]
        size = starts[server + 1] - first
        heap = np.arange(size)
        visits = np.zeros(size, dtype=np.int64)
        value = np.empty(size)
        for page in range(size):
            value[page] = weights[first + page] * gain(0, changes[first + page], steady)
        for root in range(size // 2 - 1, -1, -1):
            _sink(heap, value, root, size)
        for slot in range(chosen[server], chosen[server + 1]):
            page = heap[0]
            if value[page] <= 0.0:
                break
            gains[slot] = value[page]
            takers[slot] = first + page
            visits[page] += 1
            value[page] = weights[first + page] * gain(visits[page], changes[first + page], steady)
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
