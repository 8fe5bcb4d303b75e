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

LEVEL_BISECTION_STEPS = 100
GAP_BISECTION_STEPS = 30
"""Bisection steps for the gap of a page."""
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
