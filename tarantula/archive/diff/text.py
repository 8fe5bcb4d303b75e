"""Text diff by lines, and by words within a line (E. Myers, An O(ND) Difference Algorithm, 1986), within a limit."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from tarantula.archive.diff.items import DocumentChange

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


CONTEXT_LINES = 2
"""Lines that are shown before and after a change."""
MAX_WORD_CHANGES = 100
"""Words taken out and put in, after which two lines have nothing to do with each other."""
MAX_LINES_BY_WORD = 500
"""Changed lines of a text that are compared word by word."""
MIN_LINE_SIMILARITY = 0.4
"""The share of two lines that must be the same for one to be called a change of the other."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class DiffPiece(NamedTuple):
    """A part of a line: same, gone or new."""

    change: str
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of one text or of both: same, gone, new, or changed."""

    change: str
    before: int | None
    """Its number in the earlier text, from 1."""
    after: int | None
    pieces: list[DiffPiece]


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The changed places of a text, each with a few lines around it; or why there are none to show."""

    hunks: list[list[DiffLine]]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        hunks = [
            [{**asdict(line), "pieces": [piece._asdict() for piece in line.pieces]} for line in hunk]
            for hunk in self.hunks
        ]
        return {"hunks": hunks, "note": self.note}


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[list[DiffLine]]:
    """Return the places where two texts differ."""
    budget = MAX_LINES_BY_WORD
    hunks: list[list[DiffLine]] = []
    found = list(diff_blocks(before, after))
    for index, block in enumerate(found):
        if block.same:
            _surround(hunks, block, before, first=index == 0, last=index == len(found) - 1)
            continue
        pairs = max(block.before.stop - block.before.start, block.after.stop - block.after.start)
        by_word = pairs <= budget
        budget -= pairs if by_word else 0
        if not hunks:
            hunks.append([])
        hunks[-1] += _changed(block, before, after, by_word)
    return hunks


def _surround(hunks: list[list[DiffLine]], block: DiffBlock, before: Sequence[str], *, first: bool, last: bool) -> None:
    """Show a stretch that did not change, or only its ends if it is long."""
    lines = [
        DiffLine(
            DocumentChange.SAME,
            number + 1,
            block.after.start + place + 1,
            [DiffPiece(DocumentChange.SAME, before[number])],
        )
        for place, number in enumerate(range(block.before.start, block.before.stop))
        if place < CONTEXT_LINES or number >= block.before.stop - CONTEXT_LINES
    ]
    whole = block.before.stop - block.before.start <= 2 * CONTEXT_LINES
    if whole and not first and not last:
        hunks[-1] += lines
        return
    if not first:
        hunks[-1] += lines[:CONTEXT_LINES]
    if not last:
        hunks.append(lines[-CONTEXT_LINES:])


def _changed(block: DiffBlock, before: Sequence[str], after: Sequence[str], by_word: bool) -> list[DiffLine]:
    changed: list[DiffLine] = []
    new: list[DiffLine] = []
    numbers = zip_longest(range(block.before.start, block.before.stop), range(block.after.start, block.after.stop))
    for old_number, new_number in numbers:
        pieces = None
        if by_word and old_number is not None and new_number is not None:
            pieces = _by_word(before[old_number], after[new_number])
        if pieces is not None:
            changed += [*new, DiffLine(DocumentChange.CHANGED, old_number + 1, new_number + 1, pieces)]
            new = []
            continue
        if old_number is not None:
            changed.append(
                DiffLine(
                    DocumentChange.GONE, old_number + 1, None, [DiffPiece(DocumentChange.GONE, before[old_number])]
                )
            )
        if new_number is not None:
            new.append(
                DiffLine(DocumentChange.NEW, None, new_number + 1, [DiffPiece(DocumentChange.NEW, after[new_number])])
            )
    return [*changed, *new]


def _by_word(before: str, after: str) -> list[DiffPiece] | None:
    """Return what two lines share and what not; nothing if that is too little."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pieces = list(_pieces(old, new))
    shared = sum(len(piece.text.replace(" ", "")) for piece in pieces if piece.change == DocumentChange.SAME)
    letters = max(len(before.replace(" ", "")), len(after.replace(" ", "")))
    return pieces if shared >= MIN_LINE_SIMILARITY * letters else None


def _pieces(old: list[str], new: list[str]) -> Iterator[DiffPiece]:
    for block in diff_blocks(old, new, MAX_WORD_CHANGES):
        if block.same:
            yield DiffPiece(DocumentChange.SAME, "".join(old[block.before]))
            continue
        if taken := "".join(old[block.before]):
            yield DiffPiece(DocumentChange.GONE, taken)
        if put := "".join(new[block.after]):
            yield DiffPiece(DocumentChange.NEW, put)
