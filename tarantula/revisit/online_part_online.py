"""A policy without a horizon: whoever may ask a server now is told the page to which a visit is worth most."""

from __future__ import annotations

from math import exp, expm1

import numpy as np
from numba import njit

from tarantula.revisit.model import weighted_mean
from tarantula.revisit.online import RipeningPages, best_page, record_visit
from tarantula.revisit.pages import Pages
from tarantula.revisit.rates.estimators import RatePrior


class OnlinePolicy:
    """Says what to visit next, for as long as there is time; what is believed of a page may change at any visit."""

    def __init__(self, pages: Pages, politeness: float, now: float = 0.0) -> None:
        """Take pages that were all last visited now."""
        self.pages = pages
        self.politeness = politeness
        self._free = np.full(len(pages.starts) - 1, now)
        self._line = RipeningPages.of(pages, pages.rates.copy(), now)

    def next(self, now: float) -> int | None:
        """Return the page to visit, among servers that may be asked now; none if no visit is worth anything."""
        page = int(_best(now, self._free, self._line)[0])
        return None if page < 0 else page

    def visited(self, page: int, now: float, rate: float | None = None) -> None:
        """Take note of a visit, and of the rate that is believed after it."""
        if rate is not None:
            self._line.rates[page] = rate
        server = self.pages.servers[page]
        self._free[server] = now + self.politeness
        record_visit(page, server, now, self._line)


def run_online_policy(
    pages: Pages,
    politeness: float,
    pause: float,
    until: float,
    counted_from: float,
    prior: RatePrior | None,
    seed: int = 0,
) -> tuple[float, int]:
    """Let the policy run on pages that change at random; return how fresh it keeps them, and how many visits it makes.

    *pause* is between any two visits, whatever the server. With a *prior* the rates are not known: they are estimated
    from what the visits find.
    """
    believed = pages.rates.copy() if prior is None else np.full(len(pages), prior.rate)
    line = RipeningPages.of(pages, believed, 0.0)
    changes, seconds = prior or (0.0, 0.0)
    fresh, visits = _keep(
        line, pages.rates, politeness, pause, until, counted_from, prior is None, float(changes), float(seconds), seed
    )
    return weighted_mean(fresh, pages.weights), int(visits)


@njit(cache=True)
def _best(now, free, line):  # type: ignore[no-untyped-def]
    """Return the page to which a visit is worth most now, and its server."""
    best, where, most = -1, -1, 0.0
    for server in range(len(free)):
        if free[server] <= now:
            page, value = best_page(server, now, line)
            if value > most:
                best, where, most = page, server, value
    return best, where


@njit(cache=True)
def _keep(line, truth, politeness, pause, until, begin, known, changes, seconds, seed):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    last, rates = line.last, line.rates
    free, fresh = np.zeros(len(line.starts) - 1), np.zeros(len(truth))
    seen, spent = np.full(len(truth), changes), np.full(len(truth), seconds)
    now, visits = politeness, 0
    while now < until:
        page, server = _best(now, free, line)
        if page < 0:
            now += politeness
            continue
        gap = now - last[page]
        fresh[page] += _fresh(truth[page], last[page], now, begin)
        if not known:
            if np.random.random() < -expm1(-truth[page] * gap):
                seen[page] += _changes(rates[page] * gap)
            spent[page] += gap
            rates[page] = seen[page] / spent[page]
        record_visit(page, server, now, line)
        free[server] = now + politeness
        now = max(now + pause, free.min())
        visits += 1
    for page in range(len(truth)):
        fresh[page] += _fresh(truth[page], last[page], until, begin)
    return fresh / (until - begin), visits


@njit(cache=True)
def _fresh(rate, last, now, begin):  # type: ignore[no-untyped-def]
    """Return for how long a page was fresh between two visits, after the beginning of what counts."""
    after = max(last, begin)
    if now <= after:
        return 0.0
    if rate == 0.0:
        return now - after
    return (exp(-rate * (after - last)) - exp(-rate * (now - last))) / rate


@njit(cache=True)
def _changes(expected):  # type: ignore[no-untyped-def]
    """Return how many changes there were, as far as one knows, if there was one and so many were expected."""
    return expected / -expm1(-expected) if expected > 1e-9 else 1.0
