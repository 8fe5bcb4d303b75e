"""Pages that are believed to change, servers with pauses of their own, and what a schedule then does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS_PER_SECOND, Pages
from tarantula.revisit.rates.gamma_part_doubt import gamma_fresh_seconds, gamma_fresh_seconds_after
from tarantula.revisit.schedule import Schedule

CERTAIN_SHAPE = 1e9
"""As if so many changes had been seen, where there is no doubt."""


@dataclass(frozen=True)
class UncertainPages:
    """What is believed of pages, in the order of their servers."""

    pages: Pages
    shapes: Floats
    """As if so many changes had been seen."""
    scales: Floats
    """In so many seconds."""
    ages: Floats
    """Seconds since each was last visited."""

    @classmethod
    def of(
        cls, shapes: Floats, scales: Floats, ages: Floats, servers: Ints, weights: Floats | None = None
    ) -> UncertainPages:
        """Take pages in any order."""
        if not (np.all(shapes >= 0) and np.all(scales >= 0) and np.all(ages >= 0)):
            raise TarantulaError("What is believed of a page are numbers from zero on.")
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(shapes > 0, shapes / scales, 0.0)
        pages = Pages.of(rates, servers, weights)
        return cls(pages, shapes[pages.order], scales[pages.order], ages[pages.order])

    @classmethod
    def known(cls, pages: Pages) -> UncertainPages:
        """Take pages whose rates are known, and that were all seen just now."""
        shapes = np.where(pages.rates > 0, CERTAIN_SHAPE, 0.0)
        with np.errstate(divide="ignore"):
            scales = np.where(pages.rates > 0, CERTAIN_SHAPE / pages.rates, 1.0)
        return cls(pages, shapes, scales, np.zeros(len(pages)))

    def __len__(self) -> int:
        return len(self.pages)


class PerServerLimits(NamedTuple):
    """How much may be asked, when each server has a pause of its own."""

    horizon: float
    """Seconds."""
    of_servers: Floats
    """Seconds between two visits to each server."""
    visits: int
    """To all servers together."""
    most: Floats | float = np.inf
    """Visits to each server, where that was decided beside its pause."""

    @property
    def ticks(self) -> Floats:
        """The pauses in whole ticks: times that are multiples of them add up without an error."""
        rounded: Floats = np.ceil(self.of_servers * TICKS_PER_SECOND) / TICKS_PER_SECOND
        return rounded

    @property
    def budgets(self) -> Ints:
        """How often each server may be visited."""
        allowed = np.minimum(np.floor(self.horizon / self.ticks), self.most)
        return np.minimum(allowed, self.visits).astype(np.int64)


def expected_freshness(schedule: Schedule, believed: UncertainPages, horizon: float) -> Floats:
    """Return how fresh each page is believed to be when it is visited at exactly these times."""
    fresh: Floats = _freshness(
        schedule.times, schedule.pages, schedule.starts, believed.shapes, believed.scales, believed.ages, horizon
    )
    return fresh


def visit_gaps(schedule: Schedule, believed: UncertainPages) -> Floats:
    """Return how long before each visit its page was last visited."""
    order = np.lexsort((schedule.times, schedule.pages))
    pages, times = schedule.pages[order], schedule.times[order]
    first = np.ones(len(pages), dtype=np.bool_)
    first[1:] = pages[1:] != pages[:-1]
    gaps = np.empty(len(pages))
    gaps[order] = np.where(first, times + believed.ages[pages], np.diff(times, prepend=0.0))
    return gaps


@njit(cache=True)
def _freshness(times, pages, starts, shapes, scales, ages, horizon):  # type: ignore[no-untyped-def]
    last = np.full(len(shapes), -1.0)
    fresh = np.zeros(len(shapes))
    for server in range(len(starts) - 1):
        for visit in range(starts[server], starts[server + 1]):
            page, time = pages[visit], times[visit]
            if last[page] < 0.0:
                fresh[page] = gamma_fresh_seconds_after(ages[page], time, shapes[page], scales[page])
            else:
                fresh[page] += gamma_fresh_seconds(time - last[page], shapes[page], scales[page])
            last[page] = time
    for page in range(len(shapes)):
        if last[page] < 0.0:
            fresh[page] = gamma_fresh_seconds_after(ages[page], horizon, shapes[page], scales[page])
        else:
            fresh[page] += gamma_fresh_seconds(horizon - last[page], shapes[page], scales[page])
        fresh[page] /= horizon
    return fresh
