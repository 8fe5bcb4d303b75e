"""Laws of change with the same mean rate."""

from __future__ import annotations

import numpy as np
import pytest

from tarantula.core.errors import TarantulaError
from tarantula.revisit.changes import (
    ChangeLaw,
    draw_laws,
    expected_fresh_seconds,
    first_change,
    generator_states,
    next_change,
)

LAWS = pytest.mark.parametrize("law", [int(law) for law in ChangeLaw], ids=[law.label for law in ChangeLaw])
RATE = 0.5


def changes_of(law: int, page: int, draws: np.ndarray, until: float) -> list[float]:
    times, time = [], first_change(law, RATE, draws, page)
    while time <= until:
        times.append(time)
        time += next_change(law, RATE, draws, page)
    return times


@LAWS
def test_all_laws_have_the_same_mean_rate(law: int) -> None:
    draws = generator_states(3_000, 7)
    times = np.concatenate([changes_of(law, page, draws, 12.0) for page in range(3_000)])
    early = np.count_nonzero(times <= 6.0)
    assert early == pytest.approx(3_000 * 6.0 * RATE, rel=0.06)
    assert len(times) - early == pytest.approx(early, rel=0.06)


@LAWS
@pytest.mark.parametrize("gap", [0.3, 2.0, 9.0])
def test_fresh_seconds_match_the_expectation(law: int, gap: float) -> None:
    draws = generator_states(5_000, 3)
    fresh = np.array([min(first_change(law, RATE, draws, page), gap) for page in range(5_000)])
    error = fresh.std() / np.sqrt(len(fresh))
    assert abs(fresh.mean() - expected_fresh_seconds(law, RATE, gap)) < 3.5 * error


@LAWS
def test_extreme_rates_and_gaps_give_finite_results(law: int) -> None:
    draws = generator_states(1, 0)
    assert first_change(law, 0.0, draws, 0) == np.inf
    assert expected_fresh_seconds(law, 0.0, 10.0) == 10.0
    assert expected_fresh_seconds(law, np.inf, 10.0) == 0.0
    assert expected_fresh_seconds(law, 1e-300, 10.0) == pytest.approx(10.0)
    assert 0.0 <= expected_fresh_seconds(law, 1e300, 10.0) < 1e-3


def test_mixture_has_the_requested_shares() -> None:
    laws = draw_laws(50_000, {ChangeLaw.POISSON: 6, ChangeLaw.PARETO: 3, ChangeLaw.QUASI_DETERMINISTIC: 1}, seed=4)
    assert np.bincount(laws) / len(laws) == pytest.approx([0.6, 0.3, 0.1], abs=0.01)
    assert np.array_equal(
        laws, draw_laws(50_000, {ChangeLaw.POISSON: 0.6, ChangeLaw.PARETO: 0.3, ChangeLaw.QUASI_DETERMINISTIC: 0.1}, 4)
    )
    assert set(draw_laws(10, {ChangeLaw.PARETO: 1.0, ChangeLaw.POISSON: 0.0})) == {ChangeLaw.PARETO}


@pytest.mark.parametrize("share", [-1.0, float("nan"), float("inf"), 0.0])
def test_invalid_shares_are_refused(share: float) -> None:
    with pytest.raises(TarantulaError, match="The shares of a mixture"):
        draw_laws(10, {ChangeLaw.PARETO: share})
