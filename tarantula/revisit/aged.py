"""A policy for pages that were last visited at different times, and whose rates are believed rather than known.

The time since its last visit is the beginning of a page's first gap. x visits in a horizon T are then best at even gaps
of (age + T)/(x + 1) from the last visit on; a page for which the first of them is over already is visited at once, and
evenly from there. What a further visit adds still becomes less with each, so taking the best one again and again, under
the limits of servers and of all, is the best choice; each visit is then made as near to its time as its server allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit, prange, vectorize

from tarantula.errors import TarantulaError
from tarantula.revisit.doubt import fresh_after, fresh_seconds
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS, Pages
from tarantula.revisit.schedule import Schedule


@dataclass(frozen=True)
class Believed:
    """What is believed of pages, in the order of their servers."""

    pages: Pages
    shapes: Floats
    """As if so many changes had been seen."""
    scales: Floats
    """In so many seconds."""
    ages: Floats
    """Seconds since each was last visited."""

    @classmethod
    def of(cls, shapes: Floats, scales: Floats, ages: Floats, servers: Ints, weights: Floats | None = None) -> Believed:
        """Take pages in any order."""
        if not (np.all(shapes >= 0) and np.all(scales >= 0) and np.all(ages >= 0)):
            raise TarantulaError("What is believed of a page are numbers from zero on.")
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(shapes > 0, shapes / scales, 0.0)
        pages = Pages.of(rates, servers, weights)
        return cls(pages, shapes[pages.order], scales[pages.order], ages[pages.order])

    def __len__(self) -> int:
        return len(self.pages)


class Pauses(NamedTuple):
    """How much may be asked, when each server has a pause of its own."""

    horizon: float
    """Seconds."""
    of_servers: Floats
    """Seconds between two visits to each server."""
    visits: int
    """To all servers together."""
    most: Floats | float = np.inf
    """Visits to each server, where that was decided beside its pause."""

    @property
    def ticks(self) -> Floats:
        """The pauses in whole ticks: times that are multiples of them add up without an error."""
        rounded: Floats = np.ceil(self.of_servers * TICKS) / TICKS
        return rounded

    @property
    def budgets(self) -> Ints:
        """How often each server may be visited."""
        allowed = np.minimum(np.floor(self.horizon / self.ticks), self.most)
        return np.minimum(allowed, self.visits).astype(np.int64)


def allocate(believed: Believed, pauses: Pauses) -> Ints:
    """Return how often each page is best visited; a visit that adds nothing is not made."""
    pages = believed.pages
    counts: Ints = _take_the_best(
        believed.shapes, believed.scales, believed.ages, pages.weights, pages.servers, pauses.budgets,
        pauses.visits, pauses.horizon,
    )  # fmt: skip
    return counts


def aged(believed: Believed, pauses: Pauses) -> Schedule:
    """Return when each page is best visited."""
    return spread(allocate(believed, pauses), believed, pauses)


def spread(visits: Ints, believed: Believed, pauses: Pauses) -> Schedule:
    """Make each visit as near as can be to the time that is best for its page alone, never breaking a pause."""
    takers = np.repeat(np.arange(len(visits)), visits)
    number = np.arange(len(takers)) - np.repeat(np.cumsum(visits) - visits, visits)
    gaps = _best_gaps(visits, believed.ages, pauses.horizon)[takers]
    return apart(pauses.horizon - (visits[takers] - number) * gaps, takers, believed, pauses)


def apart(times: Floats, takers: Ints, believed: Believed, pauses: Pauses) -> Schedule:
    """Move visits as little as can be, in all, until no pause is broken; those that a server has no room for fall away.

    Times that are too near to each other become a block around their mean: the least sum of squares.
    """
    servers = believed.pages.servers[takers]
    order = np.lexsort((times, servers))
    counts = np.bincount(servers, minlength=len(believed.pages.starts) - 1)
    number = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    # Of too many visits those are kept that are spread evenly among them.
    room = np.repeat(np.minimum(pauses.budgets, counts), counts)
    sorted_counts = np.repeat(counts, counts)
    kept = order[(number + 1) * room // np.maximum(sorted_counts, 1) > number * room // np.maximum(sorted_counts, 1)]
    starts = np.concatenate([[0], np.cumsum(np.minimum(pauses.budgets, counts))]).astype(np.int64)
    moved = times[kept]
    _set_all_apart(moved, starts, np.minimum(pauses.ticks, pauses.horizon), pauses.horizon, float(TICKS))
    return Schedule(moved, takers[kept], starts)


def freshness_of(schedule: Schedule, believed: Believed, horizon: float) -> Floats:
    """Return how fresh each page is believed to be when it is visited at exactly these times."""
    fresh: Floats = _freshness(
        schedule.times, schedule.pages, schedule.starts, believed.shapes, believed.scales, believed.ages, horizon
    )
    return fresh


def gaps_of(schedule: Schedule, believed: Believed) -> Floats:
    """Return how long before each visit its page was last visited."""
    order = np.lexsort((schedule.times, schedule.pages))
    pages, times = schedule.pages[order], schedule.times[order]
    first = np.ones(len(pages), dtype=np.bool_)
    first[1:] = pages[1:] != pages[:-1]
    gaps = np.empty(len(pages))
    gaps[order] = np.where(first, times + believed.ages[pages], np.diff(times, prepend=0.0))
    return gaps


@njit(cache=True)
def best_gap(visits: int, age: float, horizon: float) -> float:
    """Return how far apart so many visits are best made."""
    even = (age + horizon) / (visits + 1)
    return even if even > age else horizon / visits


@njit(cache=True)
def _worth(visits, shape, scale, age, horizon):  # type: ignore[no-untyped-def]
    """Return for how long of the horizon a page is fresh that is visited so often, at the best times."""
    if visits == 0:
        return fresh_after(age, horizon, shape, scale)
    gap = best_gap(visits, age, horizon)
    first = max(horizon - visits * gap, 0.0)
    return fresh_after(age, first, shape, scale) + visits * fresh_seconds(gap, shape, scale)


@njit(cache=True)
def _gain(visits, shape, scale, age, weight, horizon):  # type: ignore[no-untyped-def]
    return weight * (_worth(visits + 1, shape, scale, age, horizon) - _worth(visits, shape, scale, age, horizon))


@njit(cache=True)
def _take_the_best(shapes, scales, ages, weights, servers, budgets, most, horizon):  # type: ignore[no-untyped-def]
    size = len(shapes)
    heap, visits, gains = np.arange(size), np.zeros(size, dtype=np.int64), np.empty(size)
    for page in range(size):
        gains[page] = _gain(0, shapes[page], scales[page], ages[page], weights[page], horizon)
    for root in range(size // 2 - 1, -1, -1):
        _sink(heap, gains, root, size)
    left = budgets.copy()
    while most > 0 and size > 0:
        page = heap[0]
        # A gain that is smaller than the rounding of what it is the difference of is none.
        if gains[page] <= 1e-13 * weights[page] * horizon:
            break
        if left[servers[page]] == 0:
            size -= 1
            heap[0] = heap[size]
        else:
            most -= 1
            left[servers[page]] -= 1
            visits[page] += 1
            gains[page] = _gain(visits[page], shapes[page], scales[page], ages[page], weights[page], horizon)
        _sink(heap, gains, 0, size)
    return visits


@njit(cache=True)
def _sink(heap, value, root, size):  # type: ignore[no-untyped-def]
    """Let a page find its place below others that are worth more; of equal ones the first comes first."""
    page = heap[root]
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and _is_before(heap[child + 1], heap[child], value):
            child += 1
        if not _is_before(heap[child], page, value):
            break
        heap[root] = heap[child]
        root = child
    heap[root] = page


@njit(cache=True)
def _is_before(one, other, value):  # type: ignore[no-untyped-def]
    return value[one] > value[other] or (value[one] == value[other] and one < other)


@vectorize(cache=True)  # type: ignore[no-untyped-call]
def _best_gaps(visits, age, horizon):  # type: ignore[no-untyped-def]
    return best_gap(visits, age, horizon) if visits else 0.0


@njit(cache=True, parallel=True)
def _set_all_apart(times, starts, pauses, horizon, ticks):  # type: ignore[no-untyped-def]
    for server in prange(len(starts) - 1):
        _set_apart(times[starts[server] : starts[server + 1]], pauses[server], horizon, ticks)


@njit(cache=True)
def _set_apart(times, pause, horizon, ticks):  # type: ignore[no-untyped-def]
    size = len(times)
    sums, counts, block = np.empty(size), np.empty(size, dtype=np.int64), -1
    for number in range(size):
        block += 1
        sums[block] = times[number] - number * pause
        counts[block] = 1
        while block > 0 and sums[block - 1] * counts[block] >= sums[block] * counts[block - 1]:
            sums[block - 1] += sums[block]
            counts[block - 1] += counts[block]
            block -= 1
    number, latest = 0, horizon - (size - 1) * pause
    for one in range(block + 1):
        start = np.floor(min(max(sums[one] / counts[one], 0.0), latest) * ticks) / ticks
        for _ in range(counts[one]):
            times[number] = start + number * pause
            number += 1


@njit(cache=True, parallel=True)
def _freshness(times, pages, starts, shapes, scales, ages, horizon):  # type: ignore[no-untyped-def]
    last = np.full(len(shapes), -1.0)
    fresh = np.zeros(len(shapes))
    for server in prange(len(starts) - 1):
        for visit in range(starts[server], starts[server + 1]):
            page, time = pages[visit], times[visit]
            if last[page] < 0.0:
                fresh[page] = fresh_after(ages[page], time, shapes[page], scales[page])
            else:
                fresh[page] += fresh_seconds(time - last[page], shapes[page], scales[page])
            last[page] = time
    for page in prange(len(shapes)):
        if last[page] < 0.0:
            fresh[page] = fresh_after(ages[page], horizon, shapes[page], scales[page])
        else:
            fresh[page] += fresh_seconds(horizon - last[page], shapes[page], scales[page])
        fresh[page] /= horizon
    return fresh
