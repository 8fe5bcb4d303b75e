"""The shortest way from one sequence to another (E. Myers, An O(ND) Difference Algorithm, 1986), within a limit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MAX_CHANGES = 1000
"""Elements taken out and put in, after which the middle is simply replaced: time grows with their square."""


class DiffBlock(NamedTuple):
    """A stretch that is the same in both, or that stands in the place of another."""

    same: bool
    before: slice
    after: slice


def diff_blocks(before: Sequence[Hashable], after: Sequence[Hashable], most: int = MAX_CHANGES) -> Iterator[DiffBlock]:
    """Yield the stretches of both sequences, in order, by turns same and changed."""
    x = y = 0
    for start_x, start_y, length in _runs(before, after, most):
        if (start_x, start_y) != (x, y):
            yield DiffBlock(False, slice(x, start_x), slice(y, start_y))
        x, y = start_x + length, start_y + length
        if length:
            yield DiffBlock(True, slice(start_x, x), slice(start_y, y))


def _runs(before: Sequence[Hashable], after: Sequence[Hashable], most: int) -> Iterator[tuple[int, int, int]]:
    """Yield where equal runs begin in both and how long they are; the last one, perhaps empty, ends both."""
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    if start:
        yield 0, 0, start
    middle = _pairs(before[start : len(before) - end], after[start : len(after) - end], most)
    yield from _joined((x + start, y + start) for x, y in middle)
    yield len(before) - end, len(after) - end, end


def _joined(pairs: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    run: tuple[int, int, int] | None = None
    for x, y in pairs:
        if run is not None and (run[0] + run[2], run[1] + run[2]) == (x, y):
            run = (run[0], run[1], run[2] + 1)
            continue
        if run is not None:
            yield run
        run = (x, y, 1)
    if run is not None:
        yield run


def _pairs(before: Sequence[Hashable], after: Sequence[Hashable], most: int) -> Iterator[tuple[int, int]]:
    """Yield the places of elements that both keep; none if too much changed."""
    trace = _search(before, after, most)
    x, y = len(before), len(after)
    kept = []
    for changes in range(len(trace) - 1, -1, -1):
        reached, diagonal = trace[changes], x - y
        last = _from(reached, changes + 1, diagonal, changes)
        last_x = reached[last + changes + 1]
        last_y = last_x - last
        while x > max(last_x, 0) and y > max(last_y, 0):
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = last_x, last_y
    yield from reversed(kept)


def _search(before: Sequence[Hashable], after: Sequence[Hashable], most: int) -> list[list[int]]:
    """Return how far the diagonals were reached before each number of changes; nothing if it takes too many."""
    most = min(most, len(before) + len(after))
    reached, middle = [0] * (2 * most + 3), most + 1
    trace = []
    for changes in range(most + 1):
        trace.append(reached[middle - changes - 1 : middle + changes + 2])
        for diagonal in range(-changes, changes + 1, 2):
            last = _from(reached, middle, diagonal, changes)
            x = reached[middle + last] + (last < diagonal)
            while x < len(before) and x - diagonal < len(after) and before[x] == after[x - diagonal]:
                x += 1
            reached[middle + diagonal] = x
            if x >= len(before) and x - diagonal >= len(after):
                return trace
    return []


def _from(reached: list[int], middle: int, diagonal: int, changes: int) -> int:
    """Return the diagonal from which this one is reached with one more change: the one that is further."""
    if diagonal == -changes:
        return diagonal + 1
    if diagonal != changes and reached[middle + diagonal - 1] < reached[middle + diagonal + 1]:
        return diagonal + 1
    return diagonal - 1
