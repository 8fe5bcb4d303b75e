"""Words and letters that multiply the number before them: mil, milhões, million, bn."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from tarantula.streams.kinds import ValueKind


class Multiplier(NamedTuple):
    """How many zeros a word adds, and which decimal mark its language has, if that is known."""

    zeros: int
    mark: str = ""
    only_with: str = ""
    """The decimal mark without which the word means another number: a French billion has twelve zeros."""


_WORDS: dict[str, Multiplier] = {
    r"mil\s+milh(?:ões|oes|ão|ao)": Multiplier(9, ","),
    r"mil\s+(?:M(?=\s?€|\s?EUR\b)|millones)": Multiplier(9, ","),
    r"mil": Multiplier(3, ","),
    r"milh(?:ões|oes|ão|ao)": Multiplier(6, ","),
    r"bilh(?:ões|oes|ão|ao)": Multiplier(9, ","),
    r"bili(?:ões|oes|ão|ao)": Multiplier(12, ","),
    r"trilh(?:ões|oes|ão|ao)": Multiplier(12, ","),
    r"thousand": Multiplier(3, "."),
    r"millionen|millones|mio\.?": Multiplier(6, ","),
    r"millions?": Multiplier(6),
    r"milliarden?|milliards?|mrd\.?|mds?": Multiplier(9, ","),
    r"billionen": Multiplier(12, ","),
    r"billions?": Multiplier(9, ".", only_with="."),
    r"trillions?": Multiplier(12, ".", only_with="."),
    r"tausend|tsd\.?": Multiplier(3, ","),
    r"lakhs?": Multiplier(5, "."),
    r"crores?": Multiplier(7, "."),
}
_LETTERS: dict[str, Multiplier] = {
    "k": Multiplier(3), "K": Multiplier(3), "M": Multiplier(6), "B": Multiplier(9, "."), "bn": Multiplier(9, "."),
    "Bn": Multiplier(9, "."), "BN": Multiplier(9, "."),
}  # fmt: skip
_LETTERS_OF_MONEY: dict[str, Multiplier] = {
    "m": Multiplier(6, "."), "mn": Multiplier(6, "."), "tn": Multiplier(12, "."), "T": Multiplier(12, "."),
    "Cr": Multiplier(7, "."),
}  # fmt: skip
_EACH = tuple(_WORDS.values())
_WORD = re.compile("|".join(rf"({word})(?![^\W\d_])" for word in _WORDS), re.IGNORECASE)
_LETTER = re.compile(r"([kKM]|[Bb]n|BN|B|mn?|tn|T|Cr)(?=$|[\s€$£¥).,;]|EUR\b|USD\b|CHF\b)")


def split_multiplier(after: str, kind: ValueKind) -> tuple[Multiplier | None, str]:
    """Return what multiplies a number, by what stands after it, and the rest."""
    if not after:
        return None, after
    text = after.lstrip()
    if match := _WORD.match(text):
        return _EACH[(match.lastindex or 1) - 1], text[match.end() :]
    if kind is not ValueKind.QUANTITY and (match := _LETTER.match(text)):
        letters = _LETTERS | _LETTERS_OF_MONEY if kind is ValueKind.MONEY else _LETTERS
        if match[1] in letters:
            return letters[match[1]], text[match.end() :]
    return None, after


def shift_decimal(number: Decimal, zeros: int) -> Decimal:
    """Move the decimal mark, exactly."""
    sign, digits, exponent = number.as_tuple()
    return Decimal((sign, digits, int(exponent) + zeros))
