"""A part of a text: a regular expression that finds it again when it has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tarantula.core.errors import TarantulaError
from tarantula.streams.texts_part_patterns import search_pattern

NUMBER_PATTERN = r"[-+−–]?\d(?:[\d.,'’   ]*\d)?"
"""A number, however it is written."""
MOST_PARTS = 6
CONTEXT_CHARS = 24
"""Letters before and after a part by which it is known."""
_NUMBERS = re.compile(
    rf"(?<![\w.,]){NUMBER_PATTERN}(?:\s?(?:%|[€$£¥]|°[CF]|[A-Z]{{3}}\b|[a-zµ]{{1,3}}(?:/[a-z²³]{{1,3}})?\b))?"
)
_PLAIN = r"\d(?:[\d.,:]*\d)?"


def parts_in(text: str) -> list[str]:
    """Return the numbers of a text that has more in it than one of them."""
    found = [match[0].strip() for match in _NUMBERS.finditer(text[:2000])]
    return [part for part in dict.fromkeys(found) if part != text.strip()][:MOST_PARTS]


def pattern_for(text: str, part: str) -> str:
    """Return a regular expression that finds a part of a text, by what is around it, or say that none does."""
    tidy = " ".join(part.split())
    start = text.find(tidy) if tidy else -1
    if start < 0:
        raise TarantulaError(f"{part[:80]!r} is no part of the text.")
    if tidy == text:
        return ""
    for pattern in _patterns(text, start, start + len(tidy)):
        if len(pattern) <= 500 and (found := search_pattern(pattern, text)) is not None and found[1].strip() == tidy:
            return pattern
    raise TarantulaError(f"{part[:80]!r} cannot be told from the rest of the text. Choose a longer part.")


def _patterns(text: str, start: int, end: int) -> Iterator[str]:
    part = text[start:end]
    before, after = _known(text[max(0, start - CONTEXT_CHARS) : start]), _known(text[end : end + CONTEXT_CHARS])
    kinds = [_of_kind(part), ".+?" if after or not before else ".+"]
    for kind in kinds:
        if kind is None:
            continue
        if kind != ".+?" and kind != ".+":
            # What stands before a number says which it is; what stands after it may be its unit.
            yield f"{before}({kind})"
            yield f"^{_known(text[:start])}({kind})"
        yield f"{before}({kind}){after or '$'}"
        yield f"^{_known(text[:start])}({kind}){_known(text[end:])}$"


def _of_kind(part: str) -> str | None:
    number = re.match(NUMBER_PATTERN, part)
    if number is None:
        return None
    return NUMBER_PATTERN + _known(part[number.end() :])


def _known(text: str) -> str:
    """Return a pattern for words around a part, whose own numbers may change."""
    return _PLAIN.join(re.escape(piece) for piece in re.split(_PLAIN, text))
