"""What the earlier texts of a field tell of how its numbers are written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log10
from typing import NamedTuple

from tarantula.streams.values.normalization import normalize_text
from tarantula.streams.values.numerals import find_numeral
from tarantula.streams.values.numerals_part_formats import (
    ANY_FORMAT,
    decimal_marks,
    has_decimals,
    numeral_readings,
    separators_in,
)
from tarantula.streams.values.value import ValueParseError

MOST_HISTORY_TEXTS = 200
"""Of a longer history the last ones are looked at."""
MOST_REMEMBERED_TEXTS = 12


class NumberStyle(NamedTuple):
    """What a history tells."""

    formats: int = ANY_FORMAT
    """In which formats all its numbers may be, as bits; none if it contradicts itself."""
    wholes: tuple[float, float] | None = None
    """Of how many digits, as logarithms, its numbers without any mark are: the fewest and the most."""


UNKNOWN_STYLE = NumberStyle()


class _Proof(NamedTuple):
    formats: int
    strictly: int
    size: float | None
    """The logarithm of a number without marks."""


def number_style(history: Sequence[str]) -> NumberStyle:
    """Return what a history tells of the format of numbers."""
    return _told(tuple(history[-MOST_HISTORY_TEXTS:])) if history else UNKNOWN_STYLE


@lru_cache(4096)
def _told(history: tuple[str, ...]) -> NumberStyle:
    proofs = [proof for proof in map(_proof, history) if proof is not None]
    loosely = strictly = ANY_FORMAT
    for proof in proofs:
        loosely &= proof.formats
        strictly &= proof.strictly
    sizes = [proof.size for proof in proofs if proof.size is not None]
    return NumberStyle(strictly or loosely, (min(sizes), max(sizes)) if sizes else None)


@lru_cache(16384)
def _proof(text: str) -> _Proof | None:
    try:
        found = find_numeral(normalize_text(text))
    except ValueParseError:
        return None
    formats = strictly = 0
    for reading in numeral_readings(found.body):
        if found.exponent is not None and not has_decimals(reading, found.body):
            continue  # No number with marks of thousands stands before an exponent.
        formats |= reading.formats
        strictly |= reading.strictly
    whole = not separators_in(found.body) and int(found.body)
    return _Proof(formats, strictly, log10(whole) if whole else None) if formats else None


def informative_texts(history: Sequence[str], text: str, most: int = MOST_REMEMBERED_TEXTS) -> list[str]:
    """Return the few texts that tell as much as the whole history: the oldest that proves nothing is forgotten first.

    Where all prove something the oldest is forgotten, so that a page may change its ways.
    """
    texts = [*(earlier for earlier in history if earlier != text), text]
    while len(texts) > most:
        texts.remove(next((earlier for earlier in texts[:-1] if not _proves(earlier)), texts[0]))
    return texts


def _proves(text: str) -> bool:
    proof = _proof(text)
    return proof is not None and len(decimal_marks(proof.formats)) == 1
