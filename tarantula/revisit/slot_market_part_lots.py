"""The slots of a server, taken together in lots: so many that a page would notice which of them it has."""

from __future__ import annotations

import numpy as np
from numba import njit

FEWEST, MOST = 128, 1024
LOTS_PER_VISIT = 12
"""Lots for each visit of a page that is visited as often as most are."""
FREQUENT_PAGE_LOTS = 3
"""A page with more than one visit in so many lots is too often there to choose among them."""


@njit(cache=True)
def divide_into_lots(visits, times, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return the middles of the lots, their room, the pages that choose among them, and what is not left to choice.

    Pages that are visited very often come at even intervals whatever the prices: their wishes, and whose they are.
    """
    count = len(times)
    usual = count / max((visits > 0).sum(), 1)
    size = max(1, int(count / min(max(LOTS_PER_VISIT * usual, FEWEST), MOST)))
    lots = (count + size - 1) // size
    pause = times[1] - times[0]
    points = times[0] + (np.arange(lots) * size + (size - 1) / 2) * pause
    room = np.full(lots, float(size))
    room[-1] = count - size * (lots - 1)
    is_worth = (rates > 0) & (rates < np.inf) & (weights > 0)
    is_often = visits * FREQUENT_PAGE_LOTS > lots
    regulars = np.flatnonzero(is_often)
    owners = np.repeat(regulars, visits[regulars])
    wishes, at = np.empty(len(owners)), 0
    for page in regulars:
        for visit in range(visits[page]):
            wishes[at] = (visit + 1) / (visits[page] + 1) * horizon
            lot = int((wishes[at] - times[0]) / (size * pause) + 0.5 / size)
            room[min(max(lot, 0), lots - 1)] -= 1.0
            at += 1
    return points, np.maximum(room, 0.0), np.flatnonzero(is_worth & ~is_often), wishes, owners
