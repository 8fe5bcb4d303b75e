"""What a text looks like, however large its numbers are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from tarantula.streams.texts_part_words import fold_text

WORDS_SHAPE = "a"
"""The shape of a text without numbers, or with too much around them."""
LONGEST_SHAPE = 40
LONGEST_UNIT_SHAPE = 6
FEW_NUMBERS = 5
"""Numbers, of which nobody knows yet how far they go."""
LEAST_SLACK = 1.0
"""By how much any number may differ from those before: small counts go up and down."""
_DATES = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{2,4}")
_NUMBERS = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*")
_SIGNS = re.compile(r"^[+\-−–±▲▼△▽↑↓]+|\s+")


def shape_of(text: str) -> str:
    """Return ``9€`` of ``€ 1.234,56``, ``9:9`` of ``14:05``, ``a`` of words; nothing of nothing."""
    if not text:
        return ""
    if len(text) > 10 * LONGEST_SHAPE:
        return WORDS_SHAPE
    numbered = _NUMBERS.sub("9", _DATES.sub("9/9/9", text))
    bare = _SIGNS.sub("", fold_text(numbered))
    if "9" not in bare:
        return WORDS_SHAPE if any(letter.isalnum() for letter in bare) else bare[:LONGEST_SHAPE]
    if bare.count("9") == 1:
        # A unit may stand on either side of its number.
        bare = "9" + bare.replace("9", "").lstrip("+-−–")
    return bare if len(bare) <= LONGEST_SHAPE else WORDS_SHAPE


def shape_fits(shape: str, known: Iterable[str], *, loosely: bool) -> bool:
    """Whether a text may be one of those that were there: its unit may come or go only where words agree.

    Where there were words, there may be anything.
    """
    return any(one in (shape, WORDS_SHAPE) or (loosely and _differ_by_unit(shape, one)) for one in known)


def _differ_by_unit(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    is_unit = long.count("9") == 1 and len(long) <= LONGEST_UNIT_SHAPE and ":" not in long
    return short == "9" and long.startswith("9") and is_unit


def number_in(text: str) -> float | None:
    """Return the first number of a text, near enough to tell whether it is a usual one."""
    found = _NUMBERS.search(text[:400])
    if found is None:
        return None
    written = re.sub(r"[ \u00a0\u202f'’]", "", found[0])
    marks = [mark for mark in written if mark in ".,"]
    if len(marks) > 1 and marks[-1] == marks[0]:
        written = written.replace(marks[0], "")
    elif marks:
        whole, _, part = written.rpartition(marks[-1])
        written = f"{re.sub('[.,]', '', whole)}.{part}"
    sign = -1 if text[: found.start()].rstrip().endswith(("-", "−", "–")) else 1
    try:
        return sign * float(written[:300])
    except ValueError:
        return None


def is_usual(number: float, past: Sequence[float], width: float = 1.0) -> bool:
    """Whether a number is where such numbers were, and not far outside."""
    if not past:
        return True
    ordered = sorted(past)
    edge = len(ordered) // 20
    low, high, middle = ordered[edge], ordered[-1 - edge], median(ordered)
    slack = width * max(3 * (high - low), abs(middle) * (0.5 if len(ordered) < FEW_NUMBERS else 0.25), LEAST_SLACK)
    return low - slack <= number <= high + slack
