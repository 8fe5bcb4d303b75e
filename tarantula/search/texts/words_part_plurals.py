"""Plurals of Portuguese words that end otherwise than in a mere s: the stemmer takes them for other words."""

from __future__ import annotations

import re
from functools import lru_cache

_LIKE_ONE = re.compile(r"s(?!\w)(?:(?<=ns)|(?<=[õoã]es)|(?<=[aeéóu]is)|(?<=[^\Waeiouáéíóú]is))")
"""The end of what may be one; an s is soon found."""
_RULES = [
    (re.compile(f"({begin})(?:{ending})"), singular)
    for begin, ending, singular in (
        ("lei|rei|pai", "s", ""),
        (r"\w{2,}", "ns", "m"),
        (r"\w+", "ões", "ão"),
        (r"\w+", "oes", "ao"),
        # A mother is no hand.
        (r"(?!mães)\w+", "ães", "ão"),
        (r"\w{2,}", "ais", "al"),
        # Fáceis, úteis, frageis; but níveis, túneis, papeis.
        (r"\w*(?:[áéíóúâêô]\w*[^vn]|[áéíóúâêô]|\w[cg])", "eis", "il"),
        (r"\w{2,}", "[ée]is", "el"),
        (r"\w{2,}", "óis", "ol"),
        (r"\w{2,}", "uis", "ul"),
        (r"\w{2,}[^\Waeiouáéíóú]", "is", "il"),
    )
]


def singulars(text: str) -> str:
    """Return a text in small letters with the singulars of such plurals in their place."""
    pieces, at = [], 0
    for found in _LIKE_ONE.finditer(text):
        end = start = found.end()
        while start > at and text[start - 1].isalnum():
            start -= 1
        pieces += [text[at:start], singular(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


@lru_cache(10_000)
def singular(word: str) -> str:
    """Return the singular of a word in small letters, if it is such a plural; else the word."""
    for plural, ending in _RULES:
        if found := plural.fullmatch(word):
            return found[1] + ending
    return word
