"""Plans for pages with uncertain change rates and different ages, on servers with their own pauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.core.errors import TarantulaError
from tarantula.revisit.heap import empty_heap, heap_pop, heap_push, heap_replace
from tarantula.revisit.model import TICKS_PER_SECOND, Floats, Ints, ModelReading, Pages, VisitLimits
from tarantula.revisit.phases import even_times, server_offsets
from tarantula.revisit.policies import POLICIES, RevisitPolicy
from tarantula.revisit.rates.estimators import gamma_fresh_seconds, gamma_fresh_seconds_after, gamma_visit_index
from tarantula.revisit.schedule import Schedule, places_in_runs, run_starts

CERTAIN_SHAPE = 1e9
"""Shape of the Gamma distribution of a known rate."""

LEAST_GAIN_SHARE = 1e-13
"""Least gain of a visit, as a share of the horizon; smaller gains are rounding errors."""
LEVEL_BISECTION_STEPS = 100
GAP_BISECTION_STEPS = 30
"""Bisection steps for the gap of a page."""


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


PlanningPolicy = Callable[[UncertainPages, PerServerLimits], Schedule]
DEFAULT_POLICY = "lasting"
"""Policy of collections, unless another is configured."""


def enforce_pauses(times: Floats, visit_pages: Ints, uncertain: UncertainPages, limits: PerServerLimits) -> Schedule:
    """Move visits by the least total amount until all pauses hold; drop visits beyond a server's budget.

    Times that are too close become a block around their mean, which is the least-squares solution. Servers that are
    asked without a break, or from the start on, would all be asked at the same times: each has its own offset.
    """
    servers = uncertain.pages.servers[visit_pages]
    order = np.lexsort((times, servers))
    counts = np.bincount(servers, minlength=len(uncertain.pages.starts) - 1)
    number = places_in_runs(counts)
    # Of too many visits keep evenly spread ones.
    room = np.repeat(np.minimum(limits.budgets, counts), counts)
    of_server = np.repeat(counts, counts)
    kept = order[(number + 1) * room // of_server > number * room // of_server]
    starts = run_starts(np.minimum(limits.budgets, counts))
    moved = times[kept]
    longest = np.minimum(limits.rounded_pauses, limits.horizon)
    _separate_servers(
        moved, starts, longest, longest * server_offsets(len(longest)), limits.horizon, float(TICKS_PER_SECOND)
    )
    return Schedule(moved, visit_pages[kept], starts)


@njit(cache=True)
def _separate_servers(times, starts, limits, turns, horizon, ticks):  # type: ignore[no-untyped-def]
    for server in range(len(starts) - 1):
        _separate_visits(times[starts[server] : starts[server + 1]], limits[server], turns[server], horizon, ticks)


@njit(cache=True)
def _separate_visits(times, pause, turn, horizon, ticks):  # type: ignore[no-untyped-def]
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
    number, earliest, latest = 0, turn, horizon - (size - 1) * pause
    for one in range(block + 1):
        preferred = sums[one] / counts[one] + (turn - pause / 2 if counts[one] > 1 else 0.0)
        earliest = min(max(preferred, earliest), latest)
        start = np.floor(earliest * ticks) / ticks
        for _ in range(counts[one]):
            times[number] = start + number * pause
            number += 1


def allocate_aged(uncertain: UncertainPages, limits: PerServerLimits) -> Ints:
    """Return the optimal number of visits to each page; visits without a gain are left out."""
    return allocate_best_visits(uncertain, limits, is_repeated=False).visits


def aged(uncertain: UncertainPages, limits: PerServerLimits) -> Schedule:
    """Return the optimal schedule of a single horizon."""
    return spread_visits(allocate_aged(uncertain, limits), uncertain, limits)


def spread_visits(visits: Ints, uncertain: UncertainPages, limits: PerServerLimits) -> Schedule:
    """Make each visit as close as possible to the best time of its page, and keep all pauses."""
    visit_pages = np.repeat(np.arange(len(visits)), visits)
    number = places_in_runs(visits)
    even = (uncertain.ages + limits.horizon) / (visits + 1)
    gaps = np.where(even > uncertain.ages, even, limits.horizon / np.maximum(visits, 1))[visit_pages]
    times = limits.horizon - (visits[visit_pages] - number) * gaps
    return enforce_pauses(times.astype(np.float64), visit_pages, uncertain, limits)


def uniform(uncertain: UncertainPages, limits: PerServerLimits) -> Schedule:
    """Visit the pages of each server in turn at even intervals, the longest unvisited first."""
    pages = uncertain.pages
    counts = _visits_per_server(np.diff(pages.starts), limits)
    number = places_in_runs(counts)
    oldest = np.lexsort((-uncertain.ages, pages.servers))
    sizes = np.maximum(np.diff(pages.starts), 1)
    visit_pages = oldest[np.repeat(pages.starts[:-1], counts) + number % np.repeat(sizes, counts)].astype(np.int64)
    return Schedule(even_times(counts, limits.horizon, limits.rounded_pauses), visit_pages, run_starts(counts))


def _visits_per_server(sizes: Ints, limits: PerServerLimits) -> Ints:
    """Return the number of visits to each server, so that all pages get equal numbers as far as limits allow."""
    budgets = np.where(sizes > 0, limits.budgets, 0)
    most = min(int(budgets.sum()), limits.visits)
    low, high = 0.0, float(limits.visits) + 1.0
    for _ in range(LEVEL_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * sizes, budgets).sum() < most else (low, middle)
    preferred = np.minimum(high * sizes, budgets)
    counts: Ints = np.floor(preferred + 1e-9).astype(np.int64)
    # The remainder after rounding down goes to the servers that lost most.
    left = np.argsort(counts - preferred, kind="stable")
    left = left[counts[left] < budgets[left]][: most - int(counts.sum())]
    counts[left] += 1
    return counts


def lasting(uncertain: UncertainPages, limits: PerServerLimits) -> Schedule:
    """Return the optimal schedule of one horizon among many."""
    pages, (visits, prices) = uncertain.pages, allocate_best_visits(uncertain, limits, is_repeated=True)
    gaps: Floats = _gaps(
        visits, prices[pages.servers], uncertain.shapes, uncertain.scales, uncertain.ages, pages.weights, limits.horizon
    )
    visit_pages = np.repeat(np.arange(len(visits)), visits)
    number = places_in_runs(visits)
    # Overdue visits come first, the longest overdue before the others; visits after them count from now.
    first = (gaps - uncertain.ages)[visit_pages]
    due = np.where(number > 0, np.maximum(first, 0.0), first) + number * gaps[visit_pages]
    order = np.lexsort((due, pages.servers[visit_pages]))
    counts = np.bincount(pages.servers[visit_pages], minlength=len(pages.starts) - 1)
    return Schedule(
        even_times(counts, limits.horizon, limits.rounded_pauses, steady=True), visit_pages[order], run_starts(counts)
    )


@njit(cache=True)
def _gaps(visits, prices, shapes, scales, ages, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the gap after which each visited page is due: when its index equals the price of its server."""
    gaps = np.zeros(len(visits))
    for page in np.flatnonzero(visits):
        low, high = longest_gap(visits[page] + 1, ages[page], horizon), longest_gap(visits[page], ages[page], horizon)
        for _ in range(GAP_BISECTION_STEPS):
            middle = (low + high) / 2
            if weights[page] * gamma_visit_index(middle, shapes[page], scales[page]) < prices[page]:
                low = middle
            else:
                high = middle
        gaps[page] = high
    return gaps


PLANNING_POLICIES: dict[str, PlanningPolicy] = {"lasting": lasting, "aged": aged, "uniform": uniform}


def planning_policy(name: str) -> PlanningPolicy:
    """Return the planning policy of that name; policies for known rates assume that all pages were just visited."""
    if name in PLANNING_POLICIES:
        return PLANNING_POLICIES[name]
    if name not in POLICIES:
        raise TarantulaError(
            "There is no policy {name}. There are: {policies}.",
            name=name[:40],
            policies=", ".join((*POLICIES, *PLANNING_POLICIES)),
        )
    return lambda uncertain, limits: _apply_by_pause(POLICIES[name], uncertain, limits)


def policy_for_known_rates(name: str) -> RevisitPolicy:
    """Return the policy of that name for pages with known rates that were all just visited."""
    if name in POLICIES:
        return POLICIES[name]
    choose = planning_policy(name)
    return lambda pages, limits, _reading: choose(
        UncertainPages.known(pages),
        PerServerLimits(limits.horizon, np.full(len(pages.starts) - 1, limits.politeness), limits.visits),
    )


def _apply_by_pause(policy: RevisitPolicy, uncertain: UncertainPages, limits: PerServerLimits) -> Schedule:
    """Apply a policy to the servers of each pause separately, with their optimal total of visits."""
    visits, of_page = allocate_aged(uncertain, limits), limits.rounded_pauses[uncertain.pages.servers]
    times, visit_pages = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for pause in np.unique(of_page[np.isfinite(of_page)]):
        own = np.flatnonzero(of_page == pause)
        if not visits[own].sum():
            continue
        _, servers = np.unique(uncertain.pages.servers[own], return_inverse=True)
        pages = Pages.of(uncertain.pages.rates[own], servers, uncertain.pages.weights[own])
        made = policy(pages, VisitLimits(limits.horizon, float(pause), int(visits[own].sum())), ModelReading.FRESH)
        times.append(made.times)
        visit_pages.append(own[pages.order[made.pages]])
    return enforce_pauses(np.concatenate(times), np.concatenate(visit_pages), uncertain, limits)
