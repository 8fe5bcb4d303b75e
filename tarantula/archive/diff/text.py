"""What changed between two texts: lines, and within a line words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from tarantula.archive.diff.items_part_delta import Change
from tarantula.archive.diff.text_part_myers import Block, blocks

CONTEXT = 2
"""Lines that are shown before and after a change."""
MOST_WORD_CHANGES = 100
"""Words taken out and put in, after which two lines have nothing to do with each other."""
MOST_LINES_BY_WORD = 500
"""Changed lines of a text that are compared word by word."""
ALIKE = 0.4
"""The share of two lines that must be the same for one to be called a change of the other."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Piece(NamedTuple):
    """A part of a line: same, gone or new."""

    change: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of one text or of both: same, gone, new, or changed."""

    change: str
    before: int | None
    """Its number in the earlier text, from 1."""
    after: int | None
    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The changed places of a text, each with a few lines around it; or why there are none to show."""

    hunks: list[list[Line]]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        hunks = [
            [{**asdict(line), "pieces": [piece._asdict() for piece in line.pieces]} for line in hunk]
            for hunk in self.hunks
        ]
        return {"hunks": hunks, "note": self.note}


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[list[Line]]:
    """Return the places where two texts differ."""
    budget = MOST_LINES_BY_WORD
    hunks: list[list[Line]] = []
    found = list(blocks(before, after))
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


def _surround(hunks: list[list[Line]], block: Block, before: Sequence[str], *, first: bool, last: bool) -> None:
    """Show a stretch that did not change, or only its ends if it is long."""
    lines = [
        Line(Change.SAME, number + 1, block.after.start + place + 1, [Piece(Change.SAME, before[number])])
        for place, number in enumerate(range(block.before.start, block.before.stop))
        if place < CONTEXT or number >= block.before.stop - CONTEXT
    ]
    whole = block.before.stop - block.before.start <= 2 * CONTEXT
    if whole and not first and not last:
        hunks[-1] += lines
        return
    if not first:
        hunks[-1] += lines[:CONTEXT]
    if not last:
        hunks.append(lines[-CONTEXT:])


def _changed(block: Block, before: Sequence[str], after: Sequence[str], by_word: bool) -> list[Line]:
    changed: list[Line] = []
    new: list[Line] = []
    numbers = zip_longest(range(block.before.start, block.before.stop), range(block.after.start, block.after.stop))
    for old_number, new_number in numbers:
        pieces = None
        if by_word and old_number is not None and new_number is not None:
            pieces = _by_word(before[old_number], after[new_number])
        if pieces is not None:
            changed += [*new, Line(Change.CHANGED, old_number + 1, new_number + 1, pieces)]
            new = []
            continue
        if old_number is not None:
            changed.append(Line(Change.GONE, old_number + 1, None, [Piece(Change.GONE, before[old_number])]))
        if new_number is not None:
            new.append(Line(Change.NEW, None, new_number + 1, [Piece(Change.NEW, after[new_number])]))
    return [*changed, *new]


def _by_word(before: str, after: str) -> list[Piece] | None:
    """Return what two lines share and what not; nothing if that is too little."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pieces = list(_pieces(old, new))
    shared = sum(len(piece.text.replace(" ", "")) for piece in pieces if piece.change == Change.SAME)
    letters = max(len(before.replace(" ", "")), len(after.replace(" ", "")))
    return pieces if shared >= ALIKE * letters else None


def _pieces(old: list[str], new: list[str]) -> Iterator[Piece]:
    for block in blocks(old, new, MOST_WORD_CHANGES):
        if block.same:
            yield Piece(Change.SAME, "".join(old[block.before]))
            continue
        if taken := "".join(old[block.before]):
            yield Piece(Change.GONE, taken)
        if put := "".join(new[block.after]):
            yield Piece(Change.NEW, put)
