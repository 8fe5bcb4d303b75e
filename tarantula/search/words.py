"""From texts to the words that an index holds: as they are written, and by their stems."""

from __future__ import annotations

from functools import cache

from tantivy import Filter, PreTokenizedString, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_WORD = 80
"""Bytes of a word; what is longer is none."""
EXACT = "exact"
STEMMERS = {"pt": "portuguese", "en": "english"}
"""Languages whose words are also found by their stems."""


@cache
def exact() -> TextAnalyzer:
    """Return what makes words of a text: without case and accents."""
    return _begun().filter(Filter.ascii_fold()).build()


@cache
def stemming(language: str) -> TextAnalyzer:
    """Return what makes stems of a text of a language, or words if the language is another."""
    if language not in STEMMERS:
        return exact()
    # Accents tell a stemmer what is an ending: they go last.
    return _begun().filter(Filter.stemmer(STEMMERS[language])).filter(Filter.ascii_fold()).build()


def stemmed(text: str, language: str) -> PreTokenizedString:
    """Return the stems of a text of a language, for the index."""
    return stemming(language).pre_tokenize(text)


def stems_of(word: str) -> list[str]:
    """Return what a word may have become in the index, whatever the language of the document."""
    forms = [exact().analyze(word), *(stemming(language).analyze(word) for language in STEMMERS)]
    return list(dict.fromkeys(form for found in forms for form in found[:1]))


def _begun() -> TextAnalyzerBuilder:
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
