"""How often each page is visited: the best there is, within the limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.errors import TarantulaError
from tarantula.revisit import allocate
from tarantula.revisit.model import Ints, Reading, freshness, mean
from tarantula.revisit.pages import Limits, Pages

READINGS = pytest.mark.parametrize("reading", list(Reading))


def worth(visits: Ints, pages: Pages, limits: Limits, reading: Reading) -> float:
    return mean(freshness(visits, pages.changes(limits.horizon), reading), pages.weights)


@READINGS
@settings(max_examples=60)
@given(
    rates=st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0, 50.0]), min_size=4, max_size=4),
    weights=st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4),
    visits=st.integers(0, 6),
)
def test_nothing_that_can_be_tried_is_better(
    reading: Reading, rates: list[float], weights: list[float], visits: int
) -> None:
    pages = Pages.of(rates, [0, 1, 0, 1], weights)
    limits = Limits(horizon=10.0, politeness=3.0, visits=visits)
    found = allocate.polite(pages, limits, reading)
    assert found.sum() <= visits
    assert found[:2].sum() <= 3
    assert found[2:].sum() <= 3
    best = max(
        worth(np.array(counts), pages, limits, reading)
        for counts in product(range(4), repeat=4)
        if sum(counts) <= visits and sum(counts[:2]) <= 3 and sum(counts[2:]) <= 3
    )
    assert worth(found, pages, limits, reading) == pytest.approx(best, abs=1e-12)


@READINGS
def test_without_politeness_only_the_visits_in_all_are_limited(reading: Reading) -> None:
    pages = Pages.of([1.0, 1.0, 0.001], [0, 0, 1])
    limits = Limits(horizon=10.0, politeness=5.0, visits=8)
    assert allocate.polite(pages, limits, reading)[:2].sum() == 2
    assert allocate.impolite(pages, limits, reading)[:2].sum() > 2


@READINGS
def test_what_never_changes_or_always_has_is_a_sensible_answer(reading: Reading) -> None:
    pages = Pages.of([0.0, np.inf, 0.1], [0, 0, 3])
    limits = Limits(horizon=100.0, politeness=10.0, visits=1000)
    visits = allocate.polite(pages, limits, reading)
    assert np.isfinite(worth(visits, pages, limits, reading))
    assert visits[2] == 10
    assert visits[1] == 0


def test_a_million_pages_on_one_server_share_its_visits() -> None:
    pages = Pages.of(np.full(1_000_000, 1e-5), np.zeros(1_000_000, dtype=int))
    visits = allocate.polite(pages, Limits(86400.0, 15.0, 10**9), Reading.FRESH)
    assert (visits.sum(), visits.max()) == (5760, 1)


@pytest.mark.parametrize(
    ("rates", "weights", "words"),
    [
        ([-1.0], [1.0], "A rate of changes is"),
        ([float("nan")], [1.0], "A rate of changes is"),
        ([1.0], [-1.0], "A weight is"),
        ([1.0], [float("inf")], "A weight is"),
        ([1.0], [0.0], "At least one page has a weight above zero"),
    ],
)
def test_pages_that_cannot_be_are_refused(rates: list[float], weights: list[float], words: str) -> None:
    with pytest.raises(TarantulaError, match=words):
        Pages.of(rates, [0] * len(rates), weights)


@pytest.mark.parametrize(
    ("horizon", "politeness", "visits", "words"),
    [
        (10.0, 15.0, 1, "shorter than the 15 s between two visits"),
        (0.0, 15.0, 1, "longer than nothing"),
        (10.0, 0.0, 1, "longer than nothing"),
        (10.0, 1.0, -1, "fewer visits than none"),
    ],
)
def test_limits_that_cannot_be_are_refused(horizon: float, politeness: float, visits: int, words: str) -> None:
    with pytest.raises(TarantulaError, match=words):
        Limits(horizon, politeness, visits)
