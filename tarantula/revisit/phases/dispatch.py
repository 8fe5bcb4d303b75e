"""Phase 3: the next visit for a crawler that is free.

The visits of each server are ordered by due time. Servers rest in one heap until their next visit may be made, then
wait in another one ordered by due time. The most overdue visit that may be made now is therefore on top; no visit is
made early, and no server is asked too soon.
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
    """Visits to make, by server."""

    due: Floats
    starts: Ints
    following: Ints
    """Index of the next visit of each server."""
    resting: TimeHeap
    waiting: TimeHeap


def dispatch_queues(schedule: Schedule) -> DispatchQueues:
    """Queue the visits of a schedule; times are rounded up to whole ticks, so that they add up without rounding."""
    servers = len(schedule.starts) - 1
    queues_of_servers = DispatchQueues(
        np.ceil(schedule.times * TICKS_PER_SECOND) / TICKS_PER_SECOND,
        schedule.starts,
        schedule.starts[:-1].copy(),
        empty_heap(servers),
        empty_heap(servers),
    )
    for server in range(servers):
        rest_server(queues_of_servers, server, 0.0)
    return queues_of_servers


@njit(cache=True)
def take_server(queues, now):  # type: ignore[no-untyped-def]
    """Return the server of the most overdue visit that may be made now, or -1; `following` has its visit."""
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
    """Keep a server resting until a time, and until its next visit is due."""
    visit = queues.following[server]
    if visit < queues.starts[server + 1]:
        heap_push(queues.resting, max(queues.due[visit], until), server)


@njit(cache=True)
def next_ready_time(queues):  # type: ignore[no-untyped-def]
    """Return the time at which the next resting server becomes ready."""
    return queues.resting.times[0] if queues.resting.size[0] > 0 else inf
