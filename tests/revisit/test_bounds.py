"""Bounds: no polite schedule is below PoliteBound, and `slotted` comes close to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.revisit import phases
from tarantula.revisit.bounds import most_paid, page_surplus, polite_bound, weak_politeness
from tarantula.revisit.experiments.experiment import Experiment, SyntheticWeb, ValueRange, synthetic_pages, zipf_shares
from tarantula.revisit.model import Floats, ModelReading, Pages, VisitLimits, even_freshness_of_pages, weighted_mean
from tarantula.revisit.policies import psp, slotted
from tarantula.revisit.schedule import schedule_staleness
from tarantula.revisit.simulator.simulation import SimulatedWeb, dispatched_schedule
from tarantula.revisit.slot_market import best_visits, fill_powers, has_profitable_visit, work_arrays

HORIZON = 10.0
DAY = VisitLimits(86400.0, 15.0, 10**9)


def fresh_for(rate: float, times: Floats) -> Floats:
    """Return the fresh seconds of a page visited at these times, one schedule per row."""
    edges = np.concatenate([np.zeros((len(times), 1)), times, np.full((len(times), 1), HORIZON)], axis=1)
    gaps = np.diff(edges)
    return np.asarray((-np.expm1(-rate * gaps) / rate if rate else gaps).sum(axis=1))


def least_stale(rates: list[float], weights: list[float], politeness: float, most: int) -> float:
    """Return the least staleness of all schedules on a fine time grid."""
    grid = np.linspace(0.0, HORIZON, 41)
    best = 0.0
    for count in range(most + 1):
        times = np.array(
            [chosen for chosen in combinations(grid, count) if count < 2 or min(np.diff(chosen)) >= politeness]
        )
        times = times.reshape(len(times), count)
        if not len(times):
            continue
        subsets = list(product([False, True], repeat=count))
        worth = {
            (page, subset): weight * fresh_for(rate, times[:, list(subset)])
            for page, (rate, weight) in enumerate(zip(rates, weights, strict=True))
            for subset in subsets
        }
        for takers in product(range(len(rates)), repeat=count):
            whole = sum(worth[page, tuple(taker == page for taker in takers)] for page in range(len(rates)))
            best = max(best, float(np.max(whole)))
    return 1.0 - best / (HORIZON * sum(weights))


@settings(max_examples=25, deadline=None)
@given(
    rates=st.lists(st.sampled_from([0.0, 0.02, 0.1, 0.3, 1.0, 4.0]), min_size=2, max_size=3),
    weights=st.lists(st.sampled_from([0.2, 1.0, 5.0]), min_size=3, max_size=3),
    politeness=st.sampled_from([2.5, 3.0, 4.5]),
    visits=st.integers(1, 4),
)
def test_no_schedule_is_below_the_bound(
    rates: list[float], weights: list[float], politeness: float, visits: int
) -> None:
    limits = VisitLimits(HORIZON, politeness, visits)
    bound = polite_bound(Pages.of(rates, [0] * len(rates), weights[: len(rates)]), limits, ModelReading.FRESH)
    least = least_stale(rates, weights[: len(rates)], politeness, min(visits, limits.visits_per_server))
    assert bound <= least + 1e-12


@settings(max_examples=12, deadline=None)
@given(
    rates=st.lists(st.sampled_from([0.0, 0.02, 0.1, 0.3, 1.0, 4.0]), min_size=2, max_size=3),
    weights=st.lists(st.sampled_from([0.2, 1.0, 5.0]), min_size=3, max_size=3),
    seconds=st.sampled_from([2.5, 3.0, 4.5]),
)
def test_a_busy_crawler_counts_like_a_full_server(rates: list[float], weights: list[float], seconds: float) -> None:
    limits = VisitLimits(HORIZON, 0.01, int(HORIZON / seconds), (seconds,))
    pages = Pages.of(rates, range(len(rates)), weights[: len(rates)])
    bound = polite_bound(pages, limits, ModelReading.FRESH)
    assert bound <= least_stale(rates, weights[: len(rates)], seconds, limits.visits) + 1e-12


@settings(max_examples=25, deadline=None)
@given(
    documents=st.integers(2, 400),
    servers=st.integers(1, 6),
    theta=st.floats(0.0, 2.0),
    speeds=st.lists(st.floats(0.05, 3.0), min_size=1, max_size=4),
)
def test_executed_schedules_are_not_below_the_bound(
    documents: int, servers: int, theta: float, speeds: list[float]
) -> None:
    chance = np.random.default_rng(documents)
    pages = Pages.of(
        chance.uniform(0.0, 0.3, documents) ** 2, chance.integers(0, servers, documents), zipf_shares(documents, theta)
    )
    crawlers = np.array(speeds)
    limits = VisitLimits(100.0, 1.0, int(crawlers.sum() * 100.0), tuple(1.0 / crawlers))
    for policy in (psp, slotted):
        visits = dispatched_schedule(
            policy(pages, limits, ModelReading.FRESH), SimulatedWeb.of(pages), crawlers, limits
        )
        assert (
            polite_bound(pages, limits, ModelReading.FRESH)
            <= schedule_staleness(visits, pages, limits, ModelReading.FRESH) + 1e-12
        )


@settings(max_examples=30, deadline=None)
@given(
    documents=st.integers(2, 400),
    servers=st.integers(1, 4),
    theta=st.floats(0.0, 2.0),
    visits=st.integers(1, 2000),
    politeness=st.floats(0.2, 5.0),
)
def test_policies_are_not_below_the_bound_and_it_is_at_least_wp(
    documents: int, servers: int, theta: float, visits: int, politeness: float
) -> None:
    chance = np.random.default_rng(documents)
    pages = Pages.of(
        chance.uniform(0.0, 1.0, documents) ** 3, chance.integers(0, servers, documents), zipf_shares(documents, theta)
    )
    limits = VisitLimits(100.0, politeness, visits)
    for reading in ModelReading:
        bound = polite_bound(pages, limits, reading)
        even = even_freshness_of_pages(phases.allocate_politely(pages, limits, reading), pages.changes(100.0), reading)
        assert 1.0 - weighted_mean(even, pages.weights) <= bound + 1e-12
        assert bound <= schedule_staleness(slotted(pages, limits, reading), pages, limits, reading) + 1e-12


@pytest.mark.parametrize("visits", [400, 401, 500])
def test_a_server_that_is_full_to_the_last_moment_keeps_the_bound(visits: int) -> None:
    chance = np.random.default_rng(16)
    pages = Pages.of(chance.uniform(0.0, 1.0, 16) ** 3, chance.integers(0, 1, 16), zipf_shares(16, 0.0))
    limits = VisitLimits(100.0, 0.25, visits)
    bound = polite_bound(pages, limits, ModelReading.FRESH)
    stale = schedule_staleness(slotted(pages, limits, ModelReading.FRESH), pages, limits, ModelReading.FRESH)
    assert bound <= stale + 1e-12


@pytest.mark.parametrize(("documents", "near"), [(600, 0.2), (5_000, 0.05), (20_000, 0.05)])
def test_slotted_is_close_to_the_bound(documents: int, near: float) -> None:
    pages = synthetic_pages(documents, 1, 1.0, 0.01 / 3600, 1 / 3600)
    visits = phases.allocate_politely(pages, DAY, ModelReading.FRESH)
    old = 1.0 - weighted_mean(
        even_freshness_of_pages(visits, pages.changes(DAY.horizon), ModelReading.FRESH), pages.weights
    )
    new = polite_bound(pages, DAY, ModelReading.FRESH)
    found = schedule_staleness(slotted(pages, DAY, ModelReading.FRESH), pages, DAY, ModelReading.FRESH)
    assert found - new < near * (found - old)


def test_busy_crawlers_tighten_the_bound() -> None:
    supposed = Experiment(SyntheticWeb(10_000, 20, theta=0.0), rate=ValueRange(0.1, 0.1))
    pages, limits = supposed.world.pages(), supposed.limits()
    found = schedule_staleness(slotted(pages, limits, ModelReading.FRESH), pages, limits, ModelReading.FRESH)
    old, new = (polite_bound(pages, one, ModelReading.FRESH) for one in (replace(limits, crawlers=()), limits))
    assert old == pytest.approx(weak_politeness(pages, limits, ModelReading.FRESH))
    assert found - new < 0.12 * (found - old)


@given(
    rate=st.floats(0.01, 900.0),
    prices=st.lists(st.floats(0.0, 0.4), min_size=1, max_size=7),
    slack=st.floats(0.0, 0.2),
)
def test_best_visits_of_a_page_are_optimal(rate: float, prices: list[float], slack: float) -> None:
    count, worth = len(prices), 1.0 / rate
    step, decay = 1.0 / count, worth * (1 - slack)
    powers, worths, follows, hull = work_arrays(count)
    fill_powers(rate, step, powers)
    edge = np.exp(-rate * step / 2)
    first, left = best_visits(worth, decay, edge, edge, np.array(prices), powers, worths, follows, hull)
    points = (np.arange(count) + 0.5) * step

    def worth_of(chosen: list[int]) -> float:
        gaps = np.diff(np.concatenate([[0.0], points[chosen], [1.0]]))
        return float((worth - decay * np.exp(-rate * gaps)).sum() - sum(prices[point] for point in chosen))

    found = []
    while first < count:
        found.append(first)
        first = follows[first]
    all_of_them = [list(chosen) for size in range(count + 1) for chosen in combinations(range(count), size)]
    best = max(worth_of(chosen) for chosen in all_of_them)
    assert left == pytest.approx(best, abs=1e-12 * worth)
    assert worth_of(found) == pytest.approx(best, abs=1e-12 * worth)
    if not has_profitable_visit(worth, worth, edge, edge, np.array(prices), powers) and slack == 0:
        assert found == []


@given(
    nodes=st.lists(st.floats(0.0, 5.0), min_size=2, max_size=9).map(np.array),
    pause=st.sampled_from([0.5, 1.0, 1.7, 4.0, 10.0]),
)
def test_visits_a_pause_apart_pay_at_most_the_bound(nodes: Floats, pause: float) -> None:
    times = np.linspace(0.0, HORIZON, 201)
    prices = np.interp(times, np.linspace(0.0, HORIZON, len(nodes)), nodes)
    steps = int(np.ceil(pause / 0.05 - 1e-9))
    most = np.zeros(len(times) + steps + 1)
    for place in range(len(times) - 1, -1, -1):
        most[place] = max(most[place + 1], prices[place] + most[place + steps])
    assert most[0] <= most_paid(nodes, HORIZON, pause) + 1e-9


@given(
    rate=st.floats(0.001, 30.0),
    weight=st.sampled_from([0.1, 1.0, 20.0]),
    nodes=st.lists(st.floats(0.01, 0.6), min_size=3, max_size=9).map(np.array),
)
def test_page_surplus_is_an_upper_bound(rate: float, weight: float, nodes: Floats) -> None:
    points, worth = 4001, weight / (rate * HORIZON)
    prices = np.interp(np.linspace(0.0, HORIZON, points), np.linspace(0.0, HORIZON, len(nodes)), nodes)
    powers, worths, follows, hull = work_arrays(points)
    fill_powers(rate, HORIZON / (points - 1), powers)
    _, most = best_visits(worth, worth, 1.0, 1.0, prices, powers, worths, follows, hull)
    bound = page_surplus(nodes, np.array([rate]), np.array([weight]), HORIZON)
    # Sums over thousands of points differ in their last digits.
    assert most <= bound * (1.0 + 1e-9) + 1e-12
    assert bound <= most + 0.05 * weight
