"""Phase 1: the number of visits to each page is optimal within the limits."""

from __future__ import annotations

from heapq import heapify, heapreplace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.revisit import phases
from tarantula.revisit.changes import ChangeLaw, Laws, freshness_by_law
from tarantula.revisit.model import (
    Ints,
    ModelReading,
    Pages,
    VisitLimits,
    even_freshness_of_pages,
    visit_gain,
    weighted_mean,
)

READINGS = pytest.mark.parametrize("reading", list(ModelReading))
HASTY = 5e3
"""Change rate at which visits gain almost nothing."""


def worth(visits: Ints, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    changes = pages.changes(limits.horizon)
    fresh = (
        even_freshness_of_pages(visits, changes, reading)
        if laws is None
        else freshness_by_law(laws, visits, changes, reading)
    )
    return weighted_mean(fresh, pages.weights)


@READINGS
@settings(max_examples=60)
@given(
    rates=st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0, 50.0]), min_size=4, max_size=4),
    weights=st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4),
    laws=st.none()
    | st.lists(st.sampled_from(list(ChangeLaw)), min_size=4, max_size=4).map(lambda one: np.array(one, np.int8)),
    visits=st.integers(0, 6),
)
def test_greedy_allocation_beats_every_other(
    reading: ModelReading, rates: list[float], weights: list[float], laws: Laws | None, visits: int
) -> None:
    pages = Pages.of(rates, [0, 1, 0, 1], weights)
    limits = VisitLimits(horizon=10.0, politeness=3.0, visits=visits)
    found = phases.allocate_politely(pages, limits, reading, laws)
    assert found.sum() <= visits
    assert found[:2].sum() <= 3
    assert found[2:].sum() <= 3
    best = max(
        worth(np.array(counts), pages, limits, reading, laws)
        for counts in product(range(4), repeat=4)
        if sum(counts) <= visits and sum(counts[:2]) <= 3 and sum(counts[2:]) <= 3
    )
    assert worth(found, pages, limits, reading, laws) == pytest.approx(best, abs=1e-12)


def one_by_one(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Ints:
    """Reference: take the best visit again and again; ties go to the first server and page."""
    visits = np.zeros(len(pages), dtype=np.int64)
    changes, left = pages.changes(limits.horizon), np.full(len(pages.starts) - 1, limits.visits_per_server)

    def worth_of(page: int) -> tuple[float, int, int]:
        one_more = visit_gain(int(visits[page]), changes[page], reading is ModelReading.STEADY)
        return -pages.weights[page] * one_more, int(pages.servers[page]), page

    heap = [worth_of(page) for page in range(len(pages))]
    heapify(heap)
    while heap[0][0] < 0 and visits.sum() < limits.visits:
        page = heap[0][2]
        if left[pages.servers[page]] > 0:
            visits[page] += 1
            left[pages.servers[page]] -= 1
            heapreplace(heap, worth_of(page))
        else:
            heapreplace(heap, (0.0, 0, page))
    return visits


@READINGS
@settings(max_examples=80, deadline=None)
@given(
    rates=st.lists(
        st.floats(0.0, 3.0) | st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.5, 2.0, HASTY, np.inf]),
        min_size=1,
        max_size=40,
    ),
    servers=st.lists(st.integers(0, 4), min_size=40, max_size=40),
    weights=st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0, 100.0]), min_size=40, max_size=40),
    politeness=st.sampled_from([0.05, 0.5, 3.0]),
    visits=st.integers(0, 900),
)
def test_head_start_gives_the_same_result_as_greedy(
    reading: ModelReading, rates: list[float], servers: list[int], weights: list[float], politeness: float, visits: int
) -> None:
    count = len(rates)
    pages = Pages.of(rates, servers[:count], [*weights[: count - 1], 1.0])
    limits = VisitLimits(20.0, politeness, visits)
    found, wanted = phases.allocate_politely(pages, limits, reading), one_by_one(pages, limits, reading)
    if HASTY in rates:
        # The gains agree up to rounding; which of equal pages gets more visits is left open.
        assert found.sum() == wanted.sum()
        assert np.bincount(pages.servers, found).max() <= limits.visits_per_server
        assert worth(found, pages, limits, reading) == pytest.approx(worth(wanted, pages, limits, reading), abs=1e-12)
    else:
        assert found.tolist() == wanted.tolist()


@READINGS
@pytest.mark.parametrize("visits", [700, 3_000, 10**6])
def test_head_start_is_right_with_sampled_prices(reading: ModelReading, visits: int) -> None:
    chance = np.random.default_rng(3)
    pages = Pages.of(chance.uniform(0.0, 2.0, 5_000) ** 4, chance.integers(0, 3, 5_000), chance.pareto(1.0, 5_000))
    limits = VisitLimits(100.0, 0.05, visits)
    assert np.array_equal(phases.allocate_politely(pages, limits, reading), one_by_one(pages, limits, reading))


@READINGS
def test_impolite_allocation_limits_only_the_total(reading: ModelReading) -> None:
    pages = Pages.of([1.0, 1.0, 0.001], [0, 0, 1])
    limits = VisitLimits(horizon=10.0, politeness=5.0, visits=8)
    assert phases.allocate_politely(pages, limits, reading)[:2].sum() == 2
    assert phases.allocate_impolitely(pages, limits, reading)[:2].sum() > 2


@READINGS
def test_rates_of_zero_and_infinity_are_handled(reading: ModelReading) -> None:
    pages = Pages.of([0.0, np.inf, 0.1], [0, 0, 3])
    limits = VisitLimits(horizon=100.0, politeness=10.0, visits=1000)
    visits = phases.allocate_politely(pages, limits, reading)
    assert np.isfinite(worth(visits, pages, limits, reading))
    assert visits[2] == 10
    assert visits[1] == 0


def test_a_million_pages_on_one_server_share_its_visits() -> None:
    pages = Pages.of(np.full(1_000_000, 1e-5), np.zeros(1_000_000, dtype=int))
    visits = phases.allocate_politely(pages, VisitLimits(86400.0, 15.0, 10**9), ModelReading.FRESH)
    assert (visits.sum(), visits.max()) == (5760, 1)


@pytest.mark.parametrize(
    ("rates", "weights", "message"),
    [
        ([-1.0], [1.0], "A change rate must be"),
        ([float("nan")], [1.0], "A change rate must be"),
        ([1.0], [-1.0], "A weight must be"),
        ([1.0], [float("inf")], "A weight must be"),
        ([1.0], [0.0], "At least one page must have a weight above 0"),
    ],
)
def test_invalid_pages_are_refused(rates: list[float], weights: list[float], message: str) -> None:
    with pytest.raises(TarantulaError, match=message):
        Pages.of(rates, [0] * len(rates), weights)


@pytest.mark.parametrize(
    ("horizon", "politeness", "visits", "message"),
    [
        (10.0, 15.0, 1, "shorter than the 15 s between two visits"),
        (0.0, 15.0, 1, "longer than 0 seconds"),
        (10.0, 0.0, 1, "longer than 0 seconds"),
        (10.0, 1.0, -1, "must not be negative"),
    ],
)
def test_invalid_limits_are_refused(horizon: float, politeness: float, visits: int, message: str) -> None:
    with pytest.raises(TarantulaError, match=message):
        VisitLimits(horizon, politeness, visits)
