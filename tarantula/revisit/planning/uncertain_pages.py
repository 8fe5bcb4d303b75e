"""Pages with uncertain rates and different ages, per-server limits, and the greedy allocation of visits to them.

The worth of one more visit to a page falls with each visit, so taking the best visit again and again, under the limits
of each server and of all, is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.core.errors import TarantulaError
from tarantula.revisit.heap import empty_heap, heap_pop, heap_push, heap_replace
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS_PER_SECOND, Pages
from tarantula.revisit.rates.gamma import gamma_fresh_seconds, gamma_fresh_seconds_after, gamma_visit_index
from tarantula.revisit.schedule import Schedule

CERTAIN_SHAPE = 1e9
"""Shape of the Gamma distribution of a known rate."""

LEAST_GAIN_SHARE = 1e-13
"""Least gain of a visit, as a share of the horizon; smaller gains are rounding errors."""


@dataclass(frozen=True)
class UncertainPages:
    """Pages with Gamma distributions of their rates, ordered by server."""

    pages: Pages
    shapes: Floats
    """Shape of each distribution: the equivalent number of observed changes."""
    scales: Floats
    """Scale of each distribution: the seconds of their observation."""
    ages: Floats
    """Seconds since the last visit to each page."""

    @classmethod
    def of(
        cls, shapes: Floats, scales: Floats, ages: Floats, servers: Ints, weights: Floats | None = None
    ) -> UncertainPages:
        """Order pages by server."""
        if not (np.all(shapes >= 0) and np.all(scales >= 0) and np.all(ages >= 0)):
            raise TarantulaError("Shapes, scales and ages must be 0 or more.")
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(shapes > 0, shapes / scales, 0.0)
        pages = Pages.of(rates, servers, weights)
        return cls(pages, shapes[pages.order], scales[pages.order], ages[pages.order])

    @classmethod
    def known(cls, pages: Pages) -> UncertainPages:
        """Convert pages with known rates that were all just visited."""
        shapes = np.where(pages.rates > 0, CERTAIN_SHAPE, 0.0)
        with np.errstate(divide="ignore"):
            scales = np.where(pages.rates > 0, CERTAIN_SHAPE / pages.rates, 1.0)
        return cls(pages, shapes, scales, np.zeros(len(pages)))

    def __len__(self) -> int:
        return len(self.pages)


class PerServerLimits(NamedTuple):
    """Limits on visits, with a pause for each server."""

    horizon: float
    """Seconds."""
    pauses: Floats
    """Seconds between two visits to each server."""
    visits: int
    """Most visits to all servers together."""
    most_per_server: Floats | float = np.inf
    """Most visits to each server, if limited in addition to its pause."""

    @property
    def rounded_pauses(self) -> Floats:
        """Pauses rounded up to whole ticks, so that their multiples add up without rounding."""
        rounded: Floats = np.ceil(self.pauses * TICKS_PER_SECOND) / TICKS_PER_SECOND
        return rounded

    @property
    def budgets(self) -> Ints:
        """Most visits to each server."""
        allowed = np.minimum(np.floor(self.horizon / self.rounded_pauses), self.most_per_server)
        return np.minimum(allowed, self.visits).astype(np.int64)


def expected_freshness(schedule: Schedule, uncertain: UncertainPages, horizon: float) -> Floats:
    """Return the expected freshness of each page under a schedule."""
    fresh: Floats = _freshness(
        schedule.times, schedule.pages, schedule.starts, uncertain.shapes, uncertain.scales, uncertain.ages, horizon
    )
    return fresh


def visit_gaps(schedule: Schedule, uncertain: UncertainPages) -> Floats:
    """Return the seconds from the previous visit of its page to each visit."""
    order = np.lexsort((schedule.times, schedule.pages))
    pages, times = schedule.pages[order], schedule.times[order]
    first = np.ones(len(pages), dtype=np.bool_)
    first[1:] = pages[1:] != pages[:-1]
    gaps = np.empty(len(pages))
    gaps[order] = np.where(first, times + uncertain.ages[pages], np.diff(times, prepend=0.0))
    return gaps


@njit(cache=True)
def _freshness(times, pages, starts, shapes, scales, ages, horizon):  # type: ignore[no-untyped-def]
    last = np.full(len(shapes), -1.0)
    fresh = np.zeros(len(shapes))
    for server in range(len(starts) - 1):
        for visit in range(starts[server], starts[server + 1]):
            page, time = pages[visit], times[visit]
            if last[page] < 0.0:
                fresh[page] = gamma_fresh_seconds_after(ages[page], time, shapes[page], scales[page])
            else:
                fresh[page] += gamma_fresh_seconds(time - last[page], shapes[page], scales[page])
            last[page] = time
    for page in range(len(shapes)):
        if last[page] < 0.0:
            fresh[page] = gamma_fresh_seconds_after(ages[page], horizon, shapes[page], scales[page])
        else:
            fresh[page] += gamma_fresh_seconds(horizon - last[page], shapes[page], scales[page])
        fresh[page] /= horizon
    return fresh


class AllocatedVisits(NamedTuple):
    """Result of a greedy allocation."""

    visits: Ints
    """Number of visits to each page."""
    prices: Floats
    """Worth of the best visit to each server that is not made."""


def allocate_best_visits(uncertain: UncertainPages, limits: PerServerLimits, *, is_repeated: bool) -> AllocatedVisits:
    """Take the best visits by their worth within the horizon, or *for good*: if equal horizons follow."""
    pages = uncertain.pages
    allocated = _take_best_visits(
        empty_heap(len(uncertain)),
        uncertain.shapes, uncertain.scales, uncertain.ages, pages.weights, pages.servers, limits.budgets,
        limits.visits, limits.horizon, is_repeated,
    )  # fmt: skip
    return AllocatedVisits(*allocated)


@njit(cache=True)
def longest_gap(visits, age, horizon):  # type: ignore[no-untyped-def]
    """Return the longest gap for which *visits* visits fall within the horizon; an overdue visit falls at its start."""
    if visits * age < age + horizon:
        return (age + horizon) / visits
    return min(age, horizon / (visits - 1))


@njit(cache=True)
def fresh_seconds_with_visits(visits, shape, scale, age, horizon):  # type: ignore[no-untyped-def]
    """Return the expected fresh seconds of a page in the horizon, with visits at the best times."""
    if visits == 0:
        return gamma_fresh_seconds_after(age, horizon, shape, scale)
    even = (age + horizon) / (visits + 1)
    gap = even if even > age else horizon / visits
    first = max(horizon - visits * gap, 0.0)
    return gamma_fresh_seconds_after(age, first, shape, scale) + visits * gamma_fresh_seconds(gap, shape, scale)


@njit(cache=True)
def next_visit_gain(visits, shape, scale, age, horizon, is_repeated):  # type: ignore[no-untyped-def]
    """Return the gain of one more visit to a page."""
    if is_repeated:
        return gamma_visit_index(longest_gap(visits + 1, age, horizon), shape, scale)
    return fresh_seconds_with_visits(visits + 1, shape, scale, age, horizon) - fresh_seconds_with_visits(
        visits, shape, scale, age, horizon
    )


@njit(cache=True)
def _take_best_visits(heap, shapes, scales, ages, weights, servers, budgets, most, horizon, is_repeated):  # type: ignore[no-untyped-def]
    """Take the most valuable visit again and again; the heap holds negative worths, since its top is the least."""
    visits, left, prices = np.zeros(len(shapes), dtype=np.int64), budgets.copy(), np.zeros(len(budgets))
    for page in range(len(shapes)):
        heap_push(
            heap,
            -weights[page] * next_visit_gain(0, shapes[page], scales[page], ages[page], horizon, is_repeated),
            page,
        )
    best = 0.0
    while heap.size[0] > 0:
        page, best = heap.numbers[0], -heap.times[0]
        server = servers[page]
        if most == 0 or best <= LEAST_GAIN_SHARE * weights[page] * horizon:
            break
        if left[server] == 0:
            prices[server] = max(prices[server], best)
            heap_pop(heap)
            continue
        most -= 1
        left[server] -= 1
        visits[page] += 1
        next_gain = next_visit_gain(visits[page], shapes[page], scales[page], ages[page], horizon, is_repeated)
        heap_replace(heap, -weights[page] * next_gain, page)
    # A server that reached no limit has no visit left that is worth more than the best of all left.
    return visits, np.where(prices > 0.0, prices, best if heap.size[0] > 0 else 0.0)
