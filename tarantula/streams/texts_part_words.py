"""Words, however they are written."""

from __future__ import annotations

import unicodedata


def fold_text(text: str) -> str:
    """Return a text in small letters without accents, with single spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in letters if not unicodedata.combining(letter)).split())
