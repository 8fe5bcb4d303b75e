"""Spelling corrections of queries, from words of the index.

The index holds words without accents; `accented_form` restores them from a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from string import ascii_lowercase

from tantivy import Query

from tarantula.search.index.schema import IndexField, VisibleSearcher
from tarantula.search.queries.parser import ParsedQuery
from tarantula.search.texts.words import ACCENTED_WORD, exact_analyzer

SEARCHED_LENGTH = 20_000
"""Characters of a text that are searched for a word."""

FIXED_PREFIX_LENGTH = 2
"""Leading letters that are assumed to be right."""
SHORTEST_WORD = 4
"""Shortest word whose first letter may be wrong; as many leading letters are compared."""
MOST_CANDIDATES = 2_000
"""Most words with the same prefix that are compared."""
LEAST_SIMILARITY = 0.75
"""Least similarity of a suggestion, from 0 to 1."""


def accented_form(searcher: VisibleSearcher, word: str) -> str:
    """Return a word with the accents that the best matching document writes."""
    for field in (IndexField.TITLE, IndexField.MAIN):
        query = Query.term_query(searcher.schema, field, word)
        for _, address in searcher.search(query, limit=1, count=False).hits:
            text = str(searcher.whole.doc(address).get_first(field))[:SEARCHED_LENGTH]
            candidates = (found for found in ACCENTED_WORD.findall(text) if len(found) == len(word))
            return next((found.lower() for found in candidates if exact_analyzer().analyze(found) == [word]), word)
    return word


def spelling_suggestion(searcher: VisibleSearcher, parsed: ParsedQuery, query: str) -> str | None:
    """Return the query with words that no document has replaced by similar ones; None if there are none."""
    corrected = query
    for group in parsed.required:
        for words in group:
            parts = exact_analyzer().analyze(words.text)
            if len(parts) == 1 and not words.is_phrase and (correction := _most_similar(searcher, parts[0])):
                corrected = corrected.replace(words.text, accented_form(searcher, correction))
    return corrected if corrected != query else None


def _most_similar(searcher: VisibleSearcher, word: str) -> str | None:
    """Return the most similar word of the index for a word that it lacks; ties go to the most frequent."""
    if any(searcher.whole.doc_freq(field, word) for field in (IndexField.MAIN, IndexField.TITLE, IndexField.REST)):
        return None
    return _best_candidate(searcher, word, [word[:FIXED_PREFIX_LENGTH]]) or _best_candidate(
        searcher, word, _other_prefixes(word)
    )


def _best_candidate(searcher: VisibleSearcher, word: str, prefixes: Iterable[str]) -> str | None:
    similar, matcher = list[tuple[float, int, str]](), SequenceMatcher(None, "", word)
    for prefix in prefixes:
        for other, number in searcher.whole.terms_with_prefix(IndexField.MAIN, prefix, limit=MOST_CANDIDATES):
            matcher.set_seq1(other)
            # The first two are fast upper bounds of the third.
            if min(matcher.real_quick_ratio(), matcher.quick_ratio(), matcher.ratio()) >= LEAST_SIMILARITY:
                similar.append((matcher.ratio(), number, other))
    best_first = (other for _, _, other in sorted(similar, reverse=True))
    return next((other for other in best_first if searcher.has_word(IndexField.MAIN, other)), None)


def _other_prefixes(word: str) -> Iterator[str]:
    """Yield prefixes of a word whose first letter is wrong: replaced, missing, superfluous or swapped."""
    if len(word) < SHORTEST_WORD:
        return
    for letter in ascii_lowercase:
        yield letter + word[1:SHORTEST_WORD]
        yield letter + word[: SHORTEST_WORD - 1]
    yield word[1:SHORTEST_WORD]
    yield word[1] + word[0] + word[2:SHORTEST_WORD]
