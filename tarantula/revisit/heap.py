"""Binary heap of (time, number) pairs for compiled code: earliest time first, then lowest number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.model import Floats, Ints


class TimeHeap(NamedTuple):
    """Heap arrays; the first element is the top."""

    times: Floats
    numbers: Ints
    size: Ints
    """Number of elements, as an array of one."""


def empty_heap(room: int) -> TimeHeap:
    """Return an empty heap with a capacity of *room*."""
    return TimeHeap(np.empty(room), np.empty(room, dtype=np.int64), np.zeros(1, dtype=np.int64))


@njit(cache=True)
def heap_push(heap, time, number):  # type: ignore[no-untyped-def]
    """Add a number with its time."""
    hole = heap.size[0]
    heap.size[0] += 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if not _is_before(time, number, heap.times[parent], heap.numbers[parent]):
            break
        heap.times[hole] = heap.times[parent]
        heap.numbers[hole] = heap.numbers[parent]
        hole = parent
    heap.times[hole] = time
    heap.numbers[hole] = number


@njit(cache=True)
def heap_pop(heap):  # type: ignore[no-untyped-def]
    """Remove the top."""
    heap.size[0] -= 1
    last = heap.size[0]
    if last > 0:
        heap_replace(heap, heap.times[last], heap.numbers[last])


@njit(cache=True)
def heap_replace(heap, time, number):  # type: ignore[no-untyped-def]
    """Replace the top with another element, in one step."""
    size = heap.size[0]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        other = min(child + 1, size - 1)
        child += _is_before(heap.times[other], heap.numbers[other], heap.times[child], heap.numbers[child])
        if not _is_before(heap.times[child], heap.numbers[child], time, number):
            break
        heap.times[hole] = heap.times[child]
        heap.numbers[hole] = heap.numbers[child]
        hole = child
    heap.times[hole] = time
    heap.numbers[hole] = number


@njit(cache=True)
def _is_before(time, number, other_time, other_number):  # type: ignore[no-untyped-def]
    # Without a branch, which the processor could not predict.
    return (time < other_time) | ((time == other_time) & (number < other_number))
