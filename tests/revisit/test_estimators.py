"""Estimators of change rates, and their bias."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tarantula.revisit.rates.estimators import ObservedVisit, RatePrior, cho_rate, estimator_errors, rate_of_visits
from tests.support.command_result import Tarantula

NOTHING = RatePrior(1e-9, 1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0, 2.0, 3.0])
def test_cho_is_nearly_unbiased_after_ten_regular_visits(rate: float) -> None:
    unchanged = np.random.default_rng(1).binomial(10, np.exp(-rate), 20_000)
    guesses = np.array([cho_rate(10, count, 1.0) for count in range(11)])[unchanged]
    assert abs(guesses.mean() / rate - 1) < 0.16


def test_irregular_visits_are_weighted_by_their_gaps() -> None:
    chance, rate = np.random.default_rng(2), 0.2
    gaps = chance.exponential(4.0, 20_000)
    visits = [
        ObservedVisit(gap, bool(changed))
        for gap, changed in zip(gaps, chance.random(20_000) > np.exp(-rate * gaps), strict=True)
    ]
    assert rate_of_visits(visits, NOTHING) == pytest.approx(rate, rel=0.03)


def test_the_most_likely_rate_solves_its_equation() -> None:
    visits = [ObservedVisit(1.0, True), ObservedVisit(3.0, False), ObservedVisit(2.0, True)]
    rate = rate_of_visits(visits, NOTHING)
    assert sum(visit.gap / np.expm1(rate * visit.gap) for visit in visits if visit.changed) == pytest.approx(3.0)


def test_known_change_times_sharpen_the_estimate() -> None:
    chance, rate = np.random.default_rng(4), 2.0
    dated, undated = [], []
    for _ in range(300):
        ages = chance.exponential(1 / rate, 10)
        visits = [ObservedVisit(1.0, bool(age < 1.0), age if age < 1.0 else None) for age in ages]
        dated.append(rate_of_visits(visits, RatePrior(0.5, 0.5)))
        undated.append(rate_of_visits([visit._replace(age=None) for visit in visits], RatePrior(0.5, 0.5)))
    error = [np.sqrt(np.mean((np.array(guesses) - rate) ** 2)) for guesses in (dated, undated)]
    assert error[0] < error[1]


@pytest.mark.parametrize("changed", [True, False])
def test_visits_with_equal_outcomes_give_finite_rates(changed: bool) -> None:
    rate = rate_of_visits([ObservedVisit(3600.0, changed)] * 5, RatePrior(0.5, 86400.0))
    assert 0 < rate < 1
    assert rate_of_visits([], RatePrior(0.5, 86400.0)) == 0.5 / 86400.0


def test_exact_bias_of_cho_is_small() -> None:
    found = estimator_errors(np.linspace(0.1, 3.0, 59).tolist())
    assert max(abs(row.cho.bias) for row in found) < 0.16
    assert all(row.cho.infinite == pytest.approx(0.0, abs=1e-12) for row in found)


def test_the_most_likely_rate_is_often_infinite_without_a_prior() -> None:
    fast = estimator_errors([3.0])[0]
    assert fast.most_likely.infinite > 0.5
    assert fast.with_prior.infinite == pytest.approx(0.0, abs=1e-12)
    slow = estimator_errors([0.2])[0]
    assert slow.with_prior.error < slow.cho.error < slow.most_likely.error


def test_the_exact_bias_matches_random_trials() -> None:
    unchanged = np.random.default_rng(5).binomial(10, np.exp(-2.0), 100_000)
    guesses = np.array([cho_rate(10, count, 1.0) for count in range(11)])[unchanged]
    found = estimator_errors([2.0])[0].cho
    assert guesses.mean() / 2 - 1 == pytest.approx(found.bias, abs=0.005)
    assert np.sqrt(((guesses - 2) ** 2).mean()) / 2 == pytest.approx(found.error, abs=0.005)


def test_the_command_prints_the_table(tarantula: Tarantula) -> None:
    shown = tarantula("revisit", "estimators")
    assert shown.code == 0
    assert "60.0 % infinite" in shown.out
    rows = json.loads(tarantula("revisit", "estimators", "--json", "--visits", "20").out)
    assert [row["changes"] for row in rows] == [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert all(abs(row["cho"]["bias"]) < 0.16 for row in rows)
