"""By how much estimators miss, for pages that are visited at even gaps: counted exactly, over all that may be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import comb, exp, inf, isfinite, log, sqrt
from typing import Any

from tarantula.revisit.rates.estimators import Prior, Visit, of_regular_visits, of_visits

VISITS = 10
CHANGES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Expected in a gap."""
WRONG = 3.0
"""How many times too high a prior is that is wrong; either counts as one change."""


@dataclass(frozen=True, slots=True)
class Miss:
    """What an estimator does at one rate."""

    bias: float
    """How far its mean is from the rate, as a share of it."""
    error: float
    """The root of the mean square of what it misses, as a share of the rate."""
    infinite: float
    """How often it knows no bound; the other two are counted without these."""


@dataclass(frozen=True, slots=True)
class Misses:
    """What the estimators do at one rate."""

    changes: float
    cho: Miss
    most_likely: Miss
    with_prior: Miss
    """With what other pages do, and this one does as they."""
    with_wrong_prior: Miss
    """The same if this one changes three times less often than they."""

    @property
    def all(self) -> tuple[Miss, ...]:
        """The estimators, in this order."""
        return self.cho, self.most_likely, self.with_prior, self.with_wrong_prior

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return asdict(self)


def misses(changes: Sequence[float] = CHANGES, visits: int = VISITS) -> list[Misses]:
    """Return what the estimators do after so many visits at even gaps, with so many changes expected in each."""
    return [_misses(rate, visits) for rate in changes]


def _misses(rate: float, visits: int) -> Misses:
    right, wrong = Prior(1.0, 1.0 / rate), Prior(1.0, 1.0 / (WRONG * rate))
    return Misses(
        rate,
        _miss(rate, visits, lambda unchanged: of_regular_visits(visits, unchanged, 1.0)),
        _miss(rate, visits, lambda unchanged: -log(unchanged / visits) if unchanged else inf),
        _miss(rate, visits, lambda unchanged: of_visits(_found(visits, unchanged), right)),
        _miss(rate, visits, lambda unchanged: of_visits(_found(visits, unchanged), wrong)),
    )


def _miss(rate: float, visits: int, estimate: Callable[[int], float]) -> Miss:
    quiet = exp(-rate)
    chances = {
        estimate(unchanged): comb(visits, unchanged) * quiet**unchanged * (1 - quiet) ** (visits - unchanged)
        for unchanged in range(visits + 1)
    }
    bounded = {guess: chance for guess, chance in chances.items() if isfinite(guess)}
    all_bounded = sum(bounded.values())
    mean = sum(guess * chance for guess, chance in bounded.items()) / all_bounded
    square = sum((guess - rate) ** 2 * chance for guess, chance in bounded.items()) / all_bounded
    return Miss(mean / rate - 1, sqrt(square) / rate, 1 - all_bounded)


def _found(visits: int, unchanged: int) -> list[Visit]:
    return [Visit(1.0, number >= unchanged) for number in range(visits)]
