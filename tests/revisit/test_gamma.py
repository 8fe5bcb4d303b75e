"""The Gamma distribution nearest to the posterior of a rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma

from tarantula.revisit.model import Floats
from tarantula.revisit.rates.estimators import change_probabilities, most_likely_rates, nearest_gamma

SHAPES = st.sampled_from([0.25, 0.5, 1.0, 2.0, 8.0, 16.0])


def believed(known: float, quiet: float, gaps: list[float]) -> tuple[float, float]:
    evidence = np.array([known]), np.array([quiet]), np.array([0, len(gaps)]), np.array(gaps)
    shapes, scales = nearest_gamma(*evidence, most_likely_rates(*evidence))
    return float(shapes[0]), float(scales[0])


def posterior(known: float, quiet: float, gaps: list[float]) -> tuple[Floats, Floats]:
    """Return logarithms of rates and their posterior, on a very fine grid."""
    powers = np.linspace(-75.0, 25.0, 40_001)
    rates = np.exp(powers)
    heights = known * powers - rates * quiet
    for gap in gaps:
        heights += np.log(-np.expm1(-np.maximum(rates * gap, 1e-300)))
    weights = np.exp(heights - heights.max())
    return powers, weights / weights.sum()


@given(SHAPES, st.floats(1e-3, 1e3), st.lists(st.floats(1e-3, 1e3), max_size=12))
def test_nearest_gamma_keeps_mean_and_mean_logarithm(known: float, quiet: float, gaps: list[float]) -> None:
    shape, scale = believed(known, quiet, gaps)
    powers, likely = posterior(known, quiet, gaps)
    assert shape / scale == pytest.approx(likely @ np.exp(powers), rel=0.01)
    assert digamma(shape) - np.log(scale) == pytest.approx(likely @ powers, abs=0.02)


@given(SHAPES, st.floats(1e-3, 1e3))
def test_without_changes_the_posterior_is_exact(known: float, quiet: float) -> None:
    assert believed(known, quiet, []) == (known, quiet)


def test_an_observed_change_says_less_than_a_dated_one() -> None:
    shape, _ = believed(1.0, 10.0, [1.0, 2.0])
    assert 1.0 < shape < 3.0


def test_a_page_that_always_changed_has_a_high_rate() -> None:
    gaps = [10.0] * 10
    shape, scale = believed(0.25, 0.25, gaps)
    powers, likely = posterior(0.25, 0.25, gaps)
    foretold = change_probabilities(np.array([10.0]), np.array([shape]), np.array([scale]))[0]
    truth = likely @ -np.expm1(-10.0 * np.exp(powers))
    assert truth > 0.95
    assert foretold == pytest.approx(truth, abs=0.03)


def test_a_thousand_changes_give_finite_results() -> None:
    shape, scale = believed(0.5, 1e6, [1.0] * 1000)
    assert shape == pytest.approx(1000, rel=0.02)
    assert shape / scale == pytest.approx(1e-3, rel=0.02)


def test_no_data_gives_finite_results() -> None:
    starts, none = np.array([0, 1, 1]), np.array([1.0])
    shapes, scales = nearest_gamma(np.zeros(2), np.array([0.0, 5.0]), starts, none, np.array([np.inf, 0.0]))
    assert shapes.tolist() == [0.0, 0.0]
    assert scales.tolist() == [0.0, 5.0]
