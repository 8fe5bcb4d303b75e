"""The place of a text that answers a query best, with the words marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tarantula.search.query import Asked
from tarantula.search.results import Piece
from tarantula.search.words import exact, stems_of

LENGTH = 240
"""Letters of a citation, about."""
LOOKED_AT = 50_000
"""Letters of a text in which the place is looked for."""
MOST_HITS = 30
"""Words of a citation that are counted."""
BEFORE = 60
"""Letters before the first word that was asked for."""

_WORD = re.compile(r"\w+")


class _Hit(NamedTuple):
    start: int
    end: int
    form: str


class AskedWords(dict[str, str | None]):
    """By word, as it is written: the form in which it is asked for, if it is. Each is looked at once."""

    def __init__(self, forms: frozenset[str]) -> None:
        super().__init__()
        self._forms = forms
        self._may_be = _beginning_with("".join(sorted({form[0] for form in forms})))

    def hits_in(self, text: str) -> list[_Hit]:
        """Return where words stand that are asked for."""
        # What has a line in it is several words, of which a later one may be meant.
        words = (_WORD if "_" in text else self._may_be).finditer(text)
        return [_Hit(*word.span(), form) for word in words if (form := self[word[0]])]

    def __missing__(self, word: str) -> str | None:
        forms = _forms(word.lower())
        is_asked = not self._forms.isdisjoint(forms)
        form = self[word] = next(form for form in forms if form in self._forms) if is_asked else None
        return form


def citation(text: str, asked: AskedWords) -> list[Piece]:
    """Return the piece of a text that has most of the words; its beginning if it has none."""
    seen = " ".join(text[:LOOKED_AT].split())
    hits = asked.hits_in(seen)
    start = max(_best_start(hits) - BEFORE, 0)
    start = seen.find(" ", start) + 1 if start else 0
    end = len(seen) if len(seen) - start <= LENGTH else seen.rfind(" ", start, start + LENGTH)
    end = end if end > start else min(start + LENGTH, len(seen))
    return _marked(seen, start, end, hits)


def forms_asked(asked: Asked) -> AskedWords:
    """Return what knows every form of the words that are asked for."""
    texts = [words.text for group in asked.wanted for words in group]
    parts = [part for text in texts for part in exact().analyze(text)]
    return AskedWords(frozenset(form for part in parts for form in _forms(part)))


def _best_start(hits: Sequence[_Hit]) -> int:
    """Return where the window begins that has most different words, then most words."""
    different = len({hit.form for hit in hits})
    best, at, behind = (0, 0), 0, 0
    for number, first in enumerate(hits):
        while behind < len(hits) and hits[behind].end <= first.start + LENGTH - BEFORE:
            behind += 1
        inside = hits[number : min(behind, number + MOST_HITS)]
        # Most windows cannot be better, whatever is in them.
        if (min(different, len(inside)), len(inside)) > best:
            value = len({hit.form for hit in inside}), len(inside)
            if value > best:
                best, at = value, first.start
    return at


def _marked(text: str, start: int, end: int, hits: Sequence[_Hit]) -> list[Piece]:
    pieces = [Piece(text="… ")] if start else []
    at = start
    for hit in hits:
        if start <= hit.start and hit.end <= end:
            pieces += [Piece(text=text[at : hit.start]), Piece(text=text[hit.start : hit.end], marked=True)]
            at = hit.end
    pieces.append(Piece(text=text[at:end] + (" …" if end < len(text) else "")))
    return [piece for piece in pieces if piece.text]


@lru_cache(1_000)
def _beginning_with(letters: str) -> re.Pattern[str]:
    """Return a pattern for words that may have a form beginning with some letters: no stemmer changes the first."""
    plain = "".join(letter for letter in letters if letter.isascii())
    others = "".join(chr(code) for code in range(128) if chr(code).lower() not in plain)
    # Those outside of ASCII may be folded to any.
    return re.compile(rf"\b(?![{re.escape(others)}])\w+")


@lru_cache(100_000)
def _forms(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*exact().analyze(word), *stems_of(word)]))
