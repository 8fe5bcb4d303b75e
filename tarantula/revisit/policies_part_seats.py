"""From the times that pages wish for to the slots that a server has."""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit

SWAP_DISTANCES = np.array([1, 2, 3, 5, 8, 1])
"""How far apart two visits are that may change their slots, one round after the other."""


@njit(cache=True)
def fit_to_count(wishes, owners, rates, weights, horizon, wanted):  # type: ignore[no-untyped-def]
    """Return as many wishes as are wanted: without those that are missed least, or with those that add most.

    The wishes of a page are together, and in order.
    """
    while len(wishes) != wanted:
        if len(wishes) > wanted:
            kept = _without(wishes, owners, rates, weights, horizon, len(wishes) - wanted)
            wishes, owners = wishes[kept], owners[kept]
        else:
            wishes, owners = _with(wishes, owners, rates, weights, horizon, wanted - len(wishes))
    return wishes, owners


@njit(cache=True)
def _without(wishes, owners, rates, weights, horizon, count):  # type: ignore[no-untyped-def]
    visits = len(wishes)
    losses = np.empty(visits)
    for visit in range(visits):
        page, time = owners[visit], wishes[visit]
        before = time - wishes[visit - 1] if visit > 0 and owners[visit - 1] == page else time
        is_last = visit + 1 == visits or owners[visit + 1] != page
        after = (horizon if is_last else wishes[visit + 1]) - time
        losses[visit] = _split(rates[page], weights[page], before, after)
    kept = np.ones(visits, np.bool_)
    for visit in np.argsort(losses, kind="mergesort"):
        if count == 0:
            break
        # What a visit is worth is known only while those beside it are made.
        is_alone = (visit > 0 and owners[visit - 1] == owners[visit] and not kept[visit - 1]) or (
            visit + 1 < visits and owners[visit + 1] == owners[visit] and not kept[visit + 1]
        )
        if not is_alone:
            kept[visit] = False
            count -= 1
    return kept


@njit(cache=True)
def _with(wishes, owners, rates, weights, horizon, count):  # type: ignore[no-untyped-def]
    pages = len(rates)
    latest, widest, middle = np.zeros(pages), np.zeros(pages), np.zeros(pages)
    for visit in range(len(wishes)):
        page, time = owners[visit], wishes[visit]
        if time - latest[page] > widest[page]:
            widest[page], middle[page] = time - latest[page], (time + latest[page]) / 2
        latest[page] = time
    gains = np.empty(pages)
    for page in range(pages):
        if horizon - latest[page] > widest[page]:
            widest[page], middle[page] = horizon - latest[page], (horizon + latest[page]) / 2
        gains[page] = _split(rates[page], weights[page], widest[page] / 2, widest[page] / 2)
    added = np.argsort(-gains, kind="mergesort")[:count]
    times = np.concatenate((wishes, middle[added]))
    takers = np.concatenate((owners, added))
    order = np.argsort(times, kind="mergesort")
    order = order[np.argsort(takers[order], kind="mergesort")]
    return times[order], takers[order]


@njit(cache=True)
def _split(rate, weight, before, after):  # type: ignore[no-untyped-def]
    """Return what a visit adds that is so long after the one before and before the one after, times the horizon."""
    if not 0.0 < rate < np.inf:
        return 0.0
    return weight / rate * (1.0 - exp(-rate * before)) * (1.0 - exp(-rate * after))


@njit(cache=True)
def swap_neighbours(takers, times, rates, weights, horizon, steady):  # type: ignore[no-untyped-def]
    """Let visits that are near to each other change their slots wherever that makes pages fresher."""
    visits = len(takers)
    earlier, later = _neighbours(takers, len(rates), steady)
    for reach in SWAP_DISTANCES:
        for one in range(visits - reach):
            other = one + reach
            page, rival = takers[one], takers[other]
            if page == rival or (one < later[one] < other) or (one < earlier[other] < other):
                continue
            change = _moved(one, other, earlier, later, times, rates[page], weights[page], horizon)
            change += _moved(other, one, earlier, later, times, rates[rival], weights[rival], horizon)
            if change > 1e-12 * weights[page]:
                takers[one], takers[other] = rival, page
                _relink(one, other, earlier, later)


@njit(cache=True)
def _neighbours(takers, pages, steady):  # type: ignore[no-untyped-def]
    """Return the visits of the same page before and after each, or none; the first follows the last if it is steady."""
    visits = len(takers)
    earlier, later = np.full(visits, -1), np.full(visits, -1)
    first, last = np.full(pages, -1), np.full(pages, -1)
    for visit in range(visits):
        page = takers[visit]
        if last[page] >= 0:
            earlier[visit], later[last[page]] = last[page], visit
        else:
            first[page] = visit
        last[page] = visit
    if steady:
        for page in range(pages):
            if first[page] >= 0:
                earlier[first[page]], later[last[page]] = last[page], first[page]
    return earlier, later


@njit(cache=True)
def _moved(visit, to, earlier, later, times, rate, weight, horizon):  # type: ignore[no-untyped-def]
    """Return what is won, times the horizon, when a visit is made in another slot between those beside it."""
    if not 0.0 < rate < np.inf or earlier[visit] == visit:
        return 0.0
    before = times[earlier[visit]] if earlier[visit] >= 0 else 0.0
    after = times[later[visit]] if later[visit] >= 0 else horizon
    before -= horizon if earlier[visit] > visit else 0.0
    after += horizon if 0 <= later[visit] < visit else 0.0
    old = exp(-rate * (times[visit] - before)) + exp(-rate * (after - times[visit]))
    new = exp(-rate * (times[to] - before)) + exp(-rate * (after - times[to]))
    return weight / rate * (old - new)


@njit(cache=True)
def _relink(one, other, earlier, later):  # type: ignore[no-untyped-def]
    """Change two visits in the chains of their pages."""
    chains = earlier[one], later[one], earlier[other], later[other]
    for visit, before, after, was in ((other, chains[0], chains[1], one), (one, chains[2], chains[3], other)):
        earlier[visit] = visit if before == was else before
        later[visit] = visit if after == was else after
        if before >= 0 and before != was:
            later[before] = visit
        if after >= 0 and after != was:
            earlier[after] = visit
