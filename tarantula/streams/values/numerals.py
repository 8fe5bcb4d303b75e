"""The one number that a text has, with its sign, and what stands around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tarantula.streams.values import currencies
from tarantula.streams.values.normalization import quote_text
from tarantula.streams.values.numerals_part_formats import MOST_DIGITS
from tarantula.streams.values.value import ValueParseError

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
"""What most numbers are: nothing but a sign, digits and marks."""
_CODES = "|".join(sorted(currencies.CURRENCY_CODES))
_GLUED_CODE = re.compile(rf"(?<![^\W\d_])({_CODES}|Fr\.|Rs\.?|kr\.?|Kč|Kz)(?=[-+]?\d)")
_PARENTHESES = re.compile(r"(?P<before>[^()\d]*)\((?P<inside>[^()]*\d[^()]*)\)(?P<after>[^()\d]*)")
_NO_CENTS = re.compile(r"\s?([.,])\s?-{1,2}(?![\d-])")
_NO_NUMBER = {
    re.compile(r"^\s?[-/:]\s?[.,]?\d"): "is no number: it may be a score, a range, a date or a time.",
    _NUMERAL: "has more than one number. Choose a smaller part, or write a regular expression.",
    # A second number may stand behind a slash if it says for how much: €/100 g, l/100 km.
    re.compile(r"/\s?(?!10*\s?(?![CFK]\b)[^\W\d_])\d"): "has more than one number. Choose a smaller part.",
    re.compile(r"^\s?(?:…|\.\.)|^,$|^[.,'][.,'\d]|^--"): "ends in the middle of a number.",
    re.compile(r"^[²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅞]"): "has a fraction, a power or a note beside its digits.",
    re.compile(r"^-[^\W\d_]|^[_#&=@\\|~^]"): "is a word with a number in it.",
}
"""What may stand after digits that are no number by themselves."""
_FRACTION = re.compile(r"[¼-¾⅐-⅞]")
_TRAILING_MINUS = re.compile(r"-(?=$|\s|[%€£$)])")


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as it is written."""

    body: str
    """Digits and the marks between them."""
    before: str
    after: str
    """What follows it at once, with the space if there is one."""
    negative: bool = False
    exponent: int | None = None
    arrow: str = ""
    """▲ or ▼, if nothing else says the sign."""
    in_parentheses: bool = False
    """Whether it is below zero because accountants write it so."""


def find_numeral(text: str) -> Numeral:
    """Return the only number in a tidy text, or say why there is none."""
    found = _numeral(text)
    if isinstance(found, str):
        raise ValueParseError(f"{quote_text(text)} {found}")
    return found


@lru_cache(16384)
def _numeral(text: str) -> Numeral | str:
    if len(text) <= MOST_DIGITS and (bare := _BARE.fullmatch(text)):
        return Numeral(bare[2], "", "", bare[1] == "-")
    try:
        return _found(_GLUED_CODE.sub(r"\1 ", text))
    except ValueParseError as why:
        return str(why)


def _found(text: str) -> Numeral:
    text, in_parentheses = _without_parentheses(text)
    match = _NUMERAL.search(text)
    if match is None:
        raise ValueParseError("is no number.")
    before, body, after = text[: match.start()], match["body"], text[match.end() :]
    if sum(map(str.isdigit, body)) > MOST_DIGITS:
        raise ValueParseError(f"has a number of more than {MOST_DIGITS} digits.")
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
        raise ValueParseError("has an arrow that says the contrary of its sign.")
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
        raise ValueParseError("is too large or too small a number.")
    return int(written) if written else None


def _without_parentheses(text: str) -> tuple[str, bool]:
    """Return the text without the parentheses around its number, and whether there were any."""
    match = _PARENTHESES.fullmatch(text) if "(" in text else None
    if match is None:
        return text, False
    around = f"{match['before']} {match['after']}".strip()
    rest = currencies.currency_at_start(around)[1].strip() if around else ""
    if rest and rest not in ("%", "‰", "-", "+"):
        raise ValueParseError("has a number in parentheses, which may be below zero or not. Choose the number alone.")
    return f"{match['before']}{match['inside']}{match['after']}", True


def _check_around(before: str, after: str) -> None:
    """Say that the digits are no number by themselves, if what stands around them says so."""
    if _FRACTION.search(before):
        raise ValueParseError("has a fraction beside its digits.")
    if any(sign in before for sign in "<>≤≥±") or after.startswith("+"):
        raise ValueParseError("says only about how much it is.")
    if after:
        for pattern, why in _NO_NUMBER.items():
            if pattern.search(after):
                raise ValueParseError(why)


def _leading_sign(before: str) -> tuple[str, str]:
    """Return the sign, and what stands before it."""
    stripped = before.rstrip()
    if stripped.endswith(("-", "+")):
        sign, rest = stripped[-1], stripped[:-1]
        words = rest.rstrip()
        if words and not words.endswith(("(", ":", *_ARROWS)) and currencies.currency_at_end(words)[0] is None:
            if stripped != before:
                raise ValueParseError("has a dash before its number, which may be a minus or not.")
            if rest == words:
                raise ValueParseError("is a word with a number in it.")
        if words.startswith(("-", "+")):
            raise ValueParseError("has two signs.")
        return sign, rest
    if stripped.startswith(("-", "+")):
        if currencies.currency_at_end(stripped[1:])[1].strip(" %‰"):
            raise ValueParseError("has a dash before its words, which may be a minus or not.")
        return stripped[0], stripped[1:]
    return "", before
