"""The lasting policy: repeated plans reach the optimum with known rates, and beat the uniform policy with learned ones.

With ``TARANTULA_FULL_SIZE=1`` it prints the tables of docs/refresh.md.
"""

from __future__ import annotations

import os
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.revisit.online import visit_indexes as index_of_known
from tarantula.revisit.planning import (
    PLANNING_POLICIES,
    PerServerLimits,
    UncertainPages,
    aged,
    lasting,
    longest_gap,
    uniform,
)
from tarantula.revisit.rates.estimators import gamma_visit_index
from tests.support.revisit_worlds import DAY, WORLDS, Kept, best, pages_of, pauses_of

FULL = "TARANTULA_FULL_SIZE" in os.environ
SURE = 1e9


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("weighed", [False, True])
def test_repeated_plans_reach_the_optimum_with_known_rates(world: str, weighed: bool) -> None:
    pages = pages_of(world, 300, weighed=weighed)
    pauses = pauses_of(pages, DAY, 0.3)
    fresh = {
        choose: Kept(pages).keep(choose, pauses, 40, is_known=True)[20:].mean() for choose in (lasting, aged, uniform)
    }
    assert fresh[lasting] > 0.995 * best(pages, pauses)
    assert fresh[lasting] > max(fresh[aged], fresh[uniform])


def test_a_short_horizon_is_as_good_as_a_long_one() -> None:
    pages = pages_of("0.01 to 100, each power as likely", 300, servers=3)
    fresh = []
    for horizon in (DAY / 4, DAY, 10 * DAY):
        items = round(40 * DAY / horizon)
        kept = Kept(pages).keep(lasting, pauses_of(pages, horizon, 0.3), items, is_known=True)
        fresh.append(kept[items // 2 :].mean())
    assert fresh == pytest.approx([fresh[1]] * 3, rel=0.01)


def test_learned_rates_beat_the_uniform_policy() -> None:
    pages = pages_of("a Gamma distribution", 200)
    pauses = pauses_of(pages, DAY, 1.0)
    learned = Kept(pages).keep(lasting, pauses, 12, is_known=False)
    in_turn = Kept(pages).keep(uniform, pauses, 12, is_known=True)
    assert learned[6:].mean() > in_turn[6:].mean() + 0.02


@pytest.mark.skipif(not FULL, reason="set TARANTULA_FULL_SIZE to run it")
def test_table_of_known_rates() -> None:
    print("\n| changes a day | weights | horizon | at best | `lasting` | `aged` | in turn |")
    print("|---" * 7 + "|")
    for world, weighed, days in product(WORLDS, (False, True), (0.1, 1, 10)):
        pages = pages_of(world, 1000, weighed=weighed)
        pauses, items = pauses_of(pages, days * DAY, 0.1), max(round(50 / days), 20)
        counted = max(round(10 / days), 10)
        fresh = [
            Kept(pages).keep(PLANNING_POLICIES[name], pauses, items, is_known=True)[-counted:].mean()
            for name in PLANNING_POLICIES
        ]
        shown = " | ".join(f"{one:.4f}" for one in (best(pages, pauses), *fresh))
        print(f"| {world} | {'Zipf' if weighed else 'equal'} | {days:g} d | {shown} |", flush=True)
        assert fresh[list(PLANNING_POLICIES).index("lasting")] == pytest.approx(best(pages, pauses), abs=0.005)


@pytest.mark.skipif(not FULL, reason="set TARANTULA_FULL_SIZE to run it")
@pytest.mark.parametrize("world", WORLDS)
def test_table_of_learned_rates(world: str) -> None:
    print("\n| changes a day | horizon | visits to a page a day | known | `lasting` | `aged` | in turn |")
    print("|---" * 7 + "|")
    pages = pages_of(world, 500)
    for days, visits in ((1, 0.1), (1, 1.0), (10, 0.1)):
        pauses = pauses_of(pages, days * DAY, visits)
        fresh = [
            Kept(pages).keep(choose, pauses, 40, is_known=is_known)
            for choose, is_known in ((lasting, True), (lasting, False), (aged, False), (uniform, True))
        ]
        shown = " | ".join(f"{one[:10].mean():.4f}, {one[30:].mean():.4f}" for one in fresh)
        print(f"| {world} | {days} d | {visits:g} | {shown} |", flush=True)
        known, learned, _aged, in_turn = (one[30:].mean() for one in fresh)
        assert in_turn - 0.01 < learned < known + 0.005


@given(visits=st.integers(1, 40), age=st.floats(0.0, 1e6))
def test_the_longest_gap_holds_that_many_visits(visits: int, age: float) -> None:
    gap = longest_gap(visits, age, DAY)
    for other, is_enough in ((gap * (1 - 1e-9), True), (gap * (1 + 1e-9), False)):
        count = 1 + DAY // other if age >= other else (age + DAY) // other
        assert (count >= visits) == is_enough


@given(st.floats(1e-8, 1e-3), st.floats(0.2, 1e9), st.floats(10.0, 1e6))
def test_the_index_is_the_price_at_which_a_gap_is_optimal(rate: float, shape: float, gap: float) -> None:
    scale = shape / rate
    price = gamma_visit_index(gap, shape, scale)

    def won(seconds: float) -> float:
        """Return the gain per second of visits with this gap at that price."""
        moments = np.linspace(0.0, seconds, 20_001)
        still = (1 + moments / scale) ** -shape
        return float(np.trapezoid(still, moments) - price) / seconds

    assert won(gap) >= max(won(gap * 0.8), won(gap * 1.25)) - 1e-6


@given(st.floats(1e-8, 1e-3), st.floats(10.0, 1e6))
def test_a_certain_rate_has_the_index_of_a_known_rate(rate: float, gap: float) -> None:
    known = index_of_known(np.array([rate]), np.ones(1), np.array([gap]))[0]
    assert gamma_visit_index(gap, SURE, SURE / rate) == pytest.approx(known, rel=1e-5, abs=1e-9 * gap)


def test_overdue_pages_come_first_at_even_times() -> None:
    ages = np.array([0.0, 3.0, 30.0, 1.0]) * DAY
    uncertain = UncertainPages.of(np.full(4, SURE), np.full(4, SURE * DAY), ages, np.zeros(4, dtype=int))
    schedule = lasting(uncertain, PerServerLimits(DAY, np.array([60.0]), 3))
    assert schedule.pages.tolist() == [2, 1, 3]
    assert schedule.times == pytest.approx([0.0, DAY / 3, 2 * DAY / 3], abs=1e-3)


def test_several_visits_to_a_page_have_even_gaps() -> None:
    uncertain = UncertainPages.of(np.full(2, SURE), SURE * np.array([0.05, 5.0]) * DAY, np.zeros(2), np.array([0, 1]))
    schedule = lasting(uncertain, PerServerLimits(DAY, np.full(2, 60.0), 12))
    counts = np.bincount(schedule.pages)
    assert counts[0] > counts[1]
    assert np.diff(schedule.times[: counts[0]]) == pytest.approx(DAY / counts[0], abs=1e-3)


def test_servers_are_not_asked_at_the_same_time() -> None:
    servers = np.repeat(np.arange(50), 4)
    uncertain = UncertainPages.of(np.ones(200), np.full(200, DAY), np.full(200, DAY), servers)
    times = lasting(uncertain, PerServerLimits(DAY, np.full(50, 60.0), 100)).times
    assert len(np.unique(times)) == len(times) == 100


def test_pages_that_never_or_always_change_get_no_visits() -> None:
    uncertain = UncertainPages.of(
        np.array([0.0, 1.0, 1.0]), np.array([DAY, 0.0, DAY]), np.full(3, DAY), np.zeros(3, dtype=int)
    )
    assert set(lasting(uncertain, PerServerLimits(DAY, np.array([3600.0]), 5)).pages.tolist()) == {2}
