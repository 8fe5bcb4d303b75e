"""Rates from what visits found."""

from __future__ import annotations

import numpy as np
import pytest

from tarantula.revisit.rates.estimators import ObservedVisit, RatePrior, cho_rate, rate_of_visits

NOTHING = RatePrior(1e-9, 1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0, 2.0, 3.0])
def test_ten_regular_visits_are_hardly_biased(rate: float) -> None:
    unchanged = np.random.default_rng(1).binomial(10, np.exp(-rate), 20_000)
    guesses = np.array([cho_rate(10, count, 1.0) for count in range(11)])[unchanged]
    assert abs(guesses.mean() / rate - 1) < 0.16


def test_irregular_visits_are_weighed_by_their_gaps() -> None:
    chance, rate = np.random.default_rng(2), 0.2
    gaps = chance.exponential(4.0, 20_000)
    visits = [
        ObservedVisit(gap, bool(changed))
        for gap, changed in zip(gaps, chance.random(20_000) > np.exp(-rate * gaps), strict=True)
    ]
    assert rate_of_visits(visits, NOTHING) == pytest.approx(rate, rel=0.03)


def test_the_most_likely_rate_is_the_root_of_its_equation() -> None:
    visits = [ObservedVisit(1.0, True), ObservedVisit(3.0, False), ObservedVisit(2.0, True)]
    rate = rate_of_visits(visits, NOTHING)
    assert sum(visit.gap / np.expm1(rate * visit.gap) for visit in visits if visit.changed) == pytest.approx(3.0)


def test_a_server_that_tells_when_a_page_changed_says_more() -> None:
    chance, rate = np.random.default_rng(4), 2.0
    told, untold = [], []
    for _ in range(300):
        ages = chance.exponential(1 / rate, 10)
        visits = [ObservedVisit(1.0, bool(age < 1.0), age if age < 1.0 else None) for age in ages]
        told.append(rate_of_visits(visits, RatePrior(0.5, 0.5)))
        untold.append(rate_of_visits([visit._replace(age=None) for visit in visits], RatePrior(0.5, 0.5)))
    error = [np.sqrt(np.mean((np.array(guesses) - rate) ** 2)) for guesses in (told, untold)]
    assert error[0] < error[1]


@pytest.mark.parametrize("changed", [True, False])
def test_visits_that_all_found_the_same_give_no_nonsense(changed: bool) -> None:
    rate = rate_of_visits([ObservedVisit(3600.0, changed)] * 5, RatePrior(0.5, 86400.0))
    assert 0 < rate < 1
    assert rate_of_visits([], RatePrior(0.5, 86400.0)) == 0.5 / 86400.0
