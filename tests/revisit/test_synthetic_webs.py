"""Synthetic webs: their rates and weights, and policies by name."""

from __future__ import annotations

import numpy as np
import pytest

from tarantula.core.errors import TarantulaError
from tarantula.revisit import phases
from tarantula.revisit.experiments.experiment import SyntheticWeb, zipf_values
from tarantula.revisit.model import ModelReading, VisitLimits
from tarantula.revisit.planning import policy_for_known_rates
from tarantula.revisit.policies import POLICIES

DRAWS = np.linspace(0.0, 1.0, 100_001)


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0, 2.0])
def test_rates_follow_zipfs_law(theta: float) -> None:
    values = zipf_values(0.01, 1.0, theta, DRAWS)
    assert (values[0], values[-1]) == pytest.approx((0.01, 1.0))
    low, high = (np.count_nonzero((values > at) & (values <= at * 1.1)) / at for at in (0.05, 0.5))
    assert low / high == pytest.approx(10.0**theta, rel=0.05)


def test_weights_follow_zipfs_law_in_random_order() -> None:
    pages = SyntheticWeb(documents=1_000, servers=3, weight_theta=1.0).pages()
    ordered = np.sort(pages.weights)[::-1]
    assert ordered[0] / ordered[[1, 9, 999]] == pytest.approx([2, 10, 1_000])
    assert not np.array_equal(pages.weights, ordered)
    assert np.array_equal(SyntheticWeb(documents=1_000, servers=3).pages().weights, np.ones(1_000))


def test_another_seed_gives_another_web() -> None:
    one, same, other = (SyntheticWeb(documents=50, servers=3, seed=seed).pages().rates for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_policies_share_the_cached_allocation() -> None:
    pages, limits = SyntheticWeb(documents=50, servers=3).pages(), VisitLimits(3_600.0, 15.0, 100)
    found = phases.cached_allocation(phases.allocate_politely, pages, limits, ModelReading.FRESH)
    assert phases.cached_allocation(phases.allocate_politely, pages, limits, ModelReading.FRESH) is found
    assert phases.cached_allocation(phases.allocate_politely, pages, limits, ModelReading.STEADY) is not found
    fewer = phases.cached_allocation(
        phases.allocate_politely, pages, VisitLimits(3_600.0, 15.0, 10), ModelReading.STEADY
    )
    assert fewer.sum() == 10


def test_policies_are_found_by_name() -> None:
    assert {"psp", "mp2", "m-wolf", "slotted"} <= POLICIES.keys()
    with pytest.raises(TarantulaError, match="There is no policy best"):
        policy_for_known_rates("best")
