"""Numerals: find the one number in a text, and list the number formats in which it can be read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from tarantula.core.messages import Message
from tarantula.streams.values import currencies
from tarantula.streams.values.value import ValueParseError, quote_text

MOST_DIGITS = 60
DIGIT_SEPARATORS = ".,' ٫٬"
"""Characters allowed between digits; the last two are the Arabic decimal and thousands separators."""
_EQUAL_DIGITS = str.maketrans("0123456789", "1111111111")
LARGEST_EXPONENT = 99
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_NUMERAL = re.compile(
    r"""(?<![\w.,/])(?P<body>[.,]?\d(?:\d|[.,'\ ٫٬](?=\d))*)
    (?:[eE](?P<e>[-+]?\d{1,3})(?!\w)
      |\s?[x×·*]\s?10(?:\^(?P<caret>[-+]?\d{1,3})|(?P<raised>[⁺⁻]?[⁰¹²³⁴-⁹]{1,3})))?""",
    re.VERBOSE,
)
_ARROWS = "▲▼↑↓"
_NO_ARROWS = str.maketrans(_ARROWS, " " * len(_ARROWS))
_BARE = re.compile(r"([-+]?)(\d+(?:[.,']\d+)*)")
"""Most numbers: only a sign, digits and separators."""
_CODES = "|".join(sorted(currencies.CURRENCY_CODES))
_GLUED_CODE = re.compile(rf"(?<![^\W\d_])({_CODES}|Fr\.|Rs\.?|kr\.?|Kč|Kz)(?=[-+]?\d)")
_PARENTHESES = re.compile(r"(?P<before>[^()\d]*)\((?P<inside>[^()]*\d[^()]*)\)(?P<after>[^()\d]*)")
_NO_CENTS = re.compile(r"\s?([.,])\s?-{1,2}(?![\d-])")
_NOT_A_NUMBER = {
    re.compile(r"^\s?[-/:]\s?[.,]?\d"): Message("is not a number: it may be a score, a range, a date or a time."),
    _NUMERAL: Message("has more than one number. Choose a smaller part, or write a regular expression."),
    # A second number is allowed after a slash if it is an amount: €/100 g, l/100 km.
    re.compile(r"/\s?(?!10*\s?(?![CFK]\b)[^\W\d_])\d"): Message("has more than one number. Choose a smaller part."),
    re.compile(r"^\s?(?:…|\.\.)|^,$|^[.,'][.,'\d]|^--"): Message("ends in the middle of a number."),
    re.compile(r"^[²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅞]"): Message("has a fraction, a power or a note next to its digits."),
    re.compile(r"^-[^\W\d_]|^[_#&=@\\|~^]"): "is a word with a number in it.",
}
"""Texts after digits that make them something else than a number, with the reason."""
_FRACTION = re.compile(r"[¼-¾⅐-⅞]")
_TRAILING_MINUS = re.compile(r"-(?=$|\s|[%€£$)])")


class NumberFormat(NamedTuple):
    """Decimal mark and thousands separator."""

    decimal: str
    group: str


NUMBER_FORMATS = tuple(
    NumberFormat(decimal, group)
    for decimal, groups in {".": ("", ",", " ", "'"), ",": ("", ".", " ", "'"), "٫": ("", "٬")}.items()
    for group in groups
)
ANY_FORMAT = (1 << len(NUMBER_FORMATS)) - 1
"""All formats, as bits."""


class NumeralReading(NamedTuple):
    """A number that a numeral can mean, and the formats in which it does."""

    number: Decimal
    formats: int
    strict_formats: int
    """The subset of formats whose thousands separators are used consistently."""


def _patterns(format_: NumberFormat) -> tuple[re.Pattern[str], re.Pattern[str]]:
    fraction = rf"(?:{re.escape(format_.decimal)}\d+)?"
    begin_with_fraction = rf"|{re.escape(format_.decimal)}\d+"
    if not format_.group:
        pattern = re.compile(rf"\d+{fraction}{begin_with_fraction}")
        return pattern, pattern
    group = re.escape(format_.group)
    grouped = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+"
    if format_ == NumberFormat(".", ","):
        grouped += r"|[1-9]\d?(?:,\d\d)+,\d{3}"  # Indian grouping: 1,23,456.
    # Portuguese and Spanish group thousands only from five digits on.
    strict = re.compile(rf"(?:{grouped}|\d{{1,4}}){fraction}{begin_with_fraction}")
    return re.compile(rf"(?:{grouped}|\d+){fraction}{begin_with_fraction}"), strict


_PATTERNS = tuple(_patterns(format_) for format_ in NUMBER_FORMATS)


class _ShapeReading(NamedTuple):
    """Decimal mark and thousands separator for numerals of one shape, with the formats that allow them."""

    decimal: str
    group: str
    formats: int
    strict_formats: int


def numeral_readings(body: str) -> tuple[NumeralReading, ...]:
    """Return all numbers that digits with separators can mean."""
    if len(body) > 2 * MOST_DIGITS:
        return ()
    shape = ("0" if body[0] == "0" else "1") + body[1:].translate(_EQUAL_DIGITS) if body[0].isdigit() else body
    return tuple(
        NumeralReading(Decimal(_plain_digits(body, way.decimal, way.group)), way.formats, way.strict_formats)
        for way in _shape_readings(shape)
    )


@lru_cache(4096)
def _shape_readings(shape: str) -> tuple[_ShapeReading, ...]:
    """Return the possible readings by the positions of separators; the digits do not matter, so results are cached."""
    found: dict[str, _ShapeReading] = {}
    for number, (format_, (loose, strict)) in enumerate(zip(NUMBER_FORMATS, _PATTERNS, strict=True)):
        if loose.fullmatch(shape):
            bit = 1 << number
            value = _plain_digits(shape, *format_)
            way = found.get(value, _ShapeReading(*format_, 0, 0))
            strict_formats = bit if strict.fullmatch(shape) else 0
            found[value] = way._replace(formats=way.formats | bit, strict_formats=way.strict_formats | strict_formats)
    return tuple(found.values())


def _plain_digits(body: str, decimal: str, group: str) -> str:
    if group and group in body:
        body = body.replace(group, "")
    return body.replace(decimal, ".")


@lru_cache(4096)
def decimal_marks(formats: int) -> str:
    """Return the decimal marks of a set of formats."""
    return "".join({format_.decimal for number, format_ in enumerate(NUMBER_FORMATS) if formats >> number & 1})


def separators_in(body: str) -> str:
    """Return the separators of a numeral, in order."""
    return "".join(letter for letter in body if letter in DIGIT_SEPARATORS)


def is_unambiguous(body: str) -> bool:
    """Whether a numeral has two different separators or a repeated one, so that it can be read in one way only."""
    marks = separators_in(body)
    return len(set(marks)) > 1 or len(marks) > 1


def has_decimals(reading: NumeralReading, body: str) -> bool:
    """Whether the last separator of a numeral is a decimal mark in this reading."""
    marks = separators_in(body)
    return not marks or marks[-1] in decimal_marks(reading.formats)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as written, with the text around it."""

    body: str
    """Digits and separators."""
    before: str
    after: str
    """Text after it, including a leading space."""
    negative: bool = False
    exponent: int | None = None
    arrow: str = ""
    """▲ or ▼, if there is no sign."""
    in_parentheses: bool = False
    """Whether it is negative by accounting parentheses."""


def find_numeral(text: str) -> Numeral:
    """Return the only number in a normalised text; raise `ValueParseError` if there is not exactly one."""
    found = _find_numeral(text)
    if isinstance(found, str):
        raise ValueParseError("{text} {found}", text=quote_text(text), found=found)
    return found


@lru_cache(16384)
def _find_numeral(text: str) -> Numeral | str:
    if len(text) <= MOST_DIGITS and (bare := _BARE.fullmatch(text)):
        return Numeral(bare[2], "", "", bare[1] == "-")
    try:
        return _parse_numeral(_GLUED_CODE.sub(r"\1 ", text))
    except ValueParseError as why:
        return str(why)


def _parse_numeral(text: str) -> Numeral:
    text, in_parentheses = _without_parentheses(text)
    match = _NUMERAL.search(text)
    if match is None:
        raise ValueParseError("is not a number.")
    before, body, after = text[: match.start()], match["body"], text[match.end() :]
    if sum(map(str.isdigit, body)) > MOST_DIGITS:
        raise ValueParseError("has a number of more than {limit} digits.", limit=MOST_DIGITS)
    _check_around(before, after)
    if cents := _NO_CENTS.match(after):
        body, after = f"{body}{cents[1]}00", after[cents.end() :]
    sign, before = _leading_sign(before)
    if minus := _TRAILING_MINUS.match(after):
        if sign:
            raise ValueParseError("has two signs.")
        sign, after = "-", after[minus.end() :]
    arrow = next((letter for letter in before if letter in _ARROWS), "")
    if arrow in ("▲", "↑") and sign == "-":
        raise ValueParseError("has an arrow that contradicts its sign.")
    return Numeral(
        body,
        before.translate(_NO_ARROWS).strip(),
        after,
        sign == "-" or (in_parentheses and not sign),
        _exponent(match),
        "" if sign else arrow,
        in_parentheses and not sign,
    )


def _exponent(match: re.Match[str]) -> int | None:
    written = match["e"] or match["caret"] or (match["raised"] or "").translate(_SUPERSCRIPT)
    if written and abs(int(written)) > LARGEST_EXPONENT:
        raise ValueParseError("is too large or too small.")
    return int(written) if written else None


def _without_parentheses(text: str) -> tuple[str, bool]:
    """Return the text without parentheses around its number, and whether there were any."""
    match = _PARENTHESES.fullmatch(text) if "(" in text else None
    if match is None:
        return text, False
    around = f"{match['before']} {match['after']}".strip()
    rest = currencies.currency_at_start(around)[1].strip() if around else ""
    if rest and rest not in ("%", "‰", "-", "+"):
        raise ValueParseError("has a number in parentheses, which may be negative. Choose the number alone.")
    return f"{match['before']}{match['inside']}{match['after']}", True


def _check_around(before: str, after: str) -> None:
    """Raise `ValueParseError` if the text around the digits shows that they are not a number."""
    if _FRACTION.search(before):
        raise ValueParseError("has a fraction next to its digits.")
    if any(sign in before for sign in "<>≤≥±") or after.startswith("+"):
        raise ValueParseError("is only approximate.")
    if after:
        for pattern, why in _NOT_A_NUMBER.items():
            if pattern.search(after):
                raise ValueParseError(why)


def _leading_sign(before: str) -> tuple[str, str]:
    """Return the sign before a number, and the text before the sign."""
    stripped = before.rstrip()
    if stripped.endswith(("-", "+")):
        sign, rest = stripped[-1], stripped[:-1]
        words = rest.rstrip()
        if words and not words.endswith(("(", ":", *_ARROWS)) and currencies.currency_at_end(words)[0] is None:
            if stripped != before:
                raise ValueParseError("has a dash before its number, which may be a minus sign.")
            if rest == words:
                raise ValueParseError("is a word with a number in it.")
        if words.startswith(("-", "+")):
            raise ValueParseError("has two signs.")
        return sign, rest
    if stripped.startswith(("-", "+")):
        if currencies.currency_at_end(stripped[1:])[1].strip(" %‰"):
            raise ValueParseError("has a dash before its words, which may be a minus sign.")
        return stripped[0], stripped[1:]
    return "", before
