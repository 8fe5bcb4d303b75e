"""What changed between two texts: lines, and within a line words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from tarantula.archive.diff.items_part_delta import DocumentChange
from tarantula.archive.diff.text_part_myers import DiffBlock, diff_blocks

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
