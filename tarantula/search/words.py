"""From texts to the words that an index holds: as they are written, and by their stems."""

from __future__ import annotations

from functools import cache, reduce

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_WORD = 80
"""Bytes of a word; what is longer is none."""
EXACT = "exact"
PARTED = "parted"
STEMMERS = {"pt": "portuguese", "en": "english"}
"""Languages whose words are also found by their stems."""


@cache
def exact() -> TextAnalyzer:
    """Return what makes words of a text: without case and accents."""
    return _begun().filter(Filter.ascii_fold()).build()


@cache
def parted() -> TextAnalyzer:
    """Return what takes words as they are, with spaces between them."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


@cache
def stemming(language: str) -> TextAnalyzer:
    """Return what makes stems of a text of a language, without its commonest words; words if it is another."""
    if language not in STEMMERS:
        return exact()
    name = STEMMERS[language]
    # Accents tell a stemmer what is an ending: they go last.
    filters = (Filter.stopword(name), Filter.stemmer(name), Filter.ascii_fold())
    return reduce(TextAnalyzerBuilder.filter, filters, _begun()).build()


def stemmed(text: str, language: str) -> str:
    """Return the stems of a text of a language, with spaces between them."""
    return " ".join(stemming(language).analyze(text)) if text else ""


def stems_of(word: str) -> list[str]:
    """Return what a word may have become in the index, whatever the language; nothing if it is among the commonest."""
    forms = [stemming(language).analyze(word) for language in STEMMERS]
    if not all(forms):
        return []
    return list(dict.fromkeys(form for found in (*forms, exact().analyze(word)) for form in found[:1]))


def _begun() -> TextAnalyzerBuilder:
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
