"""The pages that are to be kept fresh, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import Floats, Ints

TICKS_PER_SECOND = 1 << 20
"""Of a second: so fine are the times of visits."""


@dataclass(frozen=True)
class Pages:
    """Pages in the order of their servers."""

    rates: Floats
    """Changes a second."""
    weights: Floats
    servers: Ints
    """The number of the server of each, from 0."""
    order: Ints
    """Which of the pages that were given each one is."""

    @classmethod
    def of(cls, rates: ArrayLike, servers: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Take pages in any order."""
        given = np.asarray(rates, dtype=np.float64)
        numbers = np.asarray(servers, dtype=np.int64)
        weighed = np.ones_like(given) if weights is None else np.asarray(weights, dtype=np.float64)
        _check(given, weighed, numbers)
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        return cls(given[order], weighed[order], numbers[order], order)

    def __len__(self) -> int:
        return len(self.rates)

    @cached_property
    def starts(self) -> Ints:
        """Where the pages of each server begin, and where those of the last end."""
        count = int(self.servers[-1]) + 1 if len(self) else 0
        return np.searchsorted(self.servers, np.arange(count + 1)).astype(np.int64)

    def changes(self, horizon: float) -> Floats:
        """Return how many changes of each are expected in a horizon."""
        return self.rates * horizon


@dataclass(frozen=True)
class VisitLimits:
    """How much may be asked."""

    horizon: float
    """Seconds."""
    politeness: float
    """Seconds between two visits to a server."""
    visits: int
    """To all servers together."""
    crawlers: tuple[float, ...] = ()
    """Seconds that a visit takes each crawler at least; none where it is not known who makes the visits."""

    def __post_init__(self) -> None:
        if not 0 < self.politeness < np.inf or not 0 < self.horizon < np.inf:
            raise TarantulaError("The horizon and the pause between visits are times longer than nothing.")
        if self.horizon < self.politeness:
            raise TarantulaError(
                f"The horizon of {self.horizon:g} s is shorter than the {self.politeness:g} s between two visits: "
                "nothing could be planned. Choose a longer one."
            )
        if self.visits < 0:
            raise TarantulaError("There cannot be fewer visits than none.")

    @property
    def pause(self) -> float:
        """The politeness in whole ticks: times that are multiples of it add up without an error."""
        return ceil(self.politeness * TICKS_PER_SECOND) / TICKS_PER_SECOND

    @property
    def could_be_made(self) -> float:
        """How many visits crawlers could make if they were always busy."""
        return sum(self.horizon / seconds for seconds in self.crawlers)

    @property
    def of_server(self) -> int:
        """How often one server may be visited."""
        return int(self.horizon / self.pause)


def _check(rates: Floats, weights: Floats, servers: Ints) -> None:
    if not len(rates) == len(weights) == len(servers):
        raise TarantulaError("Each page has one rate, one weight and one server.")
    if not np.all(rates >= 0):
        raise TarantulaError("A rate of changes is a number from zero on.")
    if not (np.all(weights >= 0) and np.all(np.isfinite(weights))):
        raise TarantulaError("A weight is a number from zero on, and not infinite.")
    if len(weights) and not weights.sum() > 0:
        raise TarantulaError("At least one page has a weight above zero.")
    if not np.all(servers >= 0):
        raise TarantulaError("Servers are numbered from zero on.")
