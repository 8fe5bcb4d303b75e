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

from tarantula.revisit.heap import TimeHeap, empty_heap, heap_pop, heap_push
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS_PER_SECOND
from tarantula.revisit.schedule import Schedule


class DispatchQueues(NamedTuple):
    """What is to be visited, server by server."""

    due: Floats
    starts: Ints
    following: Ints
    """The next visit of each server."""
    resting: TimeHeap
    waiting: TimeHeap


def dispatch_queues(schedule: Schedule) -> DispatchQueues:
    """Line up the visits of a schedule; times are rounded up to whole ticks, so that they add up without an error."""
    servers = len(schedule.starts) - 1
    made = DispatchQueues(
        np.ceil(schedule.times * TICKS_PER_SECOND) / TICKS_PER_SECOND,
        schedule.starts,
        schedule.starts[:-1].copy(),
        empty_heap(servers),
        empty_heap(servers),
    )
    for server in range(servers):
        rest_server(made, server, 0.0)
    return made


@njit(cache=True)
def take_server(queues, now):  # type: ignore[no-untyped-def]
    """Return the server of the latest visit that may be made now, or -1; its visit is the one that follows."""
    resting, waiting = queues.resting, queues.waiting
    while resting.size[0] > 0 and resting.times[0] <= now:
        server = resting.numbers[0]
        heap_pop(resting)
        heap_push(waiting, queues.due[queues.following[server]], server)
    if waiting.size[0] == 0:
        return -1
    server = waiting.numbers[0]
    heap_pop(waiting)
    return server


@njit(cache=True)
def rest_server(queues, server, until):  # type: ignore[no-untyped-def]
    """Leave a server alone until a time, and until its next visit is due."""
    visit = queues.following[server]
    if visit < queues.starts[server + 1]:
        heap_push(queues.resting, max(queues.due[visit], until), server)


@njit(cache=True)
def next_ready_time(queues):  # type: ignore[no-untyped-def]
    """Return when a visit may next be made that may not be made yet."""
    return queues.resting.times[0] if queues.resting.size[0] > 0 else inf
