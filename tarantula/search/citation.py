"""Excerpt of a text that matches a query best, with the matching words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tarantula.search.queries.parser import ParsedQuery
from tarantula.search.results import CitationPiece
from tarantula.search.texts.words import exact_analyzer, stems_of_word

CITATION_LENGTH = 240
"""Approximate length of an excerpt, in characters."""
SEARCHED_LENGTH = 50_000
"""Characters of a text that are searched for the excerpt."""
MOST_HITS = 30
"""Most matching words counted in an excerpt."""
CONTEXT_BEFORE = 60
"""Characters of context before the first matching word."""
STABLE_PREFIX_LENGTH = 2
"""Leading characters of a word that stemmers do not change, except for letters that they treat as equal."""

_WORD = re.compile(r"\w+")
_FOREIGN = re.compile(r"[^\W\x00-\x7f]\w*")
_SPACE = re.compile(r"\s")

_Hit = tuple[int, int, str]
"""Start and end of a matching word, and its form in the query."""


class QueryWordMatcher(dict[str, str | None]):
    """Maps words, as written, to the matching form of the query, or None. Each word is analysed once."""

    def __init__(self, forms: frozenset[str]) -> None:
        super().__init__()
        self._forms = forms
        self._prefixes = _prefix_pattern(frozenset(map(_prefix_of, forms)))

    def hits_in(self, text: str) -> list[_Hit]:
        """Return the matching words of a text."""
        return [(start, end, form) for start, end in self._spans(text) if (form := self[text[start:end]])]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of words that may match, with few others."""
        unified = _unify_letters(text.lower())
        # A word with an underscore is several words to the analyzer, and a later one may match.
        if "_" in text or len(unified) != len(text):
            return [word.span() for word in _WORD.finditer(text)]
        prefix = [word.span() for word in self._prefixes.finditer(unified)]
        return prefix if text.isascii() else sorted({*prefix, *_spans_with_foreign_prefix(text)})

    def __missing__(self, word: str) -> str | None:
        forms = _forms(word.lower())
        is_asked = not self._forms.isdisjoint(forms)
        form = self[word] = next(form for form in forms if form in self._forms) if is_asked else None
        return form


def best_citation(text: str, matcher: QueryWordMatcher) -> list[CitationPiece]:
    """Return the excerpt with most query words; the beginning of the text if there are none."""
    searched = text[:SEARCHED_LENGTH].strip()
    start = max(_best_start(matcher.hits_in(searched)) - CONTEXT_BEFORE, 0)
    if start:
        space = _SPACE.search(searched, start)
        start = space.end() if space else 0
    # Only the shown part is normalised.
    end = start + 2 * CITATION_LENGTH
    excerpt = " ".join(searched[start:end].split())
    ends_inside = len(excerpt) > CITATION_LENGTH
    if ends_inside:
        excerpt = excerpt[: max(excerpt.rfind(" ", 0, CITATION_LENGTH), 0) or CITATION_LENGTH]
    return _marked(excerpt, matcher.hits_in(excerpt), bool(start), ends_inside or end < len(searched))


def query_word_matcher(parsed: ParsedQuery) -> QueryWordMatcher:
    """Return a matcher for all forms of a query's words."""
    texts = [words.text for group in parsed.required for words in group]
    parts = [part for text in texts for part in exact_analyzer().analyze(text)]
    return QueryWordMatcher(frozenset(form for part in parts for form in _forms(part)))


def _best_start(hits: Sequence[_Hit]) -> int:
    """Return the start of the window with most different words, then most words."""
    best, at, end_index = (0, 0), 0, 0
    counts: dict[str, int] = {}
    for number, (start, _, form) in enumerate(hits):
        last = start + CITATION_LENGTH - CONTEXT_BEFORE
        for _, end, other in hits[end_index : number + MOST_HITS]:
            if end > last:
                break
            counts[other] = counts.get(other, 0) + 1
            end_index += 1
        if (value := (len(counts), end_index - number)) > best:
            best, at = value, start
        if end_index == number:
            end_index += 1
        elif counts[form] == 1:
            del counts[form]
        else:
            counts[form] -= 1
    return at


def _marked(text: str, hits: Sequence[_Hit], starts_inside: bool, ends_inside: bool) -> list[CitationPiece]:
    pieces = [CitationPiece("… ")] if starts_inside else []
    at = 0
    for start, end, _ in hits:
        pieces += [CitationPiece(text[at:start]), CitationPiece(text[start:end], True)]
        at = end
    pieces.append(CitationPiece(text[at:] + (" …" if ends_inside else "")))
    return [piece for piece in pieces if piece.text]


def _prefix_of(form: str) -> str:
    """Return the prefix of all words with this form, unless they start with non-ASCII letters."""
    return _unify_letters(form[:STABLE_PREFIX_LENGTH].encode("ascii", "replace").decode().partition("?")[0])


def _unify_letters(text: str) -> str:
    """Unify letters that a stemmer treats as equal: dying is a form of die."""
    return text.replace("y", "i")


@lru_cache(1_000)
def _prefix_pattern(prefixes: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern for words with one of these prefixes."""
    # A lookbehind at each match is much faster than searching for word boundaries.
    words = [rf"{prefix}(?<!\w{'.' * len(prefix)})" for prefix in sorted(prefixes - {""})]
    return re.compile(rf"(?:{'|'.join(words) or '(?!)'})\w*")


def _spans_with_foreign_prefix(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of words with a non-ASCII letter in their prefix, which may be folded to any letter."""
    for found in _FOREIGN.finditer(text):
        start = found.start()
        while start > found.start() - STABLE_PREFIX_LENGTH and start and text[start - 1].isalnum():
            start -= 1
        if start > found.start() - STABLE_PREFIX_LENGTH:
            yield start, found.end()


@lru_cache(100_000)
def _forms(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*exact_analyzer().analyze(word), *stems_of_word(word)]))
