"""An experiment of 2007: a synthetic web, crawlers, a policy, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import floor, inf, isfinite
from time import monotonic
from typing import Any

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.bounds import all_bounds
from tarantula.revisit.changes import ChangeLaw, draw_laws
from tarantula.revisit.model import Floats, Ints, ModelReading, Pages, VisitLimits
from tarantula.revisit.planning import policy_for_known_rates
from tarantula.revisit.simulator.simulation import (
    SimulatedWeb,
    SimulationOutcome,
    SnapshotCallback,
    check_speeds,
    simulate,
)

MOST_DOCUMENTS = 100_000_000
"""Largest number of documents, and of servers."""
STEEPEST_THETA = 50.0
"""Largest θ of Zipf's laws; beyond it all shares but the first vanish."""

MOST_VISITS = 100_000_000
"""Most visits to plan, and most times to choose from, that fit into memory."""


@dataclass(frozen=True)
class SyntheticWeb:
    """Synthetic web: numbers of documents and servers, and the distributions of server sizes, rates and weights."""

    documents: int = 1_000_000
    servers: int = 2_000
    theta: float = 1.0
    """θ of Zipf's law of server sizes; 0 means equal sizes."""
    low: float = 0.01 / 3600
    high: float = 1 / 3600
    """Lowest and highest rate, in changes a second."""
    rate_theta: float = 0.0
    """θ of Zipf's law of rates; 0 means uniform, a larger value means that fewer documents change often."""
    weight_theta: float = 0.0
    """θ of Zipf's law of weights."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.documents <= MOST_DOCUMENTS and 1 <= self.servers <= MOST_DOCUMENTS):
            raise TarantulaError(
                "The numbers of documents and servers must be from 1 to {limit:,}.", limit=MOST_DOCUMENTS
            )
        if not all(0 <= theta <= STEEPEST_THETA for theta in (self.theta, self.rate_theta, self.weight_theta)):
            raise TarantulaError("The θ of a Zipf law must be from 0 to {limit:g}.", limit=STEEPEST_THETA)
        if not 0 <= self.low <= self.high:
            raise TarantulaError("Change rates must be 0 or more, the lower one first.")
        if self.high == inf and isfinite(self.low):
            raise TarantulaError("Rates cannot be uniform up to infinity. Choose a finite highest rate.")
        if self.rate_theta and not self.low:
            raise TarantulaError("A Zipf law of rates needs a lowest rate above 0.")
        if self.seed < 0:
            raise TarantulaError("A seed must be a whole number, 0 or more.")

    def pages(self) -> Pages:
        """Generate the pages."""
        numbers = np.repeat(np.arange(self.servers), server_sizes(self.documents, self.servers, self.theta))
        return Pages.of(self._rates(), numbers, self._weights())

    def _rates(self) -> Floats:
        if self.low == self.high:
            return np.full(self.documents, self.low)
        return zipf_values(
            self.low, self.high, self.rate_theta, np.random.default_rng(self.seed).random(self.documents)
        )

    def _weights(self) -> Floats:
        if not self.weight_theta:
            return np.ones(self.documents)
        weights = zipf_shares(self.documents, self.weight_theta) * self.documents
        return np.random.default_rng([self.seed, 3]).permutation(weights)


def zipf_shares(count: int, theta: float) -> Floats:
    """Return shares by Zipf's law: the n-th is n^−θ times the first."""
    shares: Floats = np.arange(1, count + 1, dtype=np.float64) ** -theta
    shares /= shares.sum()
    return shares


def server_sizes(documents: int, servers: int, theta: float) -> Ints:
    """Return the number of documents on each server, as integers with the right sum."""
    borders = np.round(np.concatenate([[0.0], np.cumsum(zipf_shares(servers, theta))]) * documents).astype(np.int64)
    return np.diff(borders)


def zipf_values(low: float, high: float, theta: float, draws: Floats) -> Floats:
    """Map uniform random numbers to values in [low, high] with a density proportional to value^−θ."""
    if theta == 1.0:
        return low * (high / low) ** draws
    power = 1.0 - theta
    # Relative to the lowest value (or the highest, if the lowest is 0), so that no power overflows.
    unit = low or high
    ends = (low / unit) ** power, (high / unit) ** power
    values: Floats = unit * (ends[0] + draws * (ends[1] - ends[0])) ** (1.0 / power)
    return values


def synthetic_pages(documents: int, servers: int, theta: float, low: float, high: float, seed: int = 0) -> Pages:
    """Return pages with uniform rates between two, distributed over servers by Zipf's law."""
    return SyntheticWeb(documents, servers, theta, low, high, seed=seed).pages()


@dataclass(frozen=True)
class ValueRange:
    """Range of values; several values are drawn uniformly from it."""

    low: float
    high: float

    def draw(self, count: int, seed: list[int]) -> Floats:
        """Draw *count* values."""
        if self.low == self.high:
            return np.full(count, self.low)
        return np.random.default_rng(seed).uniform(self.low, self.high, count)


@dataclass(frozen=True)
class Experiment:
    """Parameters of an experiment."""

    world: SyntheticWeb = field(default_factory=SyntheticWeb)
    horizon: float = 86_400.0
    politeness: float = 15.0
    crawlers: int = 10
    rate: ValueRange = ValueRange(10.0, 10.0)
    """Speed of each crawler, in documents of size 1 a second."""
    server_rate: ValueRange = ValueRange(inf, inf)
    size: ValueRange = ValueRange(1.0, 1.0)
    mixture: Mapping[ChangeLaw, float] = field(default_factory=lambda: {ChangeLaw.POISSON: 1.0})
    reading: ModelReading = ModelReading.FRESH

    def speeds(self) -> Floats:
        """Return the speed of each crawler."""
        if not 1 <= self.crawlers <= 1_000_000:
            raise TarantulaError("The number of crawlers must be from 1 to 1,000,000.")
        speeds = self.rate.draw(self.crawlers, [self.world.seed, 4])
        check_speeds(speeds, "crawler")
        if not np.all(np.isfinite(speeds)):
            raise TarantulaError("The speed of a crawler must be finite, since it limits the visits.")
        return speeds

    def limits(self) -> VisitLimits:
        """Return the visits that crawlers can make in the horizon, and the limits of servers."""
        if not 0 < self.size.low <= self.size.high < inf:
            raise TarantulaError("A document size must be a finite number above 0.")
        visits = float(self.speeds().sum()) * self.horizon / ((self.size.low + self.size.high) / 2)
        if not visits <= MOST_VISITS:
            raise TarantulaError(
                "The crawlers could make {visits:.3g} visits, and {limit:,} is the most that can be planned. "
                "Choose fewer or slower crawlers, or a shorter horizon.",
                visits=visits,
                limit=MOST_VISITS,
            )
        # The small addend absorbs rounding: ten times ten a second for a day must be 8,640,000.
        seconds = self.size.low / self.speeds()
        limits = VisitLimits(self.horizon, self.politeness, floor(visits + 1e-6), tuple(seconds.tolist()))
        if self.world.servers * min(limits.visits_per_server, limits.visits) > MOST_VISITS:
            raise TarantulaError(
                "So many servers and such short pauses give more than {limit:,} times to choose from. "
                "Choose fewer servers, a longer pause or a shorter horizon.",
                limit=MOST_VISITS,
            )
        return limits

    def web(self) -> SimulatedWeb:
        """Generate the documents and servers."""
        pages, seed = self.world.pages(), self.world.seed
        laws = draw_laws(len(pages), self.mixture, seed)
        sizes = self.size.draw(len(pages), [seed, 5])
        return SimulatedWeb.of(pages, laws, sizes, self.server_rate.draw(len(pages.starts) - 1, [seed, 6]))

    def as_json(self) -> dict[str, Any]:
        """Return the parameters for JSON; rates are changes a second."""
        return {
            **asdict(self.world),
            "low": _json_number(self.world.low),
            "high": _json_number(self.world.high),
            "horizon": self.horizon,
            "politeness": self.politeness,
            "crawlers": self.crawlers,
            "visits": self.limits().visits,
            "mixture": {law.label: share for law, share in self.mixture.items()},
            "reading": str(self.reading),
        }


@dataclass(frozen=True)
class ExperimentResult:
    """Result of an experiment."""

    outcome: SimulationOutcome
    bounds: dict[str, float]
    planning: float
    """Seconds spent on planning."""
    simulating: float

    def as_json(self) -> dict[str, Any]:
        """Return the result for JSON."""
        outcome = self.outcome
        return {
            "staleness": outcome.staleness,
            "freshness": 1.0 - outcome.staleness,
            "expected_staleness": outcome.expected_staleness,
            "standard_error": outcome.standard_error,
            "standard_errors_off": outcome.standard_errors_off,
            "bounds": self.bounds,
            "planned": outcome.planned,
            "visits": outcome.visits,
            "visits_that_found_a_change": outcome.changed_visits,
            "breaches": outcome.breaches,
            "closest_seconds": outcome.closest,
            "late_seconds": {"mean": outcome.mean_delay, "most": outcome.longest_delay},
            "events": {event.name.lower(): count for event, count in outcome.events.items()},
            "moments": [snapshot._asdict() for snapshot in outcome.snapshots],
            "seconds": {"planning": self.planning, "simulating": self.simulating},
        }


def _json_number(number: float) -> float | str:
    """Return a number that JSON can hold; it has no infinity."""
    return number if isfinite(number) else "infinite"


def run_experiment(
    experiment: Experiment,
    policy: str,
    on_snapshot: SnapshotCallback = lambda snapshot: None,
    *,
    with_bounds: bool = True,
) -> ExperimentResult:
    """Plan with a policy, simulate the plan, and compute the bounds."""
    chosen, limits, crawlers = policy_for_known_rates(policy), experiment.limits(), experiment.speeds()
    web = experiment.web()
    web.check_changes(limits)
    started = monotonic()
    schedule = chosen(web.pages, limits, experiment.reading)
    planned = monotonic()
    outcome = simulate(
        schedule, web, crawlers, limits, experiment.reading, seed=experiment.world.seed, on_snapshot=on_snapshot
    )
    ended = monotonic()
    computed_bounds = all_bounds(web.pages, limits, experiment.reading, web.laws) if with_bounds else {}
    return ExperimentResult(outcome, computed_bounds, planned - started, ended - planned)
