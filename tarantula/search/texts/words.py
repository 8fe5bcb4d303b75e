"""From texts to the words that an index holds: as they are written, and by their stems."""

from __future__ import annotations

import re
from functools import cache, lru_cache, reduce

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_WORD = 80
"""Bytes of a word; what is longer is none."""
EXACT = "exact"
PARTED = "parted"
STEMMERS = {"pt": "portuguese", "en": "english"}
"""Languages whose words are also found by their stems."""
_ACCENTED = re.compile(r"\w*[^\W\x00-\x7f]\w*")


@cache
def exact() -> TextAnalyzer:
    """Return what makes words of a text: without case and accents."""
    return _built(Filter.ascii_fold())


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
    return _built(Filter.stopword(name), Filter.stemmer(name), Filter.ascii_fold())


@cache
def careless(language: str) -> TextAnalyzer:
    """Return what makes the stems that a text would have if nobody had typed its accents."""
    name = STEMMERS[language]
    return _built(Filter.ascii_fold(), Filter.stopword(name), Filter.stemmer(name))


def stemmed(text: str, language: str) -> str:
    """Return the stems of a text of a language, with spaces between them.

    Those that its words would have without accents follow, where they are others: many type none.
    """
    stems = stemming(language).analyze(text)
    if language in STEMMERS and not text.isascii():
        accented = " ".join(dict.fromkeys(_ACCENTED.findall(text)))
        known = set(stems)
        stems += [stem for stem in dict.fromkeys(careless(language).analyze(accented)) if stem not in known]
    return " ".join(stems)


@lru_cache(10_000)
def stems_of(word: str) -> tuple[str, ...]:
    """Return what a word may have become in the index, whatever the language; nothing if it is among the commonest."""
    analyzers = (stemming,) if word.isascii() else (stemming, careless)
    stems = [analyzer(language).analyze(word) for analyzer in analyzers for language in STEMMERS]
    if not all(stems):
        return ()
    return tuple(dict.fromkeys(form for found in (*stems, exact().analyze(word)) for form in found[:1]))


def _built(*filters: Filter) -> TextAnalyzer:
    return reduce(TextAnalyzerBuilder.filter, filters, _begun()).build()


def _begun() -> TextAnalyzerBuilder:
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
