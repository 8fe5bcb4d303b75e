"""The language of a text."""

from __future__ import annotations

from py3langid import classify

SAMPLE = 600
"""Letters that are looked at: enough to tell, and quick."""
FEWEST = 40
"""Letters of a text that tells its language by itself; of a shorter one its markup is believed."""


def language_of(text: str, declared: str | None = None) -> str:
    """Return the language of a text as ``pt``; what it declares of itself only if there is little text."""
    if len(text) >= FEWEST:
        # The middle says more than the beginning, where names and dates are.
        start = max(0, (len(text) - SAMPLE) // 2)
        language, _ = classify(text[start : start + SAMPLE])
        return str(language)
    code = (declared or "").replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else ""
