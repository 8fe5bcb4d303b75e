"""The ways in which numbers are written, and which of them a numeral may be in."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

MOST_DIGITS = 60
DIGIT_SEPARATORS = ".,' ٫٬"
"""What may stand between digits; the last two are the Arabic decimal mark and the Arabic mark of thousands."""


class NumberFormat(NamedTuple):
    """One way of writing numbers: which mark stands before the decimals, and which between the thousands."""

    decimal: str
    group: str


NUMBER_FORMATS = tuple(
    NumberFormat(decimal, group)
    for decimal, groups in {".": ("", ",", " ", "'"), ",": ("", ".", " ", "'"), "٫": ("", "٬")}.items()
    for group in groups
)
ANY_FORMAT = (1 << len(NUMBER_FORMATS)) - 1
"""All formats, as a set of bits."""


class NumeralReading(NamedTuple):
    """What a numeral may mean, and in which formats it means that."""

    number: Decimal
    formats: int
    strictly: int
    """Only those in which long numbers are written with the mark of thousands, if there is one."""


def _patterns(format_: NumberFormat) -> tuple[re.Pattern[str], re.Pattern[str]]:
    fraction = rf"(?:{re.escape(format_.decimal)}\d+)?"
    begin_with_fraction = rf"|{re.escape(format_.decimal)}\d+"
    if not format_.group:
        pattern = re.compile(rf"\d+{fraction}{begin_with_fraction}")
        return pattern, pattern
    group = re.escape(format_.group)
    grouped = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+"
    if format_ == NumberFormat(".", ","):
        grouped += r"|[1-9]\d?(?:,\d\d)+,\d{3}"  # India counts by hundreds above a thousand: 1,23,456.
    # Portuguese and Spanish leave four digits together, and group from five on.
    strict = re.compile(rf"(?:{grouped}|\d{{1,4}}){fraction}{begin_with_fraction}")
    return re.compile(rf"(?:{grouped}|\d+){fraction}{begin_with_fraction}"), strict


_ALL_ALIKE = str.maketrans("0123456789", "1111111111")
_PATTERNS = tuple(_patterns(format_) for format_ in NUMBER_FORMATS)


class _Way(NamedTuple):
    """How numerals of one shape may be read: what is left out, and what stands before the decimals."""

    decimal: str
    group: str
    formats: int
    strictly: int


def numeral_readings(body: str) -> tuple[NumeralReading, ...]:
    """Return all that digits with marks between them may mean."""
    if len(body) > 2 * MOST_DIGITS:
        return ()
    shape = ("0" if body[0] == "0" else "1") + body[1:].translate(_ALL_ALIKE) if body[0].isdigit() else body
    return tuple(
        NumeralReading(Decimal(_without(body, way.decimal, way.group)), way.formats, way.strictly)
        for way in _ways(shape)
    )


@lru_cache(4096)
def _ways(shape: str) -> tuple[_Way, ...]:
    """Return the ways of reading a numeral by where its marks are: which digits it has does not matter."""
    found: dict[str, _Way] = {}
    for number, (format_, (loose, strict)) in enumerate(zip(NUMBER_FORMATS, _PATTERNS, strict=True)):
        if loose.fullmatch(shape):
            bit = 1 << number
            value = _without(shape, *format_)
            way = found.get(value, _Way(*format_, 0, 0))
            strictly = bit if strict.fullmatch(shape) else 0
            found[value] = way._replace(formats=way.formats | bit, strictly=way.strictly | strictly)
    return tuple(found.values())


def _without(body: str, decimal: str, group: str) -> str:
    if group and group in body:
        body = body.replace(group, "")
    return body.replace(decimal, ".")


@lru_cache(4096)
def decimal_marks(formats: int) -> str:
    """Return the marks that stand before decimals in any of these formats."""
    return "".join({format_.decimal for number, format_ in enumerate(NUMBER_FORMATS) if formats >> number & 1})


def separators_in(body: str) -> str:
    """Return the marks of a numeral, in their order."""
    return "".join(letter for letter in body if letter in DIGIT_SEPARATORS)


def is_unambiguous(body: str) -> bool:
    """Whether a numeral can be told without any other: it has two marks, or one that only thousands have."""
    marks = separators_in(body)
    return len(set(marks)) > 1 or len(marks) > 1


def has_decimals(reading: NumeralReading, body: str) -> bool:
    """Whether the last mark of a numeral stands before decimals in this reading."""
    marks = separators_in(body)
    return not marks or marks[-1] in decimal_marks(reading.formats)
