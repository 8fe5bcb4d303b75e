"""From texts to the words that an index holds: as they are written, and by their stems."""

from __future__ import annotations

import re
from functools import cache, lru_cache, reduce

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from tarantula.search.texts.words_part_commonest import ENGLISH_STOPWORDS
from tarantula.search.texts.words_part_plurals import singulars

LONGEST_WORD = 80
"""Bytes of a word; what is longer is none."""
EXACT_TOKENIZER = "exact"
WHITESPACE_TOKENIZER = "parted"
STEMMERS = {"pt": "portuguese", "en": "english"}
"""Languages whose words are also found by their stems."""
ACCENTED_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*")
"""A word with an accent, or of other letters."""


@cache
def exact_analyzer() -> TextAnalyzer:
    """Return what makes words of a text: without case and accents."""
    return _built(Filter.ascii_fold())


@cache
def whitespace_analyzer() -> TextAnalyzer:
    """Return what takes words as they are, with spaces between them."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def stemmed_text(text: str, language: str) -> str:
    """Return the stems of a text of a language, with spaces between them.

    Those that its words would have without accents follow, where they are others: many type none.
    """
    return " ".join(stems_of_text(text, language))


def stems_of_text(text: str, language: str) -> list[str]:
    """Return the stems of a text of a language, without its commonest words; words if it is another."""
    if language not in STEMMERS:
        return exact_analyzer().analyze(text)
    stems = _stems(text, language)
    if not text.isascii():
        known = set(stems)
        careless = _careless(" ".join(dict.fromkeys(ACCENTED_WORD.findall(text))), language)
        stems += [stem for stem in dict.fromkeys(careless) if stem not in known]
    return stems


def _stems(text: str, language: str) -> list[str]:
    return _stemming(language).analyze(singulars(text.lower()) if language == "pt" else text)


def _careless(text: str, language: str) -> list[str]:
    """Return the stems that a text would have if nobody had typed its accents."""
    return _stems(" ".join(exact_analyzer().analyze(text)), language)


@lru_cache(10_000)
def stems_of_word(word: str) -> tuple[str, ...]:
    """Return what a word may have become in the index, whatever the language; nothing if it is among the commonest."""
    finders = (_stems,) if word.isascii() else (_stems, _careless)
    stems = [find(word, language) for find in finders for language in STEMMERS]
    if not all(stems):
        return ()
    return tuple(dict.fromkeys(form for found in (*stems, exact_analyzer().analyze(word)) for form in found[:1]))


@cache
def _stemming(language: str) -> TextAnalyzer:
    # Accents tell a stemmer what is an ending: they go last.
    return _built(_without_commonest(language), Filter.stemmer(STEMMERS[language]), Filter.ascii_fold())


def _without_commonest(language: str) -> Filter:
    return Filter.custom_stopword(list(ENGLISH_STOPWORDS)) if language == "en" else Filter.stopword(STEMMERS[language])


def _built(*filters: Filter) -> TextAnalyzer:
    return reduce(TextAnalyzerBuilder.filter, filters, _begun()).build()


def _begun() -> TextAnalyzerBuilder:
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
