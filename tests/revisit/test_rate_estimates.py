"""Estimated rates of pages, from their own visits and from priors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.estimates import DEFAULT_PRIOR, EstimateBasis, RateEstimates, estimate_rates
from tarantula.revisit.rates.estimators import (
    ObservedVisit,
    RatePrior,
    change_probabilities,
    most_likely_rate,
    most_likely_rates,
    rate_of_visits,
)
from tarantula.revisit.rates.history import HistoryBuilder, Observations, PagesToRevisit

DAY = 86_400.0
GAPS = st.floats(1e-3, 1e9)


def history_of(
    times: Floats, contents: Ints, servers: Ints, types: Ints | None = None, modified: Floats | None = None
) -> HistoryBuilder:
    """Build histories of pages, one per row, with equal numbers of observations."""
    pages, visits = times.shape
    numbers = np.repeat(np.arange(pages), visits)
    reported = np.full(times.size, np.nan) if modified is None else modified.ravel()
    observations = Observations.of(
        numbers, times.ravel(), contents.ravel(), reported, np.zeros(times.size, dtype=np.bool_)
    )
    builder = HistoryBuilder()
    wanted = PagesToRevisit(np.arange(pages), np.arange(pages) + 1000, np.zeros(pages, dtype=np.int64))
    builder.add(observations, servers, np.zeros(pages, dtype=np.int64) if types is None else types, wanted)
    return builder


def changing(rates: Floats, gaps: Floats, seed: int = 1) -> tuple[Floats, Ints]:
    """Return observation times and contents of pages with random changes."""
    chance = np.random.default_rng(seed)
    changed = chance.random(gaps.shape) < -np.expm1(-rates[:, None] * gaps)
    start = np.zeros((len(rates), 1))
    times = np.concatenate([start, np.cumsum(gaps, axis=1)], axis=1) + 1.7e9
    return times, np.concatenate([start, np.cumsum(changed, axis=1)], axis=1).astype(np.int64) + 3


@given(st.floats(1e-6, 50), st.floats(1e-6, 1e9), st.lists(GAPS, max_size=8))
def test_newton_converges_everywhere(known: float, quiet: float, gaps: list[float]) -> None:
    rate = most_likely_rate(known, quiet, np.array(gaps))
    assert 0 < rate < np.inf
    pulled = known + sum(u / np.expm1(u) if (u := rate * gap) < 600 else 0.0 for gap in gaps)
    assert pulled == pytest.approx(rate * quiet, rel=1e-6)


def test_bulk_estimates_equal_single_ones() -> None:
    gaps = np.array([1.0, 2.0, 5.0])
    rates = most_likely_rates(np.array([1.0, 0.5]), np.array([10.0, 3.0]), np.array([0, 2, 3]), gaps)
    visits = [ObservedVisit(1.0, True), ObservedVisit(2.0, True)]
    assert rates[0] == pytest.approx(rate_of_visits(visits, RatePrior(1.0, 10.0)))
    assert rates[1] == pytest.approx(rate_of_visits([ObservedVisit(5.0, True)], RatePrior(0.5, 3.0)))


def test_no_data_gives_finite_results() -> None:
    rates = most_likely_rates(np.zeros(2), np.array([0.0, 5.0]), np.zeros(3, dtype=np.int64), np.empty(0))
    assert rates.tolist() == [0.0, 0.0]
    assert most_likely_rate(1.0, 0.0, np.empty(0)) == np.inf


@pytest.mark.parametrize("shape", [0.5, 4.0])
def test_shape_and_server_rates_are_learned(shape: float) -> None:
    chance = np.random.default_rng(2)
    servers = chance.integers(0, 10, 20_000)
    means = 10 ** chance.uniform(-6.5, -4.7, 10)
    rates = chance.gamma(shape, means[servers] / shape)
    estimates = estimate_rates(history_of(*changing(rates, chance.uniform(0.5, 1.5, (len(rates), 6)) * DAY), servers))
    assert estimates.priors.shape == pytest.approx(shape, rel=0.5)
    pooled = np.array([estimates.priors.rates[servers == server][0] for server in range(10)])
    assert pooled == pytest.approx(means, rel=0.2)
    predicted = change_probabilities(np.full(len(rates), 3 * DAY), estimates.shapes, estimates.scales)
    truth = -np.expm1(-rates * 3 * DAY)
    # In total, and separately for low and high predictions.
    for chosen in (predicted >= 0, predicted < np.median(predicted), predicted >= np.median(predicted)):
        assert predicted[chosen].mean() == pytest.approx(truth[chosen].mean(), abs=0.015)


def test_an_unvisited_page_gets_the_prior_of_its_server_and_type() -> None:
    quick, slow = np.full(300, 2 / DAY), np.full(300, 0.05 / DAY)
    times, contents = changing(np.concatenate([quick, slow]), np.full((600, 5), DAY))
    builder = history_of(times, contents, np.repeat([0, 0, 1], 200), np.repeat([0, 1], 300))
    for server, kind in ((0, 0), (0, 1), (1, 7), (9, 1), (9, 8)):
        alone = Observations.of(
            np.zeros(1, np.int64), np.ones(1), np.full(1, 3), np.full(1, np.nan), np.zeros(1, np.bool_)
        )
        page = PagesToRevisit(np.array([0]), np.array([server * 10 + kind]), np.array([0]))
        builder.add(alone, np.array([server]), np.array([kind]), page)
    estimates = estimate_rates(builder)
    assert estimates.bases[-5:].tolist() == [EstimateBasis.PRIOR] * 5
    assert estimates.priors.levels[-5:].tolist() == [4, 4, 3, 2, 1]
    by_server_and_type, other_type, of_server, of_type, of_all = estimates.rates[-5:] * DAY
    assert by_server_and_type == pytest.approx(2.0, rel=0.3)
    assert other_type == pytest.approx(0.05, rel=0.4)
    assert of_server < 0.1
    assert of_type < 0.1
    assert 0.05 < of_all < 2.0


def test_without_any_data_the_default_prior_is_used() -> None:
    estimates = estimate_rates(history_of(np.full((3, 1), 1.7e9), np.full((3, 1), 3), np.zeros(3, dtype=np.int64)))
    assert estimates.rates == pytest.approx(np.full(3, DEFAULT_PRIOR.rate))
    assert estimates.priors.levels.tolist() == [0, 0, 0]


def test_few_visits_reveal_pages_that_change_every_minute() -> None:
    gaps = np.full((6, 3), 10.0)
    contents = np.array([[3, 4, 5, 6]] * 3 + [[3, 3, 3, 3]] * 3)
    times = np.concatenate([np.zeros((6, 1)), np.cumsum(gaps, axis=1)], axis=1)
    estimates = estimate_rates(history_of(times, contents, np.zeros(6, dtype=np.int64)))
    assert (estimates.priors.rates * DAY > 500).all()
    assert (estimates.rates[:3] > 5 * estimates.rates[3:]).all()


def test_regular_visits_use_cho_and_others_likelihood() -> None:
    gaps = np.full((3, 12), DAY)
    gaps[1] *= np.linspace(0.5, 2.0, 12)
    contents = np.array([[3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 7, 8, 8]] * 2 + [[3] * 13])
    times = np.concatenate([np.zeros((3, 1)), np.cumsum(gaps, axis=1)], axis=1)
    estimates = estimate_rates(history_of(times, contents, np.zeros(3, dtype=np.int64)))
    assert estimates.bases.tolist() == [EstimateBasis.REGULAR, EstimateBasis.IRREGULAR, EstimateBasis.IRREGULAR]
    assert estimates.rates[0] * DAY == pytest.approx(-np.log(7.5 / 12.5))
    # It never changed: by Cho's estimator its rate would be 0.
    assert 0 < estimates.rates[2] * DAY < 0.1


def estimates_of_server(is_honest: bool) -> RateEstimates:
    """Return the estimates of pages that change three times a day and are visited once a day."""
    chance = np.random.default_rng(8)
    ages = chance.exponential(DAY / 3, (200, 7))
    times = np.tile(np.arange(7) * DAY, (200, 1)) + 1.7e9
    changed = ages[:, 1:] < DAY
    contents = np.concatenate([np.zeros((200, 1)), np.cumsum(changed, axis=1)], axis=1).astype(np.int64) + 3
    modified = times - ages
    for visit in range(1, 7):
        modified[:, visit] = np.where(changed[:, visit - 1], modified[:, visit], modified[:, visit - 1])
    if not is_honest:
        modified = times
    return estimate_rates(history_of(times, contents, np.zeros(200, dtype=np.int64), modified=modified))


def test_a_trusted_server_sharpens_estimates_of_frequent_changes() -> None:
    reported, unreported = estimates_of_server(True), estimates_of_server(False)
    assert (reported.bases == EstimateBasis.REPORTED).all()
    assert (unreported.bases == EstimateBasis.IRREGULAR).all()

    def missed(estimates: RateEstimates) -> float:
        return float(np.sqrt(((estimates.rates * DAY - 3) ** 2).mean()))

    assert missed(reported) < missed(unreported)
    assert reported.rates.mean() * DAY == pytest.approx(3, rel=0.15)
