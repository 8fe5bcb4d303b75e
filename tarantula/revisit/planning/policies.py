"""Planning policies for uncertain pages: lasting, aged, uniform, and the policies for known rates adapted to them.

*Aged* plans one horizon T. The time since the last visit (the age) belongs to the first gap of a page, so x visits are
best at even gaps of (age + T)/(x + 1) from the last visit on; a page whose first visit is overdue is visited at once,
and evenly from there. Each visit is then moved as little as possible until the pauses of its server hold.

*Lasting* plans a horizon that others follow, so the freshness that a visit buys after the end counts too. A plan for a
single day has little use for a page that changes every ten days, so a series of such plans would never visit it. Here a
page is due when its index reaches a price, and the price is the one at which as many visits are due as can be made.
With known rates and an endless horizon this is optimal (see `tarantula.revisit.optimum`). The visits of a server are
made at even times, in the order in which they are due.

*Uniform* visits all pages equally often, in turn: the baseline for the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import Floats, Ints, ModelReading
from tarantula.revisit.pages import TICKS_PER_SECOND, Pages, VisitLimits
from tarantula.revisit.phases.merge import even_times, server_offsets
from tarantula.revisit.planning.uncertain_pages import (
    PerServerLimits,
    UncertainPages,
    allocate_best_visits,
    longest_gap,
)
from tarantula.revisit.policies import POLICIES, RevisitPolicy
from tarantula.revisit.rates.gamma import gamma_visit_index
from tarantula.revisit.schedule import Schedule, places_in_runs, run_starts


def enforce_pauses(times: Floats, takers: Ints, believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Move visits by the least total amount until all pauses hold; drop visits beyond a server's budget.

    Times that are too close become a block around their mean, which is the least-squares solution. Servers that are
    asked without a break, or from the start on, would all be asked at the same times: each has its own offset.
    """
    servers = believed.pages.servers[takers]
    order = np.lexsort((times, servers))
    counts = np.bincount(servers, minlength=len(believed.pages.starts) - 1)
    number = places_in_runs(counts)
    # Of too many visits keep evenly spread ones.
    room = np.repeat(np.minimum(pauses.budgets, counts), counts)
    of_server = np.repeat(counts, counts)
    kept = order[(number + 1) * room // of_server > number * room // of_server]
    starts = run_starts(np.minimum(pauses.budgets, counts))
    moved = times[kept]
    longest = np.minimum(pauses.ticks, pauses.horizon)
    _set_all_apart(
        moved, starts, longest, longest * server_offsets(len(longest)), pauses.horizon, float(TICKS_PER_SECOND)
    )
    return Schedule(moved, takers[kept], starts)


@njit(cache=True)
def _set_all_apart(times, starts, pauses, turns, horizon, ticks):  # type: ignore[no-untyped-def]
    for server in range(len(starts) - 1):
        _set_apart(times[starts[server] : starts[server + 1]], pauses[server], turns[server], horizon, ticks)


@njit(cache=True)
def _set_apart(times, pause, turn, horizon, ticks):  # type: ignore[no-untyped-def]
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
        wished = sums[one] / counts[one] + (turn - pause / 2 if counts[one] > 1 else 0.0)
        earliest = min(max(wished, earliest), latest)
        start = np.floor(earliest * ticks) / ticks
        for _ in range(counts[one]):
            times[number] = start + number * pause
            number += 1


def allocate_aged(believed: UncertainPages, pauses: PerServerLimits) -> Ints:
    """Return the optimal number of visits to each page; visits without a gain are left out."""
    return allocate_best_visits(believed, pauses, for_good=False).visits


def aged(believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Return the optimal schedule of a single horizon."""
    return spread_visits(allocate_aged(believed, pauses), believed, pauses)


def spread_visits(visits: Ints, believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Make each visit as close as possible to the best time of its page, and keep all pauses."""
    takers = np.repeat(np.arange(len(visits)), visits)
    number = places_in_runs(visits)
    even = (believed.ages + pauses.horizon) / (visits + 1)
    gaps = np.where(even > believed.ages, even, pauses.horizon / np.maximum(visits, 1))[takers]
    times = pauses.horizon - (visits[takers] - number) * gaps
    return enforce_pauses(times.astype(np.float64), takers, believed, pauses)


LEVEL_BISECTION_STEPS = 100


def uniform(believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Visit the pages of each server in turn at even intervals, the longest unvisited first."""
    pages = believed.pages
    counts = _counts(np.diff(pages.starts), pauses)
    number = places_in_runs(counts)
    oldest = np.lexsort((-believed.ages, pages.servers))
    sizes = np.maximum(np.diff(pages.starts), 1)
    takers = oldest[np.repeat(pages.starts[:-1], counts) + number % np.repeat(sizes, counts)].astype(np.int64)
    return Schedule(even_times(counts, pauses.horizon, pauses.ticks), takers, run_starts(counts))


def _counts(sizes: Ints, pauses: PerServerLimits) -> Ints:
    """Return the number of visits to each server, so that all pages get equal numbers as far as limits allow."""
    budgets = np.where(sizes > 0, pauses.budgets, 0)
    most = min(int(budgets.sum()), pauses.visits)
    low, high = 0.0, float(pauses.visits) + 1.0
    for _ in range(LEVEL_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * sizes, budgets).sum() < most else (low, middle)
    wished = np.minimum(high * sizes, budgets)
    counts: Ints = np.floor(wished + 1e-9).astype(np.int64)
    # The remainder after rounding down goes to the servers that lost most.
    left = np.argsort(counts - wished, kind="stable")
    left = left[counts[left] < budgets[left]][: most - int(counts.sum())]
    counts[left] += 1
    return counts


GAP_BISECTION_STEPS = 30
"""Bisection steps for the gap of a page."""


def lasting(believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Return the optimal schedule of one horizon among many."""
    pages, (visits, prices) = believed.pages, allocate_best_visits(believed, pauses, for_good=True)
    gaps: Floats = _gaps(
        visits, prices[pages.servers], believed.shapes, believed.scales, believed.ages, pages.weights, pauses.horizon
    )
    takers = np.repeat(np.arange(len(visits)), visits)
    number = places_in_runs(visits)
    # Overdue visits come first, the longest overdue before the others; visits after them count from now.
    first = (gaps - believed.ages)[takers]
    due = np.where(number > 0, np.maximum(first, 0.0), first) + number * gaps[takers]
    order = np.lexsort((due, pages.servers[takers]))
    counts = np.bincount(pages.servers[takers], minlength=len(pages.starts) - 1)
    return Schedule(even_times(counts, pauses.horizon, pauses.ticks, steady=True), takers[order], run_starts(counts))


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


PlanningPolicy = Callable[[UncertainPages, PerServerLimits], Schedule]

PLANNING_POLICIES: dict[str, PlanningPolicy] = {"lasting": lasting, "aged": aged, "uniform": uniform}

DEFAULT_POLICY = "lasting"
"""Policy of collections, unless another is configured."""


def planning_policy(name: str) -> PlanningPolicy:
    """Return the planning policy of that name; policies for known rates assume that all pages were just visited."""
    if name in PLANNING_POLICIES:
        return PLANNING_POLICIES[name]
    if name not in POLICIES:
        raise TarantulaError(
            f"There is no policy {name[:40]}. There are: {', '.join((*POLICIES, *PLANNING_POLICIES))}."
        )
    return lambda believed, pauses: _by_pause(POLICIES[name], believed, pauses)


def policy_for_known_rates(name: str) -> RevisitPolicy:
    """Return the policy of that name for pages with known rates that were all just visited."""
    if name in POLICIES:
        return POLICIES[name]
    choose = planning_policy(name)
    return lambda pages, limits, _reading: choose(
        UncertainPages.known(pages),
        PerServerLimits(limits.horizon, np.full(len(pages.starts) - 1, limits.politeness), limits.visits),
    )


def _by_pause(policy: RevisitPolicy, believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Apply a policy to the servers of each pause separately, with their optimal total of visits."""
    visits, of_page = allocate_aged(believed, pauses), pauses.ticks[believed.pages.servers]
    times, takers = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for pause in np.unique(of_page[np.isfinite(of_page)]):
        own = np.flatnonzero(of_page == pause)
        if not visits[own].sum():
            continue
        _, servers = np.unique(believed.pages.servers[own], return_inverse=True)
        pages = Pages.of(believed.pages.rates[own], servers, believed.pages.weights[own])
        made = policy(pages, VisitLimits(pauses.horizon, float(pause), int(visits[own].sum())), ModelReading.FRESH)
        times.append(made.times)
        takers.append(own[pages.order[made.pages]])
    return enforce_pauses(np.concatenate(times), np.concatenate(takers), believed, pauses)
