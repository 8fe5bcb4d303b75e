"""Pages of the revisit model, their arrays, and the limits of servers and crawlers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import ceil, expm1, inf, sqrt
from typing import Self

import numpy as np
from numba import njit, vectorize
from numpy.typing import ArrayLike, NDArray

from tarantula.core.errors import TarantulaError

TICKS_PER_SECOND = 1 << 20
"""Resolution of visit times; multiples of a tick add up without rounding."""


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CHANGES_IN_GAP = 60.0
"""Largest gap of the table, in changes; longer gaps gain nothing more."""
_GAPS = np.linspace(0.0, MOST_CHANGES_IN_GAP, 600_001)
# Near 0, 1 − (1 + u)e^(−u) is u²/2: with its root the table is evenly spaced.
_ROOTS = np.sqrt(np.maximum(1.0 - (1.0 + _GAPS) * np.exp(-_GAPS), 0.0))
GAP_TABLE = np.interp(np.linspace(0.0, 1.0, 16_385), _ROOTS, _GAPS)
GAP_TABLE[-1] = MOST_CHANGES_IN_GAP
SERIES_BELOW_SHARE = 1e-4
"""Below this share the first terms of a series are more exact than the table."""
NO_INTERPOLATION_ABOVE_SHARE = 0.96
"""Above this share the table is too curved for interpolation."""


class ModelReading(StrEnum):
    """Assumption about the time before the horizon; it changes the ranking of policies."""

    FRESH = "fresh"
    """All pages are fresh at the start: x visits leave x + 1 gaps."""
    STEADY = "steady"
    """The horizon repeats: x visits leave x gaps, and a page without visits is never fresh."""


@njit(cache=True)
def gap_freshness(changes: float) -> float:
    """Return the mean freshness over a gap with *changes* expected changes."""
    if changes <= 0.0:
        return 1.0
    return -expm1(-changes) / changes if changes != inf else 0.0


@njit(cache=True)
def even_freshness(visits: int, changes: float, steady: bool) -> float:
    """Return the freshness of a page with even visits, the optimum for this number of visits."""
    gaps = visits if steady else visits + 1
    return gap_freshness(changes / gaps) if gaps else 0.0


@njit(cache=True)
def visit_gain(visits: int, changes: float, steady: bool) -> float:
    """Return the freshness gained by one more evenly spaced visit."""
    return even_freshness(visits + 1, changes, steady) - even_freshness(visits, changes, steady)


@vectorize(cache=True)  # type: ignore[no-untyped-call]
def _evenly(visits, changes, steady):  # type: ignore[no-untyped-def]
    return even_freshness(visits, changes, steady)


def even_freshness_of_pages(visits: Ints, changes: Floats, reading: ModelReading) -> Floats:
    """Return the freshness of pages with even visits."""
    fresh: Floats = _evenly(visits, changes, reading is ModelReading.STEADY)
    return fresh


def weighted_mean(fresh: Floats, weights: Floats) -> float:
    """Return the mean freshness of pages by weight."""
    return float(fresh @ weights / weights.sum())


@njit(cache=True)
def bracketing_gaps(share):  # type: ignore[no-untyped-def]
    """Return two adjacent table entries between which the gap worth *share* lies."""
    place = int(sqrt(share) * (len(GAP_TABLE) - 1))
    return GAP_TABLE[place], GAP_TABLE[min(place + 1, len(GAP_TABLE) - 1)]


@njit(cache=True)
def gap_worth(share):  # type: ignore[no-untyped-def]
    """Return the gap, in changes, whose visit is worth a share of the maximum; rounded down rather than up."""
    if share <= 0.0:
        return 0.0
    if share >= 1.0:
        return np.inf
    if share < SERIES_BELOW_SHARE:
        root = sqrt(2.0 * share)
        return root + root**2 / 3 + 11 / 72 * root**3
    low, high = bracketing_gaps(share)
    if share > NO_INTERPOLATION_ABOVE_SHARE:
        return low
    place = sqrt(share) * (len(GAP_TABLE) - 1)
    return (low + (place - int(place)) * (high - low)) * (1.0 - 1e-6)


@dataclass(frozen=True)
class Pages:
    """Pages, ordered by server."""

    rates: Floats
    """Changes a second."""
    weights: Floats
    servers: Ints
    """Server number of each page, from 0."""
    order: Ints
    """Index of each page in the order in which the pages were given."""

    @classmethod
    def of(cls, rates: ArrayLike, servers: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Order pages by server."""
        all_rates = np.asarray(rates, dtype=np.float64)
        all_servers = np.asarray(servers, dtype=np.int64)
        all_weights = np.ones_like(all_rates) if weights is None else np.asarray(weights, dtype=np.float64)
        _check_pages(all_rates, all_weights, all_servers)
        order = np.argsort(all_servers, kind="stable").astype(np.int64)
        return cls(all_rates[order], all_weights[order], all_servers[order], order)

    def __len__(self) -> int:
        return len(self.rates)

    @cached_property
    def starts(self) -> Ints:
        """Index of the first page of each server, then the number of pages."""
        count = int(self.servers[-1]) + 1 if len(self) else 0
        return np.searchsorted(self.servers, np.arange(count + 1)).astype(np.int64)

    def changes(self, horizon: float) -> Floats:
        """Return the expected changes of each page in a horizon."""
        return self.rates * horizon


@dataclass(frozen=True)
class VisitLimits:
    """Limits on visits, with one pause for all servers."""

    horizon: float
    """Seconds."""
    politeness: float
    """Seconds between two visits to a server."""
    visits: int
    """Most visits to all servers together."""
    crawlers: tuple[float, ...] = ()
    """Least seconds of a visit for each crawler; empty if the crawlers are unknown."""

    def __post_init__(self) -> None:
        if not 0 < self.politeness < np.inf or not 0 < self.horizon < np.inf:
            raise TarantulaError("The horizon and the pause between visits must be finite and longer than 0 seconds.")
        if self.horizon < self.politeness:
            raise TarantulaError(
                "The horizon of {horizon:g} s is shorter than the {politeness:g} s between two visits: "
                "no visit can be planned. Choose a longer horizon.",
                horizon=self.horizon,
                politeness=self.politeness,
            )
        if self.visits < 0:
            raise TarantulaError("The number of visits must not be negative.")

    @property
    def pause(self) -> float:
        """Politeness rounded up to whole ticks, so that its multiples add up without rounding."""
        return ceil(self.politeness * TICKS_PER_SECOND) / TICKS_PER_SECOND

    @property
    def possible_visits(self) -> float:
        """Number of visits that the crawlers can make if they are always busy."""
        return sum(self.horizon / seconds for seconds in self.crawlers)

    @property
    def visits_per_server(self) -> int:
        """Most visits to one server."""
        return int(self.horizon / self.pause)


def _check_pages(rates: Floats, weights: Floats, servers: Ints) -> None:
    if not len(rates) == len(weights) == len(servers):
        raise TarantulaError("Each page has one rate, one weight and one server.")
    if not np.all(rates >= 0):
        raise TarantulaError("A change rate must be 0 or more.")
    if not (np.all(weights >= 0) and np.all(np.isfinite(weights))):
        raise TarantulaError("A weight must be a finite number, 0 or more.")
    if len(weights) and not weights.sum() > 0:
        raise TarantulaError("At least one page must have a weight above 0.")
    if not np.all(servers >= 0):
        raise TarantulaError("Server numbers must be 0 or more.")
