"""The page of each server that a visit is worth most to, found quickly while the worth of all grows with time.

Worths grow at different speeds, so an order of pages does not last. But the moment at which a page is worth a given
price is known from its last visit on. Each server has a price: pages that are not worth it yet wait in a heap by that
moment, and the few that are *ripe* are compared one by one. If none is ripe, or too many, the price is chosen anew.
"""

from __future__ import annotations

from math import exp, inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.model_part_inverse import gap_worth
from tarantula.revisit.pages import Pages

FEW, MANY = 12, 64
"""Ripe pages after a price was chosen, and when it is chosen anew."""


class RipeningPages(NamedTuple):
    """The pages of all servers."""

    starts: Ints
    """Where the stretch of each server begins."""
    places: Ints
    """Pages: in each stretch those that wait, as a heap, and then the ripe ones."""
    waiting: Ints
    """How many of each server."""
    prices: Floats
    """Of each server."""
    moments: Floats
    """At which each page is worth its server's price."""
    last: Floats
    """Visit to each page."""
    rates: Floats
    """As they are believed."""
    weights: Floats

    @classmethod
    def of(cls, pages: Pages, rates: Floats, now: float) -> RipeningPages:
        """Begin with nobody ripe."""
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
    """Return the index of a page that was last visited so many seconds ago."""
    if not 0.0 < rate < inf or since <= 0.0:
        return 0.0
    u = rate * since
    if u < 1e-4:
        return weight * rate * since * since * (0.5 - u / 3.0)
    return weight / rate * (1.0 - (1.0 + u) * exp(-u))


@njit(cache=True)
def best_page(server, now, line):  # type: ignore[no-untyped-def]
    """Return the page of a server to which a visit is worth most now, and what; of equal ones the first."""
    begin, end = line.starts[server], line.starts[server + 1]
    _ripen(server, now, line)
    ripe = end - begin - line.waiting[server]
    if ripe == 0 or ripe > MANY:
        _choose_price(server, now, line)
    best, most = -1, 0.0
    for place in range(begin + line.waiting[server], end):
        page = line.places[place]
        value = visit_index(line.rates[page], line.weights[page], now - line.last[page])
        if value > most or (value == most and 0 <= page < best):
            best, most = page, value
    return best, most


@njit(cache=True)
def record_visit(page, server, now, line):  # type: ignore[no-untyped-def]
    """Let a page wait again from now on; its rate may have become another."""
    heap = line.places[line.starts[server] : line.starts[server + 1]]
    size = line.waiting[server]
    line.last[page] = now
    line.moments[page] = _moment(page, line.prices[server], line)
    for place in range(size, len(heap)):
        if heap[place] == page:
            heap[place] = heap[size]
            _rise(heap, size, page, line.moments)
            line.waiting[server] += 1
            return
    # It was not ripe, and was visited all the same.
    for place in range(size):
        if heap[place] == page:
            _sink(heap, size, _rise(heap, place, page, line.moments), line.moments)
            return


@njit(cache=True)
def _moment(page, price, line):  # type: ignore[no-untyped-def]
    """Return when a page is worth a price."""
    rate = line.rates[page]
    if not 0.0 < rate < inf or line.weights[page] <= 0.0:
        return inf
    return line.last[page] + gap_worth(price * rate / line.weights[page]) / rate


@njit(cache=True)
def _ripen(server, now, line):  # type: ignore[no-untyped-def]
    """Take the pages from the heap that have become worth the price."""
    heap = line.places[line.starts[server] : line.starts[server + 1]]
    while line.waiting[server] > 0 and line.moments[heap[0]] <= now:
        line.waiting[server] -= 1
        size = line.waiting[server]
        heap[0], heap[size] = heap[size], heap[0]
        _sink(heap, size, 0, line.moments)


@njit(cache=True)
def _choose_price(server, now, line):  # type: ignore[no-untyped-def]
    """Take a price that a few pages are worth now."""
    heap = line.places[line.starts[server] : line.starts[server + 1]]
    pages, values = heap.copy(), np.empty(len(heap))
    for number in range(len(pages)):
        page = pages[number]
        values[number] = visit_index(line.rates[page], line.weights[page], now - line.last[page])
    few = min(FEW, len(pages))
    price = np.partition(values, len(pages) - few)[len(pages) - few]
    size, ripe = 0, len(pages)
    for number in range(len(pages)):
        page = pages[number]
        line.moments[page] = _moment(page, price, line)
        if values[number] >= price and values[number] > 0.0:
            ripe -= 1
            heap[ripe] = page
        else:
            heap[size] = page
            size += 1
    line.prices[server], line.waiting[server] = price, size
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, size, place, line.moments)


@njit(cache=True)
def _sink(heap, size, place, moments):  # type: ignore[no-untyped-def]
    """Let a page find its place below those that are ripe before it."""
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
    """Let a page find its place above those that are ripe after it, and return the place."""
    while place > 0 and moments[heap[(place - 1) // 2]] > moments[page]:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = page
    return place
