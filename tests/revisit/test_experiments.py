"""What an experiment supposes: how many visits crawlers can make, the unit of rates, the laws of change, policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tarantula.revisit.bounds import BOUNDS, all_bounds
from tarantula.revisit.changes import ChangeLaw
from tarantula.revisit.experiments.experiment import Experiment, SyntheticWeb, ValueRange, run_experiment
from tarantula.revisit.experiments.figures import experiment_variants, measure_staleness
from tarantula.revisit.model import ModelReading
from tarantula.revisit.pages import VisitLimits
from tarantula.revisit.planning.policies import PLANNING_POLICIES, policy_for_known_rates
from tarantula.revisit.policies import POLICIES

# As many documents a server, and visits a document, on a hundredth of the servers.
SMALL = Experiment(SyntheticWeb(10_000, 20, seed=3), rate=ValueRange(0.1, 0.1))
READINGS = pytest.mark.parametrize("reading", list(ModelReading))


def test_ten_crawlers_of_ten_pages_a_second_make_as_many_visits_as_a_day_has_time_for() -> None:
    limits = Experiment().limits()
    # And not ten times as many, as the report has it.
    assert limits.visits == 10 * 10 * 86_400 == 8_640_000
    assert limits.possible_visits == pytest.approx(limits.visits)
    assert limits.visits_per_server == 5_760


def test_rates_are_of_an_hour_for_with_changes_a_day_policies_hardly_differ() -> None:
    assert Experiment().world.high == 1 / 3600
    worlds = dict(experiment_variants(SMALL))
    assert {"baseline", "weights by Zipf", "a 24th of the changes"} <= set(worlds)

    def spread(name: str) -> float:
        found = measure_staleness(worlds[name])
        return max(found[policy] for policy in POLICIES) - min(found[policy] for policy in POLICIES)

    assert spread("a 24th of the changes") < spread("baseline") / 5 < spread("weights by Zipf")


@READINGS
@pytest.mark.parametrize("law", list(ChangeLaw), ids=lambda law: law.label)
def test_no_policy_is_under_the_bounds_whatever_the_law(law: ChangeLaw, reading: ModelReading) -> None:
    supposed = replace(
        SMALL, world=SyntheticWeb(2_000, 10), mixture={law: 0.9, ChangeLaw.POISSON: 0.1}, reading=reading
    )
    for policy in ("psp", "slotted"):
        finding = run_experiment(supposed, policy)
        assert abs(finding.outcome.standard_errors_off) < 3
        known = finding.bounds
        assert known["NonPolite"] <= known["WP"] <= known["PoliteBound"] <= finding.outcome.expected_staleness + 1e-12
    assert known["InfCrawlers"] == pytest.approx(run_experiment(supposed, "psp").outcome.expected_staleness, abs=1e-3)


def test_bounds_of_documents_that_all_change_by_poissons_law_need_not_be_told() -> None:
    web, limits = SMALL.web(), SMALL.limits()
    assert all_bounds(web.pages, limits, ModelReading.STEADY, web.laws) == all_bounds(
        web.pages, limits, ModelReading.STEADY
    )
    for name in ("NonPolite", "WP"):
        by_law = BOUNDS[name](web.pages, limits, ModelReading.FRESH, web.laws)
        assert by_law == pytest.approx(BOUNDS[name](web.pages, limits, ModelReading.FRESH), abs=1e-12)


@READINGS
@pytest.mark.parametrize("name", PLANNING_POLICIES)
def test_what_collections_use_is_simulated_too(name: str, reading: ModelReading) -> None:
    finding = run_experiment(replace(SMALL, reading=reading), name)
    outcome = finding.outcome
    assert abs(outcome.standard_errors_off) < 3
    assert outcome.breaches == 0
    # It knows of servers, and not that crawlers are busy in the middle of the day.
    assert outcome.visits >= 0.97 * outcome.planned
    assert finding.bounds["WP"] < outcome.expected_staleness < finding.bounds["WP"] + 0.05


def test_servers_that_are_asked_without_a_rest_have_turns_of_their_own_in_any_plan() -> None:
    pages, limits = SyntheticWeb(documents=4_000, servers=20, theta=0.0).pages(), VisitLimits(3_600.0, 15.0, 10**6)
    for name in ("psp", *PLANNING_POLICIES):
        schedule = policy_for_known_rates(name)(pages, limits, ModelReading.FRESH)
        assert np.all(np.diff(schedule.starts) == limits.visits_per_server)
        first = np.sort(schedule.times[schedule.starts[:-1]] % limits.politeness)
        # Twenty servers share fifteen seconds.
        assert np.diff(first).max() < 2.0
