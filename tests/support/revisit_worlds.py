"""A sequence of items over pages that change at random: each is planned from the observations of those before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tarantula.revisit.bounds import optimal_frequencies, steady_freshness
from tarantula.revisit.experiments.experiment import zipf_shares
from tarantula.revisit.model import Floats, Pages, VisitLimits, weighted_mean
from tarantula.revisit.planning import PerServerLimits, PlanningPolicy, UncertainPages, expected_freshness, visit_gaps
from tarantula.revisit.rates.estimates import estimate_rates
from tarantula.revisit.rates.history import FIRST_BODY, HistoryBuilder, Observations, PagesToRevisit
from tarantula.revisit.schedule import Schedule

DAY = 86_400.0
BEGIN = 1.7e9
BUSY = 0.8
"""Share of the pause of a server in the time between two visits."""


def archive_news_counters(chance: np.random.Generator, pages: int) -> Floats:
    """Return rates: three fifths of the pages change rarely, a fifth about daily, a fifth all the time."""
    powers = [(-3.0, -2.0)] * 3 + [(0.0, 0.6), (1.4, 2.8)]
    return 10 ** chance.permutation(np.concatenate([chance.uniform(*ends, pages // 5) for ends in powers]))


WORLDS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "a Gamma distribution": lambda chance, pages: chance.gamma(0.5, 2.0, pages) + 1e-9,
    "0.01 to 100, each power as likely": lambda chance, pages: 10 ** chance.uniform(-2.0, 2.0, pages),
    "archive, news and counters": archive_news_counters,
    "nearly alike": lambda chance, pages: chance.gamma(8.0, 1 / 8, pages),
}
"""Distributions of the change rate, in changes per day."""


def pages_of(world: str, count: int, *, weighed: bool = False, servers: int = 1) -> Pages:
    """Return the pages of a world, with equal weights or weights by Zipf's law."""
    chance = np.random.default_rng(5)
    rates = WORLDS[world](chance, count) / DAY
    weights = chance.permutation(zipf_shares(count, 0.7)) if weighed else None
    return Pages.of(rates, chance.integers(0, servers, count), weights)


def pauses_of(pages: Pages, horizon: float, visits_a_day: float) -> PerServerLimits:
    """Return limits for a number of visits per day and page; the politeness of servers allows a little more."""
    visits, servers = round(len(pages) * visits_a_day * horizon / DAY), len(pages.starts) - 1
    return PerServerLimits(horizon, np.full(servers, BUSY * servers * horizon / visits), visits)


def best(pages: Pages, pauses: PerServerLimits) -> float:
    """Return the optimal steady-state freshness."""
    limits = VisitLimits(pauses.horizon, float(pauses.pauses[0]), pauses.visits)
    return weighted_mean(steady_freshness(pages, optimal_frequencies(pages, limits).frequencies), pages.weights)


class Kept:
    """Pages that a sequence of items visits; all are fresh at the begin."""

    def __init__(self, pages: Pages, seed: int = 3) -> None:
        self.pages, self.chance = pages, np.random.default_rng(seed)
        count = len(pages)
        self.last, self.versions = np.zeros(count), np.full(count, FIRST_BODY)
        self.seen = [(np.arange(count), np.zeros(count), self.versions.copy())]

    def known(self, now: float) -> UncertainPages:
        """Return the pages with their true rates."""
        sure = UncertainPages.known(self.pages)
        return UncertainPages(self.pages, sure.shapes, sure.scales, now - self.last)

    def learned(self, now: float) -> UncertainPages:
        """Return the pages with the rates estimated from the visits so far."""
        pages, times, faces = (np.concatenate(column) for column in zip(*self.seen, strict=True))
        unsaid, nowhere = np.full(len(pages), np.nan), np.zeros(len(self.pages), dtype=np.int64)
        sights = Observations.of(pages, times + BEGIN, faces, unsaid, np.zeros(len(pages), dtype=np.bool_))
        ledger = HistoryBuilder()
        ledger.add(sights, self.pages.servers, nowhere, PagesToRevisit(np.arange(len(self.pages)), nowhere, nowhere))
        beliefs = estimate_rates(ledger)
        return UncertainPages.of(
            beliefs.shapes, beliefs.scales, now - self.last, self.pages.servers, self.pages.weights
        )

    def keep(self, choose: PlanningPolicy, pauses: PerServerLimits, items: int, *, is_known: bool) -> Floats:
        """Plan and visit items one after another; return the freshness during each."""
        fresh = np.empty(items)
        for item in range(items):
            now = item * pauses.horizon
            schedule = choose(self.known(now) if is_known else self.learned(now), pauses)
            assert schedule.closest() >= pauses.pauses[0]
            fresh[item] = weighted_mean(
                expected_freshness(schedule, self.known(now), pauses.horizon), self.pages.weights
            )
            self._visit(schedule, now)
        return fresh

    def _visit(self, schedule: Schedule, now: float) -> None:
        order = np.lexsort((schedule.times, schedule.pages))
        pages, times = schedule.pages[order], now + schedule.times[order]
        gaps = visit_gaps(schedule, self.known(now))[order]
        changed = self.chance.random(len(pages)) < -np.expm1(-self.pages.rates[pages] * gaps)
        before = np.searchsorted(pages, pages)
        counted = np.concatenate([[0], np.cumsum(changed)])
        versions = self.versions[pages] + counted[1:] - counted[before]
        self.seen.append((pages, times, versions))
        # NumPy assigns the last of several visits to the same page.
        self.last[pages], self.versions[pages] = times, versions
