"""The one number that a text has, with its sign, and what stands around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tarantula.streams.types import currencies
from tarantula.streams.types.formats import MOST_DIGITS
from tarantula.streams.types.tidy import quoted
from tarantula.streams.value import NotRead

LARGEST_EXPONENT = 99
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_NUMERAL = re.compile(
    r"""(?<![\w.,/])(?P<body>[.,]?\d(?:\d|[.,'\ ٫٬](?=\d))*)
    (?:[eE](?P<e>[-+]?\d{1,3})(?!\w)
      |\s?[x×·*]\s?10(?:\^(?P<caret>[-+]?\d{1,3})|(?P<raised>[⁺⁻]?[⁰¹²³⁴-⁹]{1,3})))?""",
    re.VERBOSE,
)
_BARE = re.compile(r"([-+]?)(\d+(?:[.,']\d+)*)")
"""What most numbers are: nothing but a sign, digits and marks."""
_CODES = "|".join(sorted(currencies.CODES))
_GLUED_CODE = re.compile(rf"(?<![^\W\d_])({_CODES}|Fr\.|Rs\.?|kr\.?|Kč|Kz)(?=[-+]?\d)")
_PARENTHESES = re.compile(r"(?P<before>[^()\d]*)\((?P<inside>[^()]*\d[^()]*)\)(?P<after>[^()\d]*)")
_NO_CENTS = re.compile(r"\s?([.,])\s?-{1,2}(?![\d-])")
_JOINED = re.compile(r"\s?[-/:]\s?[.,]?\d")
_NOT_WHOLE_TEXT = re.compile(r"\s?(?:…|\.\.)|,$")
_OTHER_AFTER_SLASH = re.compile(r"/\s?(?!10*\s?(?![CFK]\b)[^\W\d_])\d")
"""A second number behind a slash, unless it says for how much: €/100 g, l/100 km."""
_FRACTION_OR_POWER = re.compile(r"[²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅞]")
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


def numeral(text: str) -> Numeral:
    """Return the only number in a tidy text, or say why there is none."""
    found = _numeral(text)
    if isinstance(found, str):
        raise NotRead(f"{quoted(text)} {found}")
    return found


@lru_cache(16384)
def _numeral(text: str) -> Numeral | str:
    if len(text) <= MOST_DIGITS and (bare := _BARE.fullmatch(text)):
        return Numeral(bare[2], "", "", bare[1] == "-")
    text, accounting, doubt = _without_parentheses(_GLUED_CODE.sub(r"\1 ", text))
    match = _NUMERAL.search(text)
    if match is None:
        return "is no number."
    before, after = text[: match.start()], text[match.end() :]
    body = match["body"]
    if doubt:
        return "has a number in parentheses, which may be below zero or not. Choose the number alone."
    if len(body) > 2 * MOST_DIGITS or sum(map(str.isdigit, body)) > MOST_DIGITS:
        return f"has a number of more than {MOST_DIGITS} digits."
    if why := _why_no_number(before, after):
        return why
    if cents := _NO_CENTS.match(after):
        body, after = f"{body}{cents[1]}00", after[cents.end() :]
    sign, before, why = _sign(before)
    if why:
        return why
    if minus := _TRAILING_MINUS.match(after):
        if sign:
            return "has two signs."
        sign, after = "-", after[minus.end() :]
    arrow = next((letter for letter in before if letter in "▲▼↑↓"), "")
    if arrow:
        before = before.replace(arrow, " ")
    if sign and arrow in ("▲", "↑") and sign == "-":
        return "has an arrow that says the contrary of its sign."
    negative = sign == "-" or (accounting and not sign)
    exponent = match["e"] or match["caret"] or (match["raised"] or "").translate(_SUPERSCRIPT)
    if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
        return "is too large or too small a number."
    return Numeral(body, before.strip(), after, negative, int(exponent) if exponent else None, "" if sign else arrow)


def _without_parentheses(text: str) -> tuple[str, bool, bool]:
    """Return the text without them, whether they mean a minus as accountants write it, and whether nobody can tell."""
    match = _PARENTHESES.fullmatch(text) if "(" in text else None
    if match is None:
        return text, False, False
    around = f"{match['before']} {match['after']}".strip()
    rest = currencies.after(around)[1].strip() if around else ""
    if rest and rest not in ("%", "‰", "-", "+"):
        return text, False, True
    return f"{match['before']}{match['inside']}{match['after']}", True, False


def _why_no_number(before: str, after: str) -> str:
    if any(sign in before for sign in "<>≤≥±"):
        return "says only about how much it is."
    if not after:
        return ""
    if _NUMERAL.search(after) or _OTHER_AFTER_SLASH.search(after):
        return "has more than one number. Choose a smaller part, or write a regular expression."
    if _JOINED.match(after):
        return "is no number: it may be a score, a range, a date or a time."
    if _NOT_WHOLE_TEXT.match(after):
        return "ends in the middle of a number."
    if _FRACTION_OR_POWER.match(after):
        return "has a fraction, a power or a note beside its digits."
    if after.startswith("+"):
        return "says only about how much it is."
    if re.match(r"-[^\W\d_]|[_#&=@\\|~^]", after):
        return "is a word with a number in it."
    return ""


def _sign(before: str) -> tuple[str, str, str]:
    """Return the sign, what stands before it, and why it cannot be told."""
    stripped = before.rstrip()
    if stripped.endswith(("-", "+")):
        sign, rest = stripped[-1], stripped[:-1]
        glued = stripped == before
        words = rest.rstrip()
        if words and not words.endswith(("(", ":", "▲", "▼", "↑", "↓")) and currencies.before(words)[0] is None:
            if not glued:
                return "", before, "has a dash before its number, which may be a minus or not."
            if rest == words:
                return "", before, "is a word with a number in it."
        if words.startswith(("-", "+")):
            return "", before, "has two signs."
        return sign, rest, ""
    if stripped.startswith(("-", "+")):
        if currencies.before(stripped[1:])[1].strip(" %‰"):
            return "", before, "has a dash before its words, which may be a minus or not."
        return stripped[0], stripped[1:], ""
    return "", before, ""
