"""Differences within the text of a page, between its captures in two items."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import turbohtml
from sqlalchemy.orm import Session
from turbohtml import TokenType

from tarantula.archive.diff.items import DocumentChange
from tarantula.archive.omissions import OmissionCause, cause_of
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.fetch.media_types import HTML_TYPES, charset_of, media_type
from tarantula.links.charset import decode_text, html_encoding
from tarantula.models import Document
from tarantula.store.captures import Capture, capture_of
from tarantula.store.warc_reader import decode_payload, read_record
from tarantula.store.withholding import check_access

MAX_LINES = 20_000
"""Maximum number of lines compared."""
MAX_LINE_LENGTH = 2_000
"""Longer lines are split."""

TEXT_TYPES = frozenset({"application/json", "application/xml", "application/rtf", "image/svg+xml"})

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr".split()
)
"""Elements that do not end a line."""
_INVISIBLE = frozenset({"script", "style", "template", "noscript", "iframe", "noembed", "noframes", "xmp"})
"""Elements whose text is not visible."""
MAX_COMPARED_BYTES = 10_000_000
"""Larger documents are not compared."""
MAX_CHANGES = 1000
"""Removed and inserted elements after which the middle counts as replaced: time grows with their square."""
CONTEXT_LINES = 2
"""Lines shown before and after a change."""
MAX_WORD_CHANGES = 100
"""Removed and inserted words above which two lines are considered unrelated."""
MAX_LINES_BY_WORD = 500
"""Changed lines of a text that are compared by word."""
MIN_LINE_SIMILARITY = 0.4
"""Minimum share of common characters for a line to count as changed instead of replaced."""


def text_lines(body: bytes, media_type: str | None, charset: str | None) -> list[str] | None:
    """Return the non-empty lines of a document with normalized spaces; None if it is not text."""
    if media_type in HTML_TYPES:
        return _normalize(_html_lines(_html(body, charset)))
    if media_type and (
        media_type.startswith("text/") or media_type in TEXT_TYPES or media_type.endswith(("+xml", "+json"))
    ):
        return _normalize(decode_text(body, charset)[0].splitlines())
    return None


def _html(body: bytes, charset: str | None) -> str:
    """Decode a page with the encoding that browsers would use."""
    _, encoding = html_encoding(body, charset)
    return body.decode(f"whatwg-{encoding}", "replace").removeprefix("\ufeff")


def _html_lines(html: str) -> Iterator[str]:
    line: list[str] = []
    hidden = ""
    for token in turbohtml.tokenize(html, capture_attributes=False):
        if token.type == TokenType.TEXT:
            if not hidden:
                line.append(token.data or "")
        elif token.tag is not None:
            hidden = _hidden_element(hidden, token)
            if token.tag not in _INLINE:
                yield "".join(line)
                line.clear()
    yield "".join(line)


def _hidden_element(hidden: str, token: turbohtml.Token) -> str:
    """Return the invisible element that the position after this tag is in; empty if in none."""
    tag = token.tag or ""
    if hidden:
        return "" if token.type == TokenType.END_TAG and tag == hidden else hidden
    return tag if token.type == TokenType.START_TAG and tag in _INVISIBLE else ""


def _normalize(lines: Iterable[str]) -> list[str]:
    cut: list[str] = []
    for line in lines:
        normalized = " ".join(line.split())
        cut += [normalized[start : start + MAX_LINE_LENGTH] for start in range(0, len(normalized), MAX_LINE_LENGTH)]
        if len(cut) >= MAX_LINES:
            break
    return cut[:MAX_LINES]


def compare_documents(session: Session, items: Path, before: Document, after: Document) -> TextDiff:
    """Compare the text of two documents, whose bodies are below *items*; a note says why if it is not possible."""
    try:
        check_access(session, after)
    except WithheldError as error:
        return TextDiff([], str(error), cause_of(error))
    if before.digest is not None and before.digest == after.digest:
        return TextDiff([], "It is the same in both.")
    if max(before.size or 0, after.size or 0) > MAX_COMPARED_BYTES:
        note = f"It is larger than {MAX_COMPARED_BYTES:,} bytes: too large to be compared as text."
        return TextDiff([], note, OmissionCause.TOO_LARGE)
    try:
        captures = [capture_of(session, items, document) for document in (before, after)]
        stored = [capture for capture in captures if capture is not None]
        if len(stored) < len(captures):
            return TextDiff([], "Its body was not stored.", OmissionCause.MISSING)
        rendered = all(capture.rendered_offset is not None for capture in stored)
        texts = [_lines(capture, document, rendered) for capture, document in zip(stored, (before, after), strict=True)]
    except TarantulaError as error:
        return TextDiff([], str(error), cause_of(error))
    except OSError as error:
        return TextDiff([], f"{error.filename} cannot be read: {error.strerror}.", OmissionCause.DAMAGED)
    if texts[0] is None or texts[1] is None:
        return TextDiff([], f"It is {after.type or 'of an unknown type'}, which is not text.")
    hunks = compare_lines(texts[0], texts[1])
    if max(len(texts[0]), len(texts[1])) >= MAX_LINES:
        return TextDiff(hunks, f"Only its first {MAX_LINES:,} lines were compared.", OmissionCause.TOO_LARGE)
    return TextDiff(hunks, "" if hunks else "Its bytes changed, its text did not.")


def _lines(capture: Capture, document: Document, rendered: bool) -> list[str] | None:
    shown = capture.rendered_offset if rendered else None
    payload = decode_payload(read_record(capture.path, capture.offset if shown is None else shown))
    content_type = payload.get(b"content-type")
    charset = (document.encoding if shown is None else None) or charset_of(content_type)
    return text_lines(payload.body, document.type or media_type(content_type), charset)


class DiffBlock(NamedTuple):
    """A range that is equal in both sequences, or that replaces another."""

    same: bool
    before: slice
    after: slice


def diff_blocks(before: Sequence[Hashable], after: Sequence[Hashable], most: int = MAX_CHANGES) -> Iterator[DiffBlock]:
    """Yield the ranges of both sequences in order, alternately equal and changed."""
    x = y = 0
    for start_x, start_y, length in _runs(before, after, most):
        if (start_x, start_y) != (x, y):
            yield DiffBlock(False, slice(x, start_x), slice(y, start_y))
        x, y = start_x + length, start_y + length
        if length:
            yield DiffBlock(True, slice(start_x, x), slice(start_y, y))


def _runs(before: Sequence[Hashable], after: Sequence[Hashable], most: int) -> Iterator[tuple[int, int, int]]:
    """Yield start and length of equal runs; the last one, possibly empty, ends both sequences."""
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    if start:
        yield 0, 0, start
    middle = _pairs(before[start : len(before) - end], after[start : len(after) - end], most)
    yield from _merge_runs((x + start, y + start) for x, y in middle)
    yield len(before) - end, len(after) - end, end


def _merge_runs(pairs: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
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
    """Yield the positions of common elements; none if there are too many changes."""
    trace = _search(before, after, most)
    x, y = len(before), len(after)
    kept = []
    for changes in range(len(trace) - 1, -1, -1):
        reached, diagonal = trace[changes], x - y
        last = _previous_diagonal(reached, changes + 1, diagonal, changes)
        last_x = reached[last + changes + 1]
        last_y = last_x - last
        while x > max(last_x, 0) and y > max(last_y, 0):
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = last_x, last_y
    yield from reversed(kept)


def _search(before: Sequence[Hashable], after: Sequence[Hashable], most: int) -> list[list[int]]:
    """Return how far each diagonal was reached per number of changes; empty if there are too many."""
    most = min(most, len(before) + len(after))
    reached, middle = [0] * (2 * most + 3), most + 1
    trace = []
    for changes in range(most + 1):
        trace.append(reached[middle - changes - 1 : middle + changes + 2])
        for diagonal in range(-changes, changes + 1, 2):
            last = _previous_diagonal(reached, middle, diagonal, changes)
            x = reached[middle + last] + (last < diagonal)
            while x < len(before) and x - diagonal < len(after) and before[x] == after[x - diagonal]:
                x += 1
            reached[middle + diagonal] = x
            if x >= len(before) and x - diagonal >= len(after):
                return trace
    return []


def _previous_diagonal(reached: list[int], middle: int, diagonal: int, changes: int) -> int:
    """Return the neighbouring diagonal that reached further with one change less."""
    if diagonal == -changes:
        return diagonal + 1
    if diagonal != changes and reached[middle + diagonal - 1] < reached[middle + diagonal + 1]:
        return diagonal + 1
    return diagonal - 1


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
    """Line number in the earlier text, from 1."""
    after: int | None
    pieces: list[DiffPiece]


@dataclass(frozen=True, slots=True)
class TextDiff:
    """Changed places of a text with context lines; or a note why there are none."""

    hunks: list[list[DiffLine]]
    note: str = ""
    left_out: str | None = None
    """Cause (`tarantula.archive.omissions.OmissionCause`) if the text, or a part of it, could not be compared."""

    def as_dict(self) -> dict[str, Any]:
        """Return the diff for JSON; the keys are a stable interface."""
        hunks = [
            [{**asdict(line), "pieces": [piece._asdict() for piece in line.pieces]} for line in hunk]
            for hunk in self.hunks
        ]
        return {"hunks": hunks, "note": self.note, "left_out": self.left_out}


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[list[DiffLine]]:
    """Return the hunks in which two texts differ."""
    budget = MAX_LINES_BY_WORD
    hunks: list[list[DiffLine]] = []
    found = list(diff_blocks(before, after))
    for index, block in enumerate(found):
        if block.same:
            _context(hunks, block, before, first=index == 0, last=index == len(found) - 1)
            continue
        pairs = max(block.before.stop - block.before.start, block.after.stop - block.after.start)
        by_word = pairs <= budget
        budget -= pairs if by_word else 0
        if not hunks:
            hunks.append([])
        hunks[-1] += _changed_lines(block, before, after, by_word)
    return hunks


def _context(hunks: list[list[DiffLine]], block: DiffBlock, before: Sequence[str], *, first: bool, last: bool) -> None:
    """Add an unchanged range as context, only its ends if it is long."""
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


def _changed_lines(block: DiffBlock, before: Sequence[str], after: Sequence[str], by_word: bool) -> list[DiffLine]:
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
    """Return common and differing pieces of two lines; None if too little is common."""
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
        if removed := "".join(old[block.before]):
            yield DiffPiece(DocumentChange.GONE, removed)
        if inserted := "".join(new[block.after]):
            yield DiffPiece(DocumentChange.NEW, inserted)
