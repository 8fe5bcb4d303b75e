"""The simulator: its five kinds of events, and agreement with the expected staleness."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.revisit.changes import ChangeLaw, draw_laws, first_change, generator_states, next_change
from tarantula.revisit.experiments.experiment import SyntheticWeb
from tarantula.revisit.model import ModelReading, Pages, VisitLimits
from tarantula.revisit.policies import POLICIES, psp
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.simulator.event_loop import SimulationEvent
from tarantula.revisit.simulator.simulation import SimulatedWeb, dispatched_schedule, simulate
from tests.support import simulator_reference

READINGS = pytest.mark.parametrize("reading", list(ModelReading))
WEB = SimulatedWeb.of(SyntheticWeb(documents=8_000, servers=40).pages())
LIMITS = VisitLimits(86_400.0, 15.0, 69_120)
CRAWLERS = np.full(4, 0.2)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile the numeric code, or load it from the cache, before Hypothesis measures time."""
    simulate(psp(WEB.pages, LIMITS, ModelReading.FRESH), WEB, CRAWLERS, LIMITS, ModelReading.FRESH)


def visits_of(*servers: list[tuple[float, int]]) -> Schedule:
    """Build a schedule from the times and pages of each server."""
    starts = np.cumsum([0, *(len(visits) for visits in servers)])
    times, pages = np.array([visit for visits in servers for visit in visits]).reshape(-1, 2).T
    return Schedule(times.copy(), pages.astype(np.int64), starts)


def test_events_follow_the_report() -> None:
    web = SimulatedWeb.of(Pages.of([0.0, 0.02], [0, 0]), sizes=np.array([1.0, 3.0]))
    schedule = visits_of([(10.0, 0), (20.0, 1), (60.0, 0)])
    found = simulate(
        schedule,
        web,
        np.array([1.0]),
        VisitLimits(100.0, 15.0, 9),
        ModelReading.FRESH,
        snapshot_count=2,
        seed=5,
        logged_events=99,
    )
    draws = generator_states(2, 5)
    changes, time = [], first_change(ChangeLaw.POISSON, 0.02, draws, 1)
    while time <= 100.0:
        changes.append((time, SimulationEvent.MODIFIED, 1))
        time += next_change(ChangeLaw.POISSON, 0.02, draws, 1)
    expected = [
        (0.0, SimulationEvent.FREE, 0), (10.0, SimulationEvent.READY, 0), (11.0, SimulationEvent.FREE, 0),
        # Due at 20, but its server may be asked only at 25.
        (25.0, SimulationEvent.READY, 0), (28.0, SimulationEvent.FREE, 0), (50.0, SimulationEvent.STATISTICS, 1),
        (60.0, SimulationEvent.READY, 0), (61.0, SimulationEvent.FREE, 0), (100.0, SimulationEvent.END, 0),
    ]  # fmt: skip
    assert changes
    assert list(found.event_log) == sorted(expected + changes)
    assert found.events == {kind: [event for _, event, _ in found.event_log].count(kind) for kind in SimulationEvent}
    assert found.executed.times.tolist() == [10.0, 25.0, 60.0]
    assert [moment.seconds for moment in found.snapshots] == [50.0, 100.0]
    assert (found.planned, found.visits, found.breaches, found.longest_delay) == (3, 3, 0, 5.0)


times = st.lists(st.floats(0.0, 60.0), max_size=8).map(sorted)
speeds = st.sampled_from([0.1, 0.5, 3.0, inf])


@settings(max_examples=60, deadline=None)
@given(
    servers=st.lists(times, min_size=1, max_size=4),
    crawlers=st.lists(st.sampled_from([0.05, 0.3, 2.0]), min_size=1, max_size=3),
    fast=speeds,
    politeness=st.floats(0.5, 12.0),
    rates=st.lists(st.sampled_from([0.0, 0.01, 0.3, inf]), min_size=8, max_size=8),
    kinds=st.lists(st.sampled_from(list(ChangeLaw)), min_size=8, max_size=8),
    seed=st.integers(0, 99),
)
def test_a_plain_reference_simulation_agrees(
    servers: list[list[float]],
    crawlers: list[float],
    fast: float,
    politeness: float,
    rates: list[float],
    kinds: list[ChangeLaw],
    seed: int,
) -> None:
    pages = Pages.of(rates, [number % len(servers) for number in range(8)], np.arange(1, 9))
    own = [np.flatnonzero(pages.servers == server) for server in range(len(servers))]
    schedule = visits_of(
        *(
            [(time, own[server][number % len(own[server])]) for number, time in enumerate(visits)]
            for server, visits in enumerate(servers)
        )
    )
    speed = np.full(len(servers), inf)
    speed[0] = fast
    web = SimulatedWeb.of(pages, np.array(kinds, dtype=np.int8), np.arange(1, 9) / 4.0, speed)
    limits = VisitLimits(60.0, politeness, 100)
    found = simulate(schedule, web, np.array(crawlers), limits, ModelReading.FRESH, seed=seed)
    slow = schedule.at(np.array(simulator_reference.made(schedule, web, np.array(crawlers), limits)))
    assert found.executed.times.tolist() == slow.times.tolist()
    assert found.executed.pages.tolist() == slow.pages.tolist()
    assert found.breaches == 0
    assert found.executed.closest() >= politeness
    assert found.staleness == pytest.approx(simulator_reference.staleness(slow, web, limits, seed), abs=1e-9)


@READINGS
@pytest.mark.parametrize("policy", POLICIES)
def test_simulated_staleness_matches_the_expectation(policy: str, reading: ModelReading) -> None:
    schedule = POLICIES[policy](WEB.pages, LIMITS, reading)
    laws = draw_laws(
        len(WEB.pages), {ChangeLaw.POISSON: 0.6, ChangeLaw.PARETO: 0.3, ChangeLaw.QUASI_DETERMINISTIC: 0.1}
    )
    for web in (WEB, SimulatedWeb.of(WEB.pages, laws)):
        found = simulate(schedule, web, CRAWLERS, LIMITS, reading, seed=1)
        assert 0 < found.standard_error < 0.003
        assert abs(found.standard_errors_off) < 3
        assert found.breaches == 0
        assert found.executed.closest() >= LIMITS.politeness
        assert found.visits == len(found.executed.times) == found.snapshots[-1].visits
        assert found.snapshots[-1].staleness == pytest.approx(found.staleness)


def test_documents_change_at_the_same_times_under_every_policy() -> None:
    changes = [
        simulate(
            policy(WEB.pages, LIMITS, ModelReading.FRESH), WEB, CRAWLERS, LIMITS, ModelReading.FRESH, seed=2
        ).events
        for policy in (POLICIES["psp"], POLICIES["m-wolf"])
    ]
    assert len({events[SimulationEvent.MODIFIED] for events in changes}) == 1
    other = simulate(psp(WEB.pages, LIMITS, ModelReading.FRESH), WEB, CRAWLERS, LIMITS, ModelReading.FRESH, seed=3)
    assert other.events[SimulationEvent.MODIFIED] != changes[0][SimulationEvent.MODIFIED]


def test_full_servers_do_not_wait_for_each_other() -> None:
    pages = SyntheticWeb(documents=4_000, servers=20, theta=0.0).pages()
    limits = VisitLimits(3_600.0, 15.0, 10**6)
    schedule = psp(pages, limits, ModelReading.FRESH)
    assert np.all(np.diff(schedule.starts) == limits.visits_per_server)
    together = Schedule(np.tile(np.arange(240) * 15.0, 20), schedule.pages, schedule.starts)
    # Twenty servers every fifteen seconds are just what one crawler can do.
    apart, queued = (
        simulate(one, SimulatedWeb.of(pages), np.array([4 / 3]), limits, ModelReading.FRESH)
        for one in (schedule, together)
    )
    assert apart.breaches == queued.breaches == 0
    assert apart.mean_delay < 1.5 < 5.0 < queued.mean_delay
    assert apart.longest_delay < 5.0


@READINGS
def test_documents_that_never_or_always_change(reading: ModelReading) -> None:
    pages = Pages.of([0.0, inf, 1e-4], [0, 0, 3])
    limits = VisitLimits(1_000.0, 10.0, 500)
    found = simulate(psp(pages, limits, reading), SimulatedWeb.of(pages), np.array([1.0]), limits, reading)
    assert np.isfinite(
        [found.staleness, found.expected_staleness, found.standard_error, found.standard_errors_off]
    ).all()
    assert found.staleness == pytest.approx(1 / 3, abs=0.02)


def test_an_empty_schedule_makes_no_visits() -> None:
    limits = VisitLimits(1_000.0, 10.0, 0)
    found = simulate(psp(WEB.pages, limits, ModelReading.FRESH), WEB, CRAWLERS, limits, ModelReading.FRESH)
    assert (found.planned, found.visits, found.mean_delay, found.closest) == (0, 0, 0.0, None)
    assert abs(found.standard_errors_off) < 3


def test_a_million_documents_on_one_server_are_visited_in_turn() -> None:
    pages = SyntheticWeb(documents=1_000_000, servers=1, high=0.02 / 3600).pages()
    limits = VisitLimits(3_600.0, 15.0, 10**6)
    schedule = psp(pages, limits, ModelReading.FRESH)
    found = simulate(schedule, SimulatedWeb.of(pages), np.array([10.0]), limits, ModelReading.FRESH, snapshot_count=1)
    assert (found.visits, found.breaches, found.executed.closest()) == (240, 0, 15.0)


def test_phase_3_does_not_depend_on_changes() -> None:
    schedule = POLICIES["m-wolf"](WEB.pages, LIMITS, ModelReading.FRESH)
    found = simulate(schedule, WEB, CRAWLERS, LIMITS, ModelReading.FRESH)
    alone = dispatched_schedule(schedule, WEB, CRAWLERS, LIMITS)
    assert np.array_equal(found.executed.times, alone.times)
    assert np.array_equal(found.executed.pages, alone.pages)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": np.array([-1.0])}, "A document size must be"),
        ({"sizes": np.array([np.nan])}, "A document size must be"),
        ({"speeds": np.array([0.0])}, "The speed of a server"),
        ({"sizes": np.array([1.0, 1.0])}, "Give one size and one law"),
    ],
)
def test_invalid_webs_are_refused(change: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(TarantulaError, match=message):
        SimulatedWeb.of(Pages.of([1.0], [0]), **change)


def test_invalid_crawlers_and_rates_are_refused() -> None:
    schedule, limits = visits_of([(1.0, 0)]), VisitLimits(10.0, 1.0, 5)
    web = SimulatedWeb.of(Pages.of([1.0], [0]))
    for crawlers, message in (([], "At least one crawler"), ([0.0], "The speed of a crawler"), ([np.nan], "The speed")):
        with pytest.raises(TarantulaError, match=message):
            simulate(schedule, web, np.array(crawlers), limits, ModelReading.FRESH)
    with pytest.raises(TarantulaError, match="The simulation would have about"):
        simulate(schedule, SimulatedWeb.of(Pages.of([1e12], [0])), np.array([1.0]), limits, ModelReading.FRESH)
    with pytest.raises(TarantulaError, match="At least one document"):
        SimulatedWeb.of(Pages.of([], []))
