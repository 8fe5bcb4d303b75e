"""The page of each server that a visit is worth most to, found quickly while the worth of all grows with time.

Worths grow at different speeds, so an order of pages does not last. But the moment at which a page is worth a given
price is known from its last visit on. Each server has a price: pages that are not worth it yet wait in a heap by that
moment, and the few that are *ripe* are compared one by one. If none is ripe, or too many, the price is chosen anew.

The pages of a server are in one stretch of *line*: those that wait first, as a heap, then the ripe ones.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np
from numba import njit

from tarantula.revisit.inverse import gap_worth

FEW, MANY = 12, 64
"""Ripe pages after a price was chosen, and when it is chosen anew."""


@njit(cache=True)
def worth(rate, weight, since):  # type: ignore[no-untyped-def]
    """Return the index of a page that was last visited so many seconds ago."""
    if not 0.0 < rate < inf or since <= 0.0:
        return 0.0
    u = rate * since
    if u < 1e-4:
        return weight * rate * since * since * (0.5 - u / 3.0)
    return weight / rate * (1.0 - (1.0 + u) * exp(-u))


@njit(cache=True)
def ripest(server, now, starts, line, waiting, prices, moments, last, rates, weights):  # type: ignore[no-untyped-def]
    """Return the page of a server to which a visit is worth most now, and what; of equal ones the first."""
    begin, end = starts[server], starts[server + 1]
    _ripen(server, now, begin, line, waiting, moments)
    ripe = end - begin - waiting[server]
    if ripe == 0 or ripe > MANY:
        _choose_price(server, now, begin, end, line, waiting, prices, moments, last, rates, weights)
    best, most = -1, 0.0
    for place in range(begin + waiting[server], end):
        page = line[place]
        value = worth(rates[page], weights[page], now - last[page])
        if value > most or (value == most and 0 <= page < best):
            best, most = page, value
    return best, most


@njit(cache=True)
def visited(page, server, now, starts, line, waiting, prices, moments, last, rates, weights):  # type: ignore[no-untyped-def]
    """Let a page wait again from now on; its rate may have become another."""
    begin, end = starts[server], starts[server + 1]
    last[page] = now
    moments[page] = _moment(page, prices[server], last, rates, weights)
    for place in range(begin + waiting[server], end):
        if line[place] == page:
            line[place] = line[begin + waiting[server]]
            _rise(line, begin, waiting[server], page, moments)
            waiting[server] += 1
            return
    # It was not ripe, and was visited all the same: it waits longer than it did.
    for place in range(waiting[server]):
        if line[begin + place] == page:
            _sink(line, begin, waiting[server], _rise(line, begin, place, page, moments), moments)
            return


@njit(cache=True)
def _moment(page, price, last, rates, weights):  # type: ignore[no-untyped-def]
    """Return when a page is worth a price."""
    rate = rates[page]
    if not 0.0 < rate < inf or weights[page] <= 0.0:
        return inf
    return last[page] + gap_worth(price * rate / weights[page]) / rate


@njit(cache=True)
def _ripen(server, now, begin, line, waiting, moments):  # type: ignore[no-untyped-def]
    while waiting[server] > 0 and moments[line[begin]] <= now:
        waiting[server] -= 1
        size = waiting[server]
        line[begin], line[begin + size] = line[begin + size], line[begin]
        _sink(line, begin, size, 0, moments)


@njit(cache=True)
def _choose_price(server, now, begin, end, line, waiting, prices, moments, last, rates, weights):  # type: ignore[no-untyped-def]
    """Take a price that a few pages are worth now."""
    pages = line[begin:end].copy()
    values = np.empty(len(pages))
    for number in range(len(pages)):
        page = pages[number]
        values[number] = worth(rates[page], weights[page], now - last[page])
    few = min(FEW, len(pages))
    price = np.partition(values, len(pages) - few)[len(pages) - few]
    prices[server] = price
    size, ripe = 0, end
    for number in range(len(pages)):
        page = pages[number]
        moments[page] = _moment(page, price, last, rates, weights)
        if values[number] >= price and values[number] > 0.0:
            ripe -= 1
            line[ripe] = page
        else:
            line[begin + size] = page
            size += 1
    waiting[server] = size
    for place in range(size // 2 - 1, -1, -1):
        _sink(line, begin, size, place, moments)


@njit(cache=True)
def _sink(line, begin, size, place, moments):  # type: ignore[no-untyped-def]
    if place >= size:
        return
    page = line[begin + place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and moments[line[begin + child + 1]] < moments[line[begin + child]]:
            child += 1
        if moments[line[begin + child]] >= moments[page]:
            break
        line[begin + place] = line[begin + child]
        place = child
    line[begin + place] = page


@njit(cache=True)
def _rise(line, begin, place, page, moments):  # type: ignore[no-untyped-def]
    while place > 0 and moments[line[begin + (place - 1) // 2]] > moments[page]:
        line[begin + place] = line[begin + (place - 1) // 2]
        place = (place - 1) // 2
    line[begin + place] = page
    return place
