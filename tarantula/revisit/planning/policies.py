"""Visits that keep the pauses of servers."""

from __future__ import annotations

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS_PER_SECOND
from tarantula.revisit.phases.merge import server_offsets
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.schedule_part_runs import places_in_runs, run_starts


def enforce_pauses(times: Floats, takers: Ints, believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Move visits as little as can be, in all, until no pause is broken; those that a server has no room for fall away.

    Times that are too near to each other become a block around their mean: the least sum of squares. Servers that are
    asked without a rest, or all from the beginning on, would be asked at the same moments: each has a turn of its own.
    """
    servers = believed.pages.servers[takers]
    order = np.lexsort((times, servers))
    counts = np.bincount(servers, minlength=len(believed.pages.starts) - 1)
    number = places_in_runs(counts)
    # Of too many visits those are kept that are spread evenly among them.
    room = np.repeat(np.minimum(pauses.budgets, counts), counts)
    of_server = np.repeat(counts, counts)
    kept = order[(number + 1) * room // of_server > number * room // of_server]
    starts = run_starts(np.minimum(pauses.budgets, counts))
    moved = times[kept]
    longest = np.minimum(pauses.ticks, pauses.horizon)
    _set_all_apart(
        moved, starts, longest, longest * server_offsets(len(longest)), pauses.horizon, float(TICKS_PER_SECOND)
    )
    return Schedule(moved, takers[kept], starts)


@njit(cache=True)
def _set_all_apart(times, starts, pauses, turns, horizon, ticks):  # type: ignore[no-untyped-def]
    for server in range(len(starts) - 1):
        _set_apart(times[starts[server] : starts[server + 1]], pauses[server], turns[server], horizon, ticks)


@njit(cache=True)
def _set_apart(times, pause, turn, horizon, ticks):  # type: ignore[no-untyped-def]
    size = len(times)
    sums, counts, block = np.empty(size), np.empty(size, dtype=np.int64), -1
    for number in range(size):
        block += 1
        sums[block] = times[number] - number * pause
        counts[block] = 1
        while block > 0 and sums[block - 1] * counts[block] >= sums[block] * counts[block - 1]:
            sums[block - 1] += sums[block]
            counts[block - 1] += counts[block]
            block -= 1
    number, earliest, latest = 0, turn, horizon - (size - 1) * pause
    for one in range(block + 1):
        wished = sums[one] / counts[one] + (turn - pause / 2 if counts[one] > 1 else 0.0)
        earliest = min(max(wished, earliest), latest)
        start = np.floor(earliest * ticks) / ticks
        for _ in range(counts[one]):
            times[number] = start + number * pause
            number += 1
