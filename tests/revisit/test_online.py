"""The online policy: highest index first, near the optimum with known and with estimated rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.revisit.bounds import optimal_frequencies, steady_freshness
from tarantula.revisit.experiments.experiment import synthetic_pages, zipf_shares
from tarantula.revisit.model import Pages, VisitLimits, gap_worth, weighted_mean
from tarantula.revisit.online import OnlinePolicy, run_online_policy, visit_indexes
from tarantula.revisit.rates.estimators import RatePrior

HOUR, DAY = 3600.0, 86400.0


@settings(max_examples=30, deadline=None)
@given(
    count=st.integers(1, 200),
    servers=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    steps=st.lists(st.sampled_from([0.25, 1.0, 7.0, 40.0]), min_size=1, max_size=80),
)
def test_the_page_with_the_highest_index_is_next(count: int, servers: int, seed: int, steps: list[float]) -> None:
    chance = np.random.default_rng(seed)
    rates = np.where(chance.random(count) < 0.1, 0.0, chance.uniform(0.0, 1.0, count) ** 3)
    pages = Pages.of(rates, chance.integers(0, servers, count), chance.pareto(1.0, count) + 0.1)
    policy, believed = OnlinePolicy(pages, 2.0), pages.rates.copy()
    now, last, asked = 0.0, np.zeros(count), np.full(servers, -np.inf)
    for step in steps:
        now += step
        page = policy.next(now)
        worth = np.where(now - asked[pages.servers] >= 2.0, visit_indexes(believed, pages.weights, now - last), 0.0)
        if page is None:
            assert worth.max() <= 0
            continue
        assert worth[page] == pytest.approx(worth.max(), rel=1e-5)
        assert now - asked[pages.servers[page]] >= 2.0
        believed[page] *= chance.choice([0.5, 1.0, 2.0])
        policy.visited(page, now, believed[page])
        last[page], asked[pages.servers[page]] = now, now


@given(st.floats(1e-12, 0.999))
def test_gap_worth_never_overestimates(share: float) -> None:
    u = gap_worth(share)
    # The index is a difference of numbers near 1, each of which is rounded.
    rounding = np.finfo(float).eps
    assert visit_indexes(np.array([1.0]), np.array([1.0]), np.array([u]))[0] <= share * (1 + 1e-9) + rounding
    assert visit_indexes(np.array([1.0]), np.array([1.0]), np.array([u]))[0] >= share * (1 - 1e-3)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("pause", [0.0, 15.0])
def test_the_policy_is_near_the_optimum_with_known_and_estimated_rates(pause: float, weighed: bool) -> None:
    pages = synthetic_pages(1_000, 10, 1.0, 0.01 / HOUR, 1 / HOUR)
    weights = np.random.default_rng(1).permutation(zipf_shares(1_000, 0.7)) if weighed else None
    pages = Pages.of(pages.rates, pages.servers, weights)
    best = optimal_frequencies(pages, VisitLimits(DAY, 60.0, int(DAY / pause) if pause else 10**9))
    least = 1 - weighted_mean(steady_freshness(pages, best.frequencies), pages.weights)
    known, visits = run_online_policy(pages, 60.0, pause, 4 * DAY, 2 * DAY, None)
    guessed, _ = run_online_policy(pages, 60.0, pause, 4 * DAY, 2 * DAY, RatePrior(0.5, 2 * HOUR))
    print(f"staleness {1 - known:.4f} with known rates, {1 - guessed:.4f} with estimated ones, {least:.4f} at best")
    assert visits == pytest.approx(4 * DAY / (pause or 6.0), rel=0.01)
    assert 1 - known < 1.005 * least
    assert 1 - guessed < 1.04 * least
