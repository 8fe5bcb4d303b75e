"""An experiment of 2007: a world, crawlers, a policy, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import floor, inf, isfinite
from time import monotonic
from typing import Any

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.bounds_part_of_2007 import all_bounds
from tarantula.revisit.changes import ChangeLaw, draw_laws
from tarantula.revisit.experiments.experiment_part_worlds import SyntheticWeb
from tarantula.revisit.model import Floats, ModelReading
from tarantula.revisit.pages import VisitLimits
from tarantula.revisit.planning.policies_part_choosers import policy_for_known_rates
from tarantula.revisit.simulator.simulation import SnapshotCallback, simulate
from tarantula.revisit.simulator.simulation_part_outcome import SimulationOutcome
from tarantula.revisit.simulator.simulation_part_web import SimulatedWeb, check_speeds

MOST_VISITS = 100_000_000
"""Visits that are planned, and times at which servers could be visited: so many fit into memory."""


@dataclass(frozen=True)
class ValueRange:
    """Values from one to another; drawn evenly where there are many."""

    low: float
    high: float

    def draw(self, count: int, seed: list[int]) -> Floats:
        """Return so many."""
        if self.low == self.high:
            return np.full(count, self.low)
        return np.random.default_rng(seed).uniform(self.low, self.high, count)


@dataclass(frozen=True)
class Experiment:
    """What is supposed."""

    world: SyntheticWeb = field(default_factory=SyntheticWeb)
    horizon: float = 86_400.0
    politeness: float = 15.0
    crawlers: int = 10
    rate: ValueRange = ValueRange(10.0, 10.0)
    """Of each crawler, in documents of size 1 a second."""
    server_rate: ValueRange = ValueRange(inf, inf)
    size: ValueRange = ValueRange(1.0, 1.0)
    mixture: Mapping[ChangeLaw, float] = field(default_factory=lambda: {ChangeLaw.POISSON: 1.0})
    reading: ModelReading = ModelReading.FRESH

    def speeds(self) -> Floats:
        """Return the speed of each crawler."""
        if not 1 <= self.crawlers <= 1_000_000:
            raise TarantulaError("There is at least one crawler, and at most a million.")
        speeds = self.rate.draw(self.crawlers, [self.world.seed, 4])
        check_speeds(speeds, "crawler")
        if not np.all(np.isfinite(speeds)):
            raise TarantulaError("The speed of a crawler is not infinite: it is what limits the visits.")
        return speeds

    def limits(self) -> VisitLimits:
        """Return what crawlers can do in the horizon, and what servers allow."""
        if not 0 < self.size.low <= self.size.high < inf:
            raise TarantulaError("The size of a document is a number above zero, and not infinite.")
        visits = float(self.speeds().sum()) * self.horizon / ((self.size.low + self.size.high) / 2)
        if not visits <= MOST_VISITS:
            raise TarantulaError(
                f"The crawlers could make {visits:.3g} visits, and {MOST_VISITS:,} is the most that are planned. "
                "Choose fewer or slower crawlers, or a shorter horizon."
            )
        # A hair more: ten times ten a second for a day is 8,640,000, also where a tenth is not quite one.
        seconds = self.size.low / self.speeds()
        limits = VisitLimits(self.horizon, self.politeness, floor(visits + 1e-6), tuple(seconds.tolist()))
        if self.world.servers * min(limits.of_server, limits.visits) > MOST_VISITS:
            raise TarantulaError(
                f"So many servers and such short pauses make more than {MOST_VISITS:,} times to choose from. "
                "Choose fewer servers, a longer pause or a shorter horizon."
            )
        return limits

    def web(self) -> SimulatedWeb:
        """Make the documents and servers."""
        pages, seed = self.world.pages(), self.world.seed
        laws = draw_laws(len(pages), self.mixture, seed)
        sizes = self.size.draw(len(pages), [seed, 5])
        return SimulatedWeb.of(pages, laws, sizes, self.server_rate.draw(len(pages.starts) - 1, [seed, 6]))

    def as_json(self) -> dict[str, Any]:
        """Return it for a program to read; rates are changes a second."""
        return {
            **asdict(self.world),
            "low": _writable(self.world.low),
            "high": _writable(self.world.high),
            "horizon": self.horizon,
            "politeness": self.politeness,
            "crawlers": self.crawlers,
            "visits": self.limits().visits,
            "mixture": {law.word: share for law, share in self.mixture.items()},
            "reading": str(self.reading),
        }


@dataclass(frozen=True)
class ExperimentResult:
    """What came of it."""

    outcome: SimulationOutcome
    bounds: dict[str, float]
    planning: float
    """Seconds that it took."""
    simulating: float

    def as_json(self) -> dict[str, Any]:
        """Return it for a program to read."""
        found = self.outcome
        return {
            "staleness": found.staleness,
            "freshness": 1.0 - found.staleness,
            "expected_staleness": found.expected,
            "standard_error": found.error,
            "standard_errors_off": found.errors,
            "bounds": self.bounds,
            "planned": found.planned,
            "visits": found.visits,
            "visits_that_found_a_change": found.changed,
            "breaches": found.breaches,
            "closest_seconds": found.closest,
            "late_seconds": {"mean": found.late, "most": found.latest},
            "events": {event.name.lower(): count for event, count in found.events.items()},
            "moments": [moment._asdict() for moment in found.moments],
            "seconds": {"planning": self.planning, "simulating": self.simulating},
        }


def _writable(number: float) -> float | str:
    """JSON knows no infinity."""
    return number if isfinite(number) else "infinite"


def run_experiment(
    experiment: Experiment, policy: str, watch: SnapshotCallback = lambda moment: None, *, with_bounds: bool = True
) -> ExperimentResult:
    """Plan by a policy, simulate, and say within which bounds that is."""
    chosen, limits, crawlers = policy_for_known_rates(policy), experiment.limits(), experiment.speeds()
    web = experiment.web()
    web.check_changes(limits)
    began = monotonic()
    schedule = chosen(web.pages, limits, experiment.reading)
    planned = monotonic()
    outcome = simulate(schedule, web, crawlers, limits, experiment.reading, seed=experiment.world.seed, watch=watch)
    ended = monotonic()
    known = all_bounds(web.pages, limits, experiment.reading, web.laws) if with_bounds else {}
    return ExperimentResult(outcome, known, planned - began, ended - planned)
