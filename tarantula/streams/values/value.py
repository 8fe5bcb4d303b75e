"""Typed value that a text was parsed into, and how texts are normalized before they are parsed."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

from tarantula.core.errors import MessageError
from tarantula.core.messages import Message
from tarantula.streams.kinds import ValueKind

LONGEST_RAW_TEXT = 20_000
"""Maximum number of characters, including surrounding whitespace."""
LONGEST_VALUE_TEXT = 300
"""Maximum number of characters of a text, except for the kind text."""
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x61C, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)
_DASHES = dict.fromkeys(map(ord, "−–—‐‑‒―﹣⁃➖"), "-")


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value."""

    kind: ValueKind
    text: str
    """Canonical text: ``-3.5``, ``2026-06-12T22:00:00+00:00``, an absolute URL, words."""
    number: Decimal | None = None
    """Exact number in the unit of the field; seconds for durations, seconds since 1970 for moments."""
    unit: str = ""
    """Unit named in the text: ``EUR``, ``km/h``, ``%``."""


class ValueParseError(MessageError, ValueError):
    """A text does not have the expected value; the message gives the reason."""


_QUOTES = {ord(letter): "'" for letter in "’‘ʼ′ʹ‛`´"} | {ord(letter): '"' for letter in "″“”„"}
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_OTHERS = {ord("٪"): "%", ord("℃"): "°C", ord("℉"): "°F", ord("μ"): "µ", ord("˚"): "°", ord("⁄"): "/"}
_REPLACEMENTS = _INVISIBLE | _DASHES | _QUOTES | _WIDE | _OTHERS
_MISSING = re.compile(
    r"""[-_.,:;?*/…\s'"]*
    |n\.?\s?[/.]?\s?[ad]\.?|\#n/?a!?|s\.?/?\s?d\.?|k\.\s?a\.?|nan|null|none|nil|undefined|tb[ad]
    |(?:sem|s/)\s?(?:dados|informação|valor|cotação)|(?:não|nao)\ (?:disponível|disponivel|aplicável|há\ dados)
    |indisponível|no\ data|not\ available|unavailable|keine\ (?:angabe|daten)|non\ disponible|nicht\ verfügbar""",
    re.VERBOSE | re.IGNORECASE,
)
_UNIT_WITHOUT_NUMBER = re.compile(r"[-.,]+\s*(?:[€£$¥%‰]|°\s?[CF]?|[A-Za-z/²³°µ]{1,5})|[€£$¥]\s*[-.,]+")
_DIGIT = re.compile(r"\d")
_SEPARATE_NUMBERS = re.compile(r"(?<=\d)(?=\s*[\n\t\r\f\v]|\s\s)\s+(?=\d)")
"""Whitespace that separates two numbers: a line break or several spaces."""


def quote_text(text: str) -> str:
    """Return a text shortened and in quotation marks, for messages."""
    short = " ".join(text[:200].split())
    return f"“{short[:60]}…”" if len(short) > 60 else f"“{short}”"


def normalize_text(text: str) -> str:
    """Normalise digits, spaces, dashes and quotation marks; raise `ValueParseError` if too long or missing.

    Digits on two lines remain on two lines, because they are not one number.
    """
    if len(text) > LONGEST_RAW_TEXT:
        raise ValueParseError(
            "The text is {length} characters long: {text} Values are short. Choose a smaller part.",
            length=len(text),
            text=quote_text(text),
        )
    if not text.isascii():
        text = "".join(map(_ascii_digit, text.translate(_REPLACEMENTS)))
    parts = text.split()
    if len(parts) > 1 and _SEPARATE_NUMBERS.search(text):
        text = "\n".join(" ".join(part.split()) for part in _SEPARATE_NUMBERS.split(text))
    else:
        text = " ".join(parts)
    if len(text) > LONGEST_VALUE_TEXT:
        raise ValueParseError(
            "The text is {length} characters long: {text} Values are short. Choose a smaller part.",
            length=len(text),
            text=quote_text(text),
        )
    if is_missing(text):
        raise ValueParseError(
            Message("No value found: {text}.", text=quote_text(text)) if text else "No value found: the text is empty."
        )
    return text


def text_after_word(text: str, word: str) -> str | None:
    """Return the text after a leading word; None if the text does not start with it."""
    text = text.lstrip()
    rest = text[len(word) :]
    return rest if text.startswith(word) and not rest[:1].isalnum() else None


def is_missing(text: str) -> bool:
    """Whether a normalised text is a marker of a missing value: a dash, n/a, empty."""
    if _DIGIT.search(text):
        return False
    return _MISSING.fullmatch(text) is not None or _UNIT_WITHOUT_NUMBER.fullmatch(text) is not None


def _ascii_digit(letter: str) -> str:
    if letter.isdecimal() and not letter.isascii():
        return str(unicodedata.decimal(letter))
    return letter
