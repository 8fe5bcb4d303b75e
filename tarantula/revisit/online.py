"""Online revisit policy without a horizon: visit the page whose visit is worth most now.

The index of a page, the worth of a visit to it, grows with the time since its last visit. Indexes grow at different
speeds, so a sorted order of pages does not last; but the time at which a page reaches a given price is known from its
last visit on. Each server has a price: pages below it wait in a heap ordered by that time, and the few *ripe* pages
above it are compared one by one. If no page is ripe, or too many are, a new price is chosen.
"""

from __future__ import annotations

from math import exp, expm1, inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats, Ints, Pages, gap_worth, weighted_mean
from tarantula.revisit.rates.estimators import RatePrior

RIPE_PAGES_AT_PRICE, MOST_RIPE_PAGES = 12, 64
"""Number of ripe pages after a price was chosen, and number at which a new price is chosen."""


class RipeningPages(NamedTuple):
    """Pages of all servers, split into waiting and ripe ones."""

    starts: Ints
    """Start of each server's slice of `places`."""
    places: Ints
    """Pages; each server's slice has the waiting pages as a heap, then the ripe ones."""
    waiting: Ints
    """Number of waiting pages of each server."""
    prices: Floats
    """Price of each server."""
    moments: Floats
    """Time at which each page reaches its server's price."""
    last: Floats
    """Time of the last visit to each page."""
    rates: Floats
    """Estimated rates."""
    weights: Floats

    @classmethod
    def of(cls, pages: Pages, rates: Floats, now: float) -> RipeningPages:
        """Start with all pages waiting."""
        count, servers = len(pages), len(pages.starts) - 1
        moments, last = np.full(count, inf), np.full(count, now)
        return cls(
            pages.starts,
            np.arange(count),
            np.diff(pages.starts),
            np.zeros(servers),
            moments,
            last,
            rates,
            pages.weights,
        )


@njit(cache=True)
def visit_index(rate, weight, since):  # type: ignore[no-untyped-def]
    """Return the index of a page *since* seconds after its last visit."""
    if not 0.0 < rate < inf or since <= 0.0:
        return 0.0
    u = rate * since
    if u < 1e-4:
        return weight * rate * since * since * (0.5 - u / 3.0)
    return weight / rate * (1.0 - (1.0 + u) * exp(-u))


@njit(cache=True)
def best_page(server, now, ripening):  # type: ignore[no-untyped-def]
    """Return the page of a server with the highest index now, and the index; the first of equal ones."""
    counted_from, end = ripening.starts[server], ripening.starts[server + 1]
    _collect_ripe(server, now, ripening)
    ripe = end - counted_from - ripening.waiting[server]
    if ripe == 0 or ripe > MOST_RIPE_PAGES:
        _choose_price(server, now, ripening)
    best, most = -1, 0.0
    for place in range(counted_from + ripening.waiting[server], end):
        page = ripening.places[place]
        value = visit_index(ripening.rates[page], ripening.weights[page], now - ripening.last[page])
        if value > most or (value == most and 0 <= page < best):
            best, most = page, value
    return best, most


@njit(cache=True)
def record_visit(page, server, now, ripening):  # type: ignore[no-untyped-def]
    """Put a page back among the waiting ones after a visit; its rate may have changed."""
    heap = ripening.places[ripening.starts[server] : ripening.starts[server + 1]]
    size = ripening.waiting[server]
    ripening.last[page] = now
    ripening.moments[page] = _ripe_time(page, ripening.prices[server], ripening)
    for place in range(size, len(heap)):
        if heap[place] == page:
            heap[place] = heap[size]
            _rise(heap, size, page, ripening.moments)
            ripening.waiting[server] += 1
            return
    # The page was visited before it was ripe.
    for place in range(size):
        if heap[place] == page:
            _sink(heap, size, _rise(heap, place, page, ripening.moments), ripening.moments)
            return


@njit(cache=True)
def _ripe_time(page, price, ripening):  # type: ignore[no-untyped-def]
    """Return the time at which a visit to a page is worth *price*; infinite if it never is."""
    rate = ripening.rates[page]
    if not 0.0 < rate < inf or ripening.weights[page] <= 0.0:
        return inf
    return ripening.last[page] + gap_worth(price * rate / ripening.weights[page]) / rate


@njit(cache=True)
def _collect_ripe(server, now, ripening):  # type: ignore[no-untyped-def]
    """Move pages that have reached the price from the heap to the ripe ones."""
    heap = ripening.places[ripening.starts[server] : ripening.starts[server + 1]]
    while ripening.waiting[server] > 0 and ripening.moments[heap[0]] <= now:
        ripening.waiting[server] -= 1
        size = ripening.waiting[server]
        heap[0], heap[size] = heap[size], heap[0]
        _sink(heap, size, 0, ripening.moments)


@njit(cache=True)
def _choose_price(server, now, ripening):  # type: ignore[no-untyped-def]
    """Choose a price that a few pages exceed now, and rebuild the heap."""
    heap = ripening.places[ripening.starts[server] : ripening.starts[server + 1]]
    pages, values = heap.copy(), np.empty(len(heap))
    for number in range(len(pages)):
        page = pages[number]
        values[number] = visit_index(ripening.rates[page], ripening.weights[page], now - ripening.last[page])
    few = min(RIPE_PAGES_AT_PRICE, len(pages))
    price = np.partition(values, len(pages) - few)[len(pages) - few]
    size, ripe = 0, len(pages)
    for number in range(len(pages)):
        page = pages[number]
        ripening.moments[page] = _ripe_time(page, price, ripening)
        if values[number] >= price and values[number] > 0.0:
            ripe -= 1
            heap[ripe] = page
        else:
            heap[size] = page
            size += 1
    ripening.prices[server], ripening.waiting[server] = price, size
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, size, place, ripening.moments)


@njit(cache=True)
def _sink(heap, size, place, moments):  # type: ignore[no-untyped-def]
    """Sift a page down the heap."""
    if place >= size:
        return
    page = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and moments[heap[child + 1]] < moments[heap[child]]:
            child += 1
        if moments[heap[child]] >= moments[page]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = page


@njit(cache=True)
def _rise(heap, place, page, moments):  # type: ignore[no-untyped-def]
    """Sift a page up the heap; return its place."""
    while place > 0 and moments[heap[(place - 1) // 2]] > moments[page]:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = page
    return place


class OnlinePolicy:
    """Online revisit policy: names the next page to visit. Rate estimates may change at any visit."""

    def __init__(self, pages: Pages, politeness: float, now: float = 0.0) -> None:
        """Start with all pages visited *now*."""
        self.pages = pages
        self.politeness = politeness
        self._free_times = np.full(len(pages.starts) - 1, now)
        self._ripening = RipeningPages.of(pages, pages.rates.copy(), now)

    def next(self, now: float) -> int | None:
        """Return the page to visit now among servers that may be asked; None if no visit is worth anything."""
        page = int(_best_of_servers(now, self._free_times, self._ripening)[0])
        return None if page < 0 else page

    def visited(self, page: int, now: float, rate: float | None = None) -> None:
        """Record a visit and the rate estimated after it."""
        if rate is not None:
            self._ripening.rates[page] = rate
        server = self.pages.servers[page]
        self._free_times[server] = now + self.politeness
        record_visit(page, server, now, self._ripening)


def run_online_policy(
    pages: Pages,
    politeness: float,
    pause: float,
    until: float,
    counted_from: float,
    prior: RatePrior | None,
    seed: int = 0,
) -> tuple[float, int]:
    """Simulate the policy on randomly changing pages; return their freshness and the number of visits.

    *pause* is the least time between any two visits to any servers. With a *prior* the rates are unknown, and estimated
    from the visits.
    """
    estimated_rates = pages.rates.copy() if prior is None else np.full(len(pages), prior.rate)
    ripening = RipeningPages.of(pages, estimated_rates, 0.0)
    changes, seconds = prior or (0.0, 0.0)
    fresh, visits = _run(
        ripening,
        pages.rates,
        politeness,
        pause,
        until,
        counted_from,
        prior is None,
        float(changes),
        float(seconds),
        seed,
    )
    return weighted_mean(fresh, pages.weights), int(visits)


@njit(cache=True)
def _best_of_servers(now, free_times, ripening):  # type: ignore[no-untyped-def]
    """Return the page with the highest index now, and its server."""
    best, where, most = -1, -1, 0.0
    for server in range(len(free_times)):
        if free_times[server] <= now:
            page, value = best_page(server, now, ripening)
            if value > most:
                best, where, most = page, server, value
    return best, where


@njit(cache=True)
def _run(ripening, true_rates, politeness, pause, until, counted_from, are_rates_known, changes, seconds, seed):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    last, rates = ripening.last, ripening.rates
    free_times, fresh = np.zeros(len(ripening.starts) - 1), np.zeros(len(true_rates))
    observed_changes, observed_seconds = np.full(len(true_rates), changes), np.full(len(true_rates), seconds)
    now, visits = politeness, 0
    while now < until:
        page, server = _best_of_servers(now, free_times, ripening)
        if page < 0:
            now += politeness
            continue
        gap = now - last[page]
        fresh[page] += _fresh_seconds(true_rates[page], last[page], now, counted_from)
        if not are_rates_known:
            if np.random.random() < -expm1(-true_rates[page] * gap):
                observed_changes[page] += _expected_changes(rates[page] * gap)
            observed_seconds[page] += gap
            rates[page] = observed_changes[page] / observed_seconds[page]
        record_visit(page, server, now, ripening)
        free_times[server] = now + politeness
        now = max(now + pause, free_times.min())
        visits += 1
    for page in range(len(true_rates)):
        fresh[page] += _fresh_seconds(true_rates[page], last[page], until, counted_from)
    return fresh / (until - counted_from), visits


@njit(cache=True)
def _fresh_seconds(rate, last, now, counted_from):  # type: ignore[no-untyped-def]
    """Return the seconds a page was expected to be fresh between two visits, counted from *counted_from* on."""
    after = max(last, counted_from)
    if now <= after:
        return 0.0
    if rate == 0.0:
        return now - after
    return (exp(-rate * (after - last)) - exp(-rate * (now - last))) / rate


@njit(cache=True)
def _expected_changes(expected):  # type: ignore[no-untyped-def]
    """Return the expected number of changes in a gap, given that there was at least one and its prior expectation."""
    return expected / -expm1(-expected) if expected > 1e-9 else 1.0


def visit_indexes(rates: Floats, weights: Floats, since: Floats) -> Floats:
    """Return the indexes of pages *since* seconds after their last visits.

    The index is (w/λ)(1 − (1 + u)e^(−u)) with u = λ · since: the price of a visit at which even gaps of this length are
    optimal. Visiting the highest index first keeps all pages at one price.
    """
    u = rates * since
    # For small u the difference of two numbers near 1 would be rounding noise.
    small = u < 1e-4
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = (1.0 - (1.0 + u) * np.exp(-u)) / rates
    worth = np.where(small, rates * since**2 * (0.5 - u / 3.0), worth)
    return np.where(np.isfinite(rates), weights * worth, 0.0)
