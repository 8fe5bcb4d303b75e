"""Input of a revisit policy: pages with rates, weights and servers, and the limits on visits."""

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
"""Resolution of visit times; multiples of a tick add up without rounding."""


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
