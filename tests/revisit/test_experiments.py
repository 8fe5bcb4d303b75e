"""Experiments: number of visits, unit of rates, laws of change, policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tarantula.revisit.bounds import BOUNDS, all_bounds
from tarantula.revisit.changes import ChangeLaw
from tarantula.revisit.experiments.experiment import Experiment, SyntheticWeb, ValueRange, run_experiment
from tarantula.revisit.experiments.figures import experiment_variants, measure_staleness
from tarantula.revisit.model import ModelReading, VisitLimits
from tarantula.revisit.planning import PLANNING_POLICIES, policy_for_known_rates
from tarantula.revisit.policies import POLICIES

# The baseline's documents per server and visits per document, on a hundredth of the servers.
SMALL = Experiment(SyntheticWeb(10_000, 20, seed=3), rate=ValueRange(0.1, 0.1))
READINGS = pytest.mark.parametrize("reading", list(ModelReading))


def test_number_of_visits_follows_from_crawlers_and_horizon() -> None:
    limits = Experiment().limits()
    # The report has ten times as many.
    assert limits.visits == 10 * 10 * 86_400 == 8_640_000
    assert limits.possible_visits == pytest.approx(limits.visits)
    assert limits.visits_per_server == 5_760


def test_policies_hardly_differ_with_changes_per_day() -> None:
    assert Experiment().world.high == 1 / 3600
    worlds = dict(experiment_variants(SMALL))
    assert {"baseline", "weights by Zipf", "a 24th of the changes"} <= set(worlds)

    def spread(name: str) -> float:
        found = measure_staleness(worlds[name])
        return max(found[policy] for policy in POLICIES) - min(found[policy] for policy in POLICIES)

    assert spread("a 24th of the changes") < spread("baseline") / 5 < spread("weights by Zipf")


@READINGS
@pytest.mark.parametrize("law", list(ChangeLaw), ids=lambda law: law.label)
def test_no_policy_is_below_the_bounds_under_any_law(law: ChangeLaw, reading: ModelReading) -> None:
    experiment = replace(
        SMALL, world=SyntheticWeb(2_000, 10), mixture={law: 0.9, ChangeLaw.POISSON: 0.1}, reading=reading
    )
    for policy in ("psp", "slotted"):
        result = run_experiment(experiment, policy)
        assert abs(result.outcome.standard_errors_off) < 3
        known = result.bounds
        assert known["NonPolite"] <= known["WP"] <= known["PoliteBound"] <= result.outcome.expected_staleness + 1e-12
    assert known["InfCrawlers"] == pytest.approx(run_experiment(experiment, "psp").outcome.expected_staleness, abs=1e-3)


def test_explicit_poisson_laws_give_the_same_bounds() -> None:
    web, limits = SMALL.web(), SMALL.limits()
    assert all_bounds(web.pages, limits, ModelReading.STEADY, web.laws) == all_bounds(
        web.pages, limits, ModelReading.STEADY
    )
    for name in ("NonPolite", "WP"):
        by_law = BOUNDS[name](web.pages, limits, ModelReading.FRESH, web.laws)
        assert by_law == pytest.approx(BOUNDS[name](web.pages, limits, ModelReading.FRESH), abs=1e-12)


@READINGS
@pytest.mark.parametrize("name", PLANNING_POLICIES)
def test_planning_policies_can_be_simulated(name: str, reading: ModelReading) -> None:
    result = run_experiment(replace(SMALL, reading=reading), name)
    outcome = result.outcome
    assert abs(outcome.standard_errors_off) < 3
    assert outcome.breaches == 0
    # The plan knows the pauses of servers, but not that crawlers are busy in the middle of the day.
    assert outcome.visits >= 0.97 * outcome.planned
    assert result.bounds["WP"] < outcome.expected_staleness < result.bounds["WP"] + 0.05


def test_full_servers_have_different_offsets_under_every_policy() -> None:
    pages, limits = SyntheticWeb(documents=4_000, servers=20, theta=0.0).pages(), VisitLimits(3_600.0, 15.0, 10**6)
    for name in ("psp", *PLANNING_POLICIES):
        schedule = policy_for_known_rates(name)(pages, limits, ModelReading.FRESH)
        assert np.all(np.diff(schedule.starts) == limits.visits_per_server)
        first = np.sort(schedule.times[schedule.starts[:-1]] % limits.politeness)
        # Twenty servers share fifteen seconds.
        assert np.diff(first).max() < 2.0
