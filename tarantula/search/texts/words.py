"""Words and stems of texts, as the index holds them.

Portuguese plurals that do not end in a plain s are brought to the singular first, since the stemmer takes them for
other words.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache, reduce

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

_PLURAL_ENDING = re.compile(r"s(?!\w)(?:(?<=ns)|(?<=[õoã]es)|(?<=[aeéóu]is)|(?<=[^\Waeiouáéíóú]is))")
"""Ending of a possible plural; starts with the s, which is fast to find."""
_PLURAL_RULES = [
    (re.compile(f"({begin})(?:{ending})"), singular)
    for begin, ending, singular in (
        ("lei|rei|pai", "s", ""),
        (r"\w{2,}", "ns", "m"),
        (r"\w+", "ões", "ão"),
        (r"\w+", "oes", "ao"),
        # Mães is not a plural of mão.
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

ENGLISH_STOPWORDS = tuple(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves
    what which who whom this that these those
    am is are was were be been being have has had having do does did doing would should could ought will cannot
    a an the and but if or because as until while
    of at by for with about against between into through during before after above below to from up down in out on off
    over under again further then once here there when where why how
    all any both each few more most other some such no nor not only own same so than too very
    """.split()
)
"""Snowball's list of English stop words; tantivy has its Portuguese list, but a shorter one for English."""
LONGEST_WORD = 80
"""Longest word that is indexed, in bytes."""
EXACT_TOKENIZER = "exact"
WHITESPACE_TOKENIZER = "parted"
STEMMERS = {"pt": "portuguese", "en": "english"}
"""Languages whose words are stemmed."""
ACCENTED_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*")
"""A word with a non-ASCII letter."""


def singulars(text: str) -> str:
    """Return a lower-case text with these plurals replaced by their singulars."""
    pieces, at = [], 0
    for found in _PLURAL_ENDING.finditer(text):
        end = start = found.end()
        while start > at and text[start - 1].isalnum():
            start -= 1
        pieces += [text[at:start], singular(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


@lru_cache(10_000)
def singular(word: str) -> str:
    """Return the singular of a lower-case word, or the word itself."""
    if len(word) > LONGEST_WORD:
        # It is not indexed, and the rules take quadratic time.
        return word
    for plural, ending in _PLURAL_RULES:
        if found := plural.fullmatch(word):
            return found[1] + ending
    return word


@cache
def exact_analyzer() -> TextAnalyzer:
    """Return the analyzer for words without case and accents."""
    return _build(Filter.ascii_fold())


@cache
def whitespace_analyzer() -> TextAnalyzer:
    """Return the analyzer for words separated by spaces."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def stemmed_text(text: str, language: str) -> str:
    """Return the stems of a text, separated by spaces.

    Words with accents also get the stems that they have without accents, where they differ: many users type none.
    """
    return " ".join(stems_of_text(text, language))


def stems_of_text(text: str, language: str) -> list[str]:
    """Return the stems of a text without stop words; its words if the language has no stemmer."""
    if language not in STEMMERS:
        return exact_analyzer().analyze(text)
    stems = _stems(text, language)
    if not text.isascii():
        known = set(stems)
        unaccented = _unaccented_stems(" ".join(dict.fromkeys(ACCENTED_WORD.findall(text))), language)
        stems += [stem for stem in dict.fromkeys(unaccented) if stem not in known]
    return stems


def _stems(text: str, language: str) -> list[str]:
    return _stemmer(language).analyze(singulars(text.lower()) if language == "pt" else text)


def _unaccented_stems(text: str, language: str) -> list[str]:
    """Return the stems of a text as typed without accents."""
    return _stems(" ".join(exact_analyzer().analyze(text)), language)


@lru_cache(10_000)
def stems_of_word(word: str) -> tuple[str, ...]:
    """Return all stems of a word in any language; none if it is a stop word."""
    stemmers = (_stems,) if word.isascii() else (_stems, _unaccented_stems)
    stems = [find(word, language) for find in stemmers for language in STEMMERS]
    if not all(stems):
        return ()
    return tuple(dict.fromkeys(form for found in (*stems, exact_analyzer().analyze(word)) for form in found[:1]))


@cache
def _stemmer(language: str) -> TextAnalyzer:
    # Accents are removed last, since the stemmer needs them to recognise endings.
    return _build(_stopword_filter(language), Filter.stemmer(STEMMERS[language]), Filter.ascii_fold())


def _stopword_filter(language: str) -> Filter:
    return Filter.custom_stopword(list(ENGLISH_STOPWORDS)) if language == "en" else Filter.stopword(STEMMERS[language])


def _build(*filters: Filter) -> TextAnalyzer:
    return reduce(TextAnalyzerBuilder.filter, filters, _base_builder()).build()


def _base_builder() -> TextAnalyzerBuilder:
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
