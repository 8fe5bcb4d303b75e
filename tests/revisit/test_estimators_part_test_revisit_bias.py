"""What the estimators do at rates that are known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tarantula.revisit.rates.estimators import cho_rate
from tarantula.revisit.rates.estimators_part_bias import estimator_errors
from tests.support.command_result import Tarantula


def test_chos_estimator_is_hardly_biased_after_ten_visits() -> None:
    found = estimator_errors(np.linspace(0.1, 3.0, 59).tolist())
    assert max(abs(row.cho.bias) for row in found) < 0.16
    assert all(row.cho.infinite == pytest.approx(0.0, abs=1e-12) for row in found)


def test_the_most_likely_rate_is_often_infinite_and_a_prior_keeps_it_within_bounds() -> None:
    fast = estimator_errors([3.0])[0]
    assert fast.most_likely.infinite > 0.5
    assert fast.with_prior.infinite == pytest.approx(0.0, abs=1e-12)
    slow = estimator_errors([0.2])[0]
    assert slow.with_prior.error < slow.cho.error < slow.most_likely.error


def test_the_exact_bias_is_what_many_trials_find() -> None:
    unchanged = np.random.default_rng(5).binomial(10, np.exp(-2.0), 100_000)
    guesses = np.array([cho_rate(10, count, 1.0) for count in range(11)])[unchanged]
    found = estimator_errors([2.0])[0].cho
    assert guesses.mean() / 2 - 1 == pytest.approx(found.bias, abs=0.005)
    assert np.sqrt(((guesses - 2) ** 2).mean()) / 2 == pytest.approx(found.error, abs=0.005)


def test_a_command_prints_the_table(tarantula: Tarantula) -> None:
    shown = tarantula("revisit", "estimators")
    assert shown.code == 0
    assert "60.0 % infinite" in shown.out
    rows = json.loads(tarantula("revisit", "estimators", "--json", "--visits", "20").out)
    assert [row["changes"] for row in rows] == [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert all(abs(row["cho"]["bias"]) < 0.16 for row in rows)
