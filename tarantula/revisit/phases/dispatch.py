"""Phase 3: what a crawler that is free is given.

The visits of each server wait in the order in which they are due. Servers rest in a heap by the time at which the next
of their visits may be made, and wait in another, by the time at which it was due, once that has come. So the visit that
is latest among those that may be made now is found at once; none is made early, and no server is asked too soon.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.heap import Heap, empty, pop, push
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS
from tarantula.revisit.schedule import Schedule


class Queues(NamedTuple):
    """What is to be visited, server by server."""

    due: Floats
    starts: Ints
    following: Ints
    """The next visit of each server."""
    resting: Heap
    waiting: Heap


def queues(schedule: Schedule) -> Queues:
    """Line up the visits of a schedule; times are rounded up to whole ticks, so that they add up without an error."""
    servers = len(schedule.starts) - 1
    made = Queues(
        np.ceil(schedule.times * TICKS) / TICKS,
        schedule.starts,
        schedule.starts[:-1].copy(),
        empty(servers),
        empty(servers),
    )
    for server in range(servers):
        rest(made, server, 0.0)
    return made


@njit(cache=True)
def take(queues, now):  # type: ignore[no-untyped-def]
    """Return the server of the latest visit that may be made now, or -1; its visit is the one that follows."""
    resting, waiting = queues.resting, queues.waiting
    while resting.size[0] > 0 and resting.times[0] <= now:
        server = resting.numbers[0]
        pop(resting)
        push(waiting, queues.due[queues.following[server]], server)
    if waiting.size[0] == 0:
        return -1
    server = waiting.numbers[0]
    pop(waiting)
    return server


@njit(cache=True)
def rest(queues, server, until):  # type: ignore[no-untyped-def]
    """Leave a server alone until a time, and until its next visit is due."""
    visit = queues.following[server]
    if visit < queues.starts[server + 1]:
        push(queues.resting, max(queues.due[visit], until), server)


@njit(cache=True)
def soonest(queues):  # type: ignore[no-untyped-def]
    """Return when a visit may next be made that may not be made yet."""
    return queues.resting.times[0] if queues.resting.size[0] > 0 else inf
