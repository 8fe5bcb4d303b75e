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
from tarantula.revisit.model import Floats, Ints, ModelReading
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.planning.policies import policy_for_known_rates
from tarantula.revisit.simulator.simulation import (
    SimulatedWeb,
    SimulationOutcome,
    SnapshotCallback,
    check_speeds,
    simulate,
)

MOST_DOCUMENTS = 100_000_000
"""Documents, and servers."""
STEEPEST_THETA = 50.0
"""Of Zipf's laws: beyond it all but the first are nothing."""


@dataclass(frozen=True)
class SyntheticWeb:
    """How many documents there are on how many servers, how often they change, and how much each is worth."""

    documents: int = 1_000_000
    servers: int = 2_000
    theta: float = 1.0
    """Of Zipf's law of the servers' sizes: 0 is the same for all."""
    low: float = 0.01 / 3600
    high: float = 1 / 3600
    """Changes a second."""
    rate_theta: float = 0.0
    """Of Zipf's law of the rates: 0 spreads them evenly, and more means that fewer documents change often."""
    weight_theta: float = 0.0
    """Of Zipf's law of the weights."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.documents <= MOST_DOCUMENTS and 1 <= self.servers <= MOST_DOCUMENTS):
            raise TarantulaError(
                f"There is at least one document and one server, and at most {MOST_DOCUMENTS:,} of each."
            )
        if not all(0 <= theta <= STEEPEST_THETA for theta in (self.theta, self.rate_theta, self.weight_theta)):
            raise TarantulaError(f"The θ of a law of Zipf is a number from 0 to {STEEPEST_THETA:g}.")
        if not 0 <= self.low <= self.high:
            raise TarantulaError("Rates of changes are numbers from zero on, the lower one first.")
        if self.high == inf and isfinite(self.low):
            raise TarantulaError("There is nothing even between a rate and infinity. Choose a highest rate.")
        if self.rate_theta and not self.low:
            raise TarantulaError("Zipf's law of rates has no end towards zero. Choose a lowest rate above it.")
        if self.seed < 0:
            raise TarantulaError("A seed is a whole number from zero on.")

    def pages(self) -> Pages:
        """Make the documents."""
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
    """Return shares by Zipf's law: the n-th is to the first as 1 to n to the power of *theta*."""
    shares: Floats = np.arange(1, count + 1, dtype=np.float64) ** -theta
    shares /= shares.sum()
    return shares


def server_sizes(documents: int, servers: int, theta: float) -> Ints:
    """Return how many documents each server has: whole numbers that add up."""
    borders = np.round(np.concatenate([[0.0], np.cumsum(zipf_shares(servers, theta))]) * documents).astype(np.int64)
    return np.diff(borders)


def zipf_values(low: float, high: float, theta: float, draws: Floats) -> Floats:
    """Return values between two, by Zipf's law: how many there are of one is as 1 to its power of *theta*."""
    if theta == 1.0:
        return low * (high / low) ** draws
    power = 1.0 - theta
    # Relative to the lowest (or, where that is nothing, to the highest): no power of it is too large or too small.
    unit = low or high
    ends = (low / unit) ** power, (high / unit) ** power
    values: Floats = unit * (ends[0] + draws * (ends[1] - ends[0])) ** (1.0 / power)
    return values


def synthetic_pages(documents: int, servers: int, theta: float, low: float, high: float, seed: int = 0) -> Pages:
    """Return pages with rates between two, spread over servers by Zipf's law."""
    return SyntheticWeb(documents, servers, theta, low, high, seed=seed).pages()


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
