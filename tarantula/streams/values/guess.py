"""What a field is, by its texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tarantula.streams.kinds import Aggregation, ValueKind, default_aggregation
from tarantula.streams.values import currencies
from tarantula.streams.values.money import common_currency
from tarantula.streams.values.normalization import LONGEST_RAW_TEXT, normalize_text
from tarantula.streams.values.numbers import split_multiplier
from tarantula.streams.values.numerals import find_numeral
from tarantula.streams.values.parser import is_url_text, parse_value
from tarantula.streams.values.quantities import measure_beside
from tarantula.streams.values.unit_table import UNIT_GROUPS
from tarantula.streams.values.value import Value, ValueParseError

MOST_GUESS_TEXTS = 50
"""Of more texts the last ones are looked at."""
_CODE = re.compile(r"0\d+|\+?\d{3}( \d{3}){3,}|\d{4}-\d{3}|\(?\+\d[\d ()-]{8,}|\(\d+\)")
"""What is written with digits and counts nothing: codes, telephone numbers, notes."""
_NO_DATE = re.compile(r"\d\.\d{1,2}\.\d{1,2}|\d{1,2}\.\d\.\d{1,2}|\d\d/\d\d|[\d.]+")
"""What may be a version, a fraction or a number as well as a date: nobody is served by a guess."""
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3])(?::[0-5]\d){1,2}|(?:1\d|2[0-3])h(?:[0-5]\d)?", re.IGNORECASE)
_FEW_WORDS = re.compile(r"(?:\S+ ){0,4}\S*|[▲▼↑↓%~≈]")
_TITLE = re.compile(r"|(?:[^\W\d_][^\s:]* ){0,4}[^\W\d_][^\s:]*:|[▲▼↑↓~≈]")


class FieldGuess(NamedTuple):
    """What a field seems to be."""

    kind: ValueKind
    unit: str
    aggregation: Aggregation


def guess_field(texts: Sequence[str]) -> FieldGuess:
    """Return what texts of one field have in common; words if nothing else."""
    there = [tidied for text in texts[-MOST_GUESS_TEXTS:] if (tidied := _tidied(text))]
    kind, unit = _guess(list(dict.fromkeys(there))) if there else (ValueKind.TEXT, "")
    return FieldGuess(kind, unit, default_aggregation(kind))


def _tidied(text: str) -> str:
    if is_url_text(text.strip()[:LONGEST_RAW_TEXT]):
        return text.strip()
    try:
        return normalize_text(text)
    except ValueParseError:
        # Too long is words; nothing there says nothing.
        return "…" if len(text) > LONGEST_RAW_TEXT or len(" ".join(text.split())) > 300 else ""


def _guess(texts: list[str]) -> tuple[ValueKind, str]:
    if all(map(is_url_text, texts)):
        return ValueKind.URL, ""
    if any(_CODE.fullmatch(text) for text in texts):
        return ValueKind.TEXT, ""
    for kind, fits in _TESTS.items():
        unit = fits(texts)
        if unit is not None and _all_read(texts, kind, unit):
            return kind, unit
    return ValueKind.TEXT, ""


def _all_read(texts: list[str], kind: ValueKind, unit: str) -> bool:
    return all(_value(text, kind, unit, texts) is not None for text in texts)


def _value(text: str, kind: ValueKind, unit: str, history: Sequence[str]) -> Value | None:
    try:
        return parse_value(text, kind, unit, history)
    except ValueParseError:
        return None


def _measures(texts: list[str]) -> list[str] | None:
    """Return what is named beside the number of each text; None if one of them is no number with few words."""
    named = []
    for text in texts:
        try:
            found = find_numeral(text)
        except ValueParseError:
            return None
        before = currencies.currency_at_end(found.before)[1].strip()
        named.append(measure_beside(found))
        if not (_FEW_WORDS if named[-1] else _TITLE).fullmatch(before):
            return None
    return named


def _percentage(texts: list[str]) -> str | None:
    return "%" if _measures(texts) and all(unit in ("%", "‰") for unit in _measures(texts) or ()) else None


def _money(texts: list[str]) -> str | None:
    return (common_currency(texts) or None) if _measures(texts) else None


def _quantity(texts: list[str]) -> str | None:
    units = _measures(texts) or []
    if not units or not all(units):
        return None
    known = Counter(unit for unit in units if unit not in currencies.CURRENCY_CODES)
    unit = known.most_common(1)[0][0] if known else None
    return None if unit in UNIT_GROUPS["time"] else unit


def _duration(texts: list[str]) -> str | None:
    if all(_TIME_OF_DAY.fullmatch(text) for text in texts):
        return None
    bare = any(re.fullmatch(r"[-+]?[\d.,' ]+", text) for text in texts)
    return None if bare else ""


def _plain(texts: list[str]) -> str | None:
    """Allow a word or two after a number, as in 12 readers, and a title with a colon before it."""
    measures = _measures(texts)
    if measures is None or len(set(filter(None, measures))) > 1:
        return None
    for text in texts:
        _, rest = split_multiplier(find_numeral(text).after, ValueKind.DECIMAL)
        if len(rest.split()) > 2:
            return None
    return ""


_TESTS: dict[ValueKind, Callable[[list[str]], str | None]] = {
    ValueKind.PERCENTAGE: _percentage,
    ValueKind.MONEY: _money,
    ValueKind.QUANTITY: _quantity,
    ValueKind.DURATION: _duration,
    ValueKind.MOMENT: lambda texts: None if all(map(_NO_DATE.fullmatch, texts)) else "",
    ValueKind.INTEGER: _plain,
    ValueKind.DECIMAL: _plain,
}
"""For each kind what its unit would be, or None; in the order in which they are tried."""
