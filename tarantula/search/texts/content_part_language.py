"""The language of a text."""

from __future__ import annotations

from py3langid import rank

from tarantula.search.texts.words import STEMMERS

SAMPLE_LENGTH = 300
"""Letters that are looked at: enough to tell, and quick."""
SHORTEST_SAMPLE = 40
"""Letters of a text that tells its language by itself; of a shorter one its markup is believed."""
CANDIDATE_LANGUAGES = 10
"""Languages among which is chosen: the nearest to the text."""
DECLARED_LOG_ODDS = 8.0
"""What speaks for a language that the page declares, and for one whose stems are known, in logarithms of chances: a
few words tell Portuguese from English, and not from Galician."""


def language_of(text: str, declared: str | None = None) -> str:
    """Return the language of a text as ``pt``; what it declares of itself decides only where the text does not."""
    code = _code(declared)
    if len(text) < SHORTEST_SAMPLE:
        return code
    # The middle says more than the beginning, where names and dates are.
    start = max(0, (len(text) - SAMPLE_LENGTH) // 2)
    nearest = rank(text[start : start + SAMPLE_LENGTH])[:CANDIDATE_LANGUAGES]
    return str(max(nearest, key=lambda one: one[1] + DECLARED_LOG_ODDS * ((one[0] == code) + (one[0] in STEMMERS)))[0])


def _code(declared: str | None) -> str:
    code = (declared or "").replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else ""
