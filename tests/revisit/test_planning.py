"""Planning policies for pages with uncertain rates and different ages."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import Floats, Ints, weighted_mean
from tarantula.revisit.planning import (
    PLANNING_POLICIES,
    PerServerLimits,
    UncertainPages,
    aged,
    allocate_aged,
    expected_freshness,
    planning_policy,
    uniform,
    visit_gaps,
)
from tarantula.revisit.planning import fresh_seconds_with_visits as worth_of
from tarantula.revisit.policies import POLICIES
from tarantula.revisit.rates.estimators import (
    change_probabilities,
    gamma_fresh_seconds,
    gamma_fresh_seconds_after,
    unchanged_probability,
)
from tarantula.revisit.schedule import Schedule

HOUR, DAY = 3600.0, 86_400.0
SURE = 1e7
"""Shape of the distribution of a certain rate."""


def world(pages: int = 400, servers: int = 4, seed: int = 1, sure: bool = False) -> UncertainPages:
    chance = np.random.default_rng(seed)
    rates = 10 ** chance.uniform(-1.5, 1.5, pages) / DAY
    shapes = np.full(pages, SURE) if sure else chance.uniform(0.3, 6.0, pages)
    ages = chance.exponential(DAY, pages)
    return UncertainPages.of(
        shapes, shapes / rates, ages, chance.integers(0, servers, pages), chance.uniform(1, 3, pages)
    )


def pauses(visits: int = 1000, servers: int = 4) -> PerServerLimits:
    return PerServerLimits(DAY, np.arange(60.0, 60.0 * servers + 1, 60.0).astype(np.float64), visits)


def mean_freshness(schedule: Schedule, uncertain: UncertainPages) -> float:
    return weighted_mean(expected_freshness(schedule, uncertain, DAY), uncertain.pages.weights)


@given(st.floats(0.05, 20), st.floats(1e4, 1e7), st.floats(0.0, 1e6), st.floats(1.0, 1e6))
def test_freshness_is_the_integral_of_the_unchanged_probability(
    shape: float, scale: float, age: float, seconds: float
) -> None:
    summed, _ = quad(lambda time: unchanged_probability(age + time, shape, scale), 0, seconds, epsrel=1e-8, limit=200)
    assert gamma_fresh_seconds_after(age, seconds, shape, scale) == pytest.approx(summed, rel=1e-6)


def test_a_large_shape_behaves_like_a_known_rate() -> None:
    rate = 1 / DAY
    assert unchanged_probability(DAY, SURE, SURE / rate) == pytest.approx(np.exp(-1), rel=1e-6)
    assert gamma_fresh_seconds(DAY, SURE, SURE / rate) == pytest.approx(DAY * (1 - np.exp(-1)), rel=1e-6)
    assert unchanged_probability(DAY, 0.5, 0.5 / rate) > unchanged_probability(DAY, SURE, SURE / rate)


@given(st.floats(0.05, 50), st.floats(1.0, 1e7), st.floats(0.0, 1e6))
def test_each_visit_gains_less_than_the_one_before(shape: float, scale: float, age: float) -> None:
    worth = [worth_of(visits, shape, scale, age, DAY) for visits in range(8)]
    gains = [later - before for before, later in pairwise(worth)]
    assert min(gains) >= -1e-6
    assert all(later <= before + 1e-6 * DAY for before, later in pairwise(gains))


@given(st.integers(1, 4), st.floats(0.0, 3 * DAY), st.floats(0.3, 20), st.data())
def test_planned_times_are_optimal_for_a_single_page(
    visits: int, age: float, shape: float, data: st.DataObject
) -> None:
    scale = shape * DAY / 3
    times = sorted(data.draw(st.lists(st.floats(0, DAY), min_size=visits, max_size=visits)))
    fresh = gamma_fresh_seconds_after(age, times[0], shape, scale)
    fresh += sum(gamma_fresh_seconds(later - before, shape, scale) for before, later in pairwise([*times, DAY]))
    assert fresh <= worth_of(visits, shape, scale, age, DAY) + 1e-6


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(1, 3000))
def test_pauses_and_limits_always_hold(seed: int, visits: int) -> None:
    uncertain, limits = world(seed=seed), pauses(visits)
    for name in PLANNING_POLICIES:
        check(PLANNING_POLICIES[name](uncertain, limits), uncertain, limits)


@pytest.mark.parametrize("name", [*PLANNING_POLICIES, *POLICIES])
def test_every_policy_keeps_the_pause_of_each_server(name: str) -> None:
    uncertain, limits = world(), pauses(2000)._replace(most_per_server=np.array([np.inf, 3, np.inf, 0]))
    check(planning_policy(name)(uncertain, limits), uncertain, limits)


def check(schedule: Schedule, uncertain: UncertainPages, limits: PerServerLimits) -> None:
    assert 0 < len(schedule.times) <= limits.visits
    assert schedule.times.min() >= 0
    assert schedule.times.max() <= limits.horizon
    for server, (begin, end) in enumerate(pairwise(schedule.starts)):
        assert end - begin <= limits.budgets[server]
        assert (np.diff(schedule.times[begin:end]) >= limits.pauses[server]).all()
        assert (uncertain.pages.servers[schedule.pages[begin:end]] == server).all()


def test_using_ages_beats_assuming_fresh_pages() -> None:
    uncertain, limits = world(), pauses(300)
    fresh = {
        name: mean_freshness(planning_policy(name)(uncertain, limits), uncertain)
        for name in (*PLANNING_POLICIES, *POLICIES)
    }
    assert max(fresh, key=lambda name: fresh[name]) == "aged"
    assert fresh["aged"] > fresh["uniform"] + 0.05


def test_the_greedy_choice_is_optimal() -> None:
    uncertain, limits = world(pages=4, servers=1), PerServerLimits(DAY, np.array([HOUR]), 5)

    def worth(visits: tuple[int, ...]) -> float:
        rows = zip(visits, uncertain.shapes, uncertain.scales, uncertain.ages, uncertain.pages.weights, strict=True)
        return float(
            sum(weight * worth_of(number, shape, scale, age, DAY) for number, shape, scale, age, weight in rows)
        )

    best = max((choice for choice in np.ndindex(6, 6, 6, 6) if sum(choice) <= 5), key=worth)
    assert worth(tuple(allocate_aged(uncertain, limits).tolist())) == pytest.approx(worth(best))


def test_overdue_pages_come_at_once_and_fresh_ones_in_the_middle() -> None:
    both = UncertainPages.of(np.full(2, SURE), np.full(2, SURE * DAY), np.array([100 * DAY, 0.0]), np.array([0, 1]))
    schedule = aged(both, PerServerLimits(DAY, np.full(2, HOUR), 2, 1.0))
    assert schedule.pages.tolist() == [0, 1]
    assert schedule.times.tolist() == [0.0, DAY / 2]
    assert visit_gaps(schedule, both).tolist() == [100 * DAY, DAY / 2]


def test_expected_freshness_matches_random_changes() -> None:
    uncertain, limits, trials = world(pages=60), pauses(200), 3000
    schedule = aged(uncertain, limits)
    chance = np.random.default_rng(11)
    visits = [np.sort(schedule.times[schedule.pages == page]) for page in range(len(uncertain))]
    fresh = np.zeros(trials)
    for trial in range(trials):
        rates = chance.gamma(uncertain.shapes, 1 / uncertain.scales)
        moments = chance.uniform(0, DAY, len(uncertain))
        last = np.array(
            [
                times[times <= moment].max(initial=-age)
                for times, moment, age in zip(visits, moments, uncertain.ages, strict=True)
            ]
        )
        fresh[trial] = weighted_mean(
            chance.random(len(uncertain)) < np.exp(-rates * (moments - last)), uncertain.pages.weights
        )
    error = fresh.std() / np.sqrt(trials)
    assert abs(fresh.mean() - mean_freshness(schedule, uncertain)) < 4 * error


def test_change_probabilities_grow_with_the_gap() -> None:
    gaps = np.array([0.0, 1.0, DAY, 1e12, np.inf])
    found = change_probabilities(gaps, np.full(5, 0.7), np.full(5, DAY))
    assert found[0] == 0
    assert (np.diff(found) >= 0).all()
    assert found[-1] == 1


def believed_of(shapes: list[float], scales: list[float], weights: list[float] | None = None) -> UncertainPages:
    size = len(shapes)
    servers: Ints = np.zeros(size, dtype=np.int64)
    weighed: Floats | None = None if weights is None else np.array(weights)
    return UncertainPages.of(np.array(shapes), np.array(scales), np.full(size, DAY), servers, weighed)


def test_extreme_rates_get_no_visits_and_no_nan() -> None:
    uncertain = believed_of([0.0, 1.0, 1.0], [DAY, 0.0, DAY])
    assert np.isinf(uncertain.pages.rates).tolist() == [False, True, False]
    schedule = aged(uncertain, PerServerLimits(DAY, np.array([HOUR]), 5))
    assert set(schedule.pages.tolist()) == {2}
    fresh = expected_freshness(schedule, uncertain, DAY)
    assert fresh[:2].tolist() == [1.0, 0.0]
    assert np.isfinite(fresh).all()


def test_a_server_without_a_budget_gets_no_visit() -> None:
    uncertain = UncertainPages.of(np.ones(2), np.full(2, DAY), np.full(2, DAY), np.array([0, 1]))
    for budgets in (
        PerServerLimits(DAY, np.array([HOUR, np.inf]), 5),
        PerServerLimits(DAY, np.full(2, HOUR), 5, np.array([np.inf, 0])),
    ):
        for name in (*PLANNING_POLICIES, *POLICIES):
            made = planning_policy(name)(uncertain, budgets)
            assert set(made.pages.tolist()) == {0}, name
            assert np.isfinite(expected_freshness(made, uncertain, DAY)).all()


def test_invalid_input_is_refused_with_a_message() -> None:
    with pytest.raises(TarantulaError, match="A weight must be a finite number"):
        believed_of([1.0], [DAY], [-1.0])
    with pytest.raises(TarantulaError, match="Shapes, scales and ages"):
        believed_of([-1.0], [DAY])
    with pytest.raises(TarantulaError, match="There is no policy wolf"):
        planning_policy("wolf")


@given(st.integers(0, 10_000))
def test_uniform_visits_all_pages_equally_often(visits: int) -> None:
    uncertain = world(pages=50, servers=2)
    schedule = uniform(uncertain, PerServerLimits(DAY, np.full(2, 60.0), visits))
    assert len(schedule.times) == min(visits, 2 * 1440)
    counts = np.bincount(schedule.pages, minlength=50)
    if visits < 1000:
        assert counts.max() - counts.min() <= 2
