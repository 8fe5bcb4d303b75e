"""Optimal frequencies in the steady state, and the index that attains them."""

from __future__ import annotations

import numpy as np
import pytest

from tarantula.revisit import phases
from tarantula.revisit.bounds import optimal_frequencies, steady_freshness
from tarantula.revisit.experiments.experiment import synthetic_pages
from tarantula.revisit.model import ModelReading, Pages, VisitLimits, even_freshness_of_pages, weighted_mean
from tarantula.revisit.online import visit_indexes


@pytest.mark.parametrize("visits", [20_000, 10**9])
def test_limits_are_used_fully_and_whole_visits_come_close(visits: int) -> None:
    pages = synthetic_pages(5_000, 20, 1.0, 0.01 / 3600, 1 / 3600)
    limits = VisitLimits(86400.0, 15.0, visits)
    best = optimal_frequencies(pages, limits)
    of_servers = np.bincount(pages.servers, best.frequencies)
    assert best.frequencies.sum() * limits.horizon == pytest.approx(min(visits, 20 * 5760), rel=1e-6)
    assert of_servers.max() <= (1 + 1e-9) / limits.politeness
    fresh = weighted_mean(steady_freshness(pages, best.frequencies), pages.weights)
    whole = phases.allocate_politely(pages, limits, ModelReading.STEADY)
    wholly = weighted_mean(
        even_freshness_of_pages(whole, pages.changes(limits.horizon), ModelReading.STEADY), pages.weights
    )
    assert 0 <= fresh - wholly < 0.002


def test_the_index_at_optimal_gaps_is_the_price() -> None:
    pages = synthetic_pages(2_000, 5, 1.0, 0.01 / 3600, 1 / 3600)
    best = optimal_frequencies(pages, VisitLimits(86400.0, 15.0, 10_000))
    visited = best.frequencies > 0
    found = visit_indexes(pages.rates[visited], pages.weights[visited], 1 / best.frequencies[visited])
    assert found == pytest.approx(best.prices[pages.servers[visited]], rel=1e-9)


def test_the_index_of_extreme_rates_is_finite() -> None:
    rates = np.array([0.0, 1e-12, 1e-3, 1e3, np.inf])
    found = visit_indexes(rates, np.ones(5), np.full(5, 3600.0))
    assert np.all(np.isfinite(found) & (found >= 0))
    assert found[0] == found[4] == 0


def test_pages_that_cannot_gain_get_no_visits() -> None:
    pages = Pages.of([0.0, np.inf, 0.01], [0, 0, 0])
    best = optimal_frequencies(pages, VisitLimits(1000.0, 10.0, 100))
    assert best.frequencies == pytest.approx([0.0, 0.0, 0.1])
    assert np.all(np.isfinite(steady_freshness(pages, best.frequencies)))
