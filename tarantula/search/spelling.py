"""What somebody may have meant to type."""

from __future__ import annotations

from difflib import SequenceMatcher

from tantivy import Searcher

from tarantula.search.query import Asked
from tarantula.search.schema import Field
from tarantula.search.words import exact

SAME_BEGINNING = 2
"""Letters that are taken to be right."""
MOST = 2_000
"""Words with the same beginning that are compared."""
NEAR = 0.75
"""How like a word one has to be that may have been meant, from 0 to 1."""


def did_you_mean(searcher: Searcher, asked: Asked, query: str) -> str | None:
    """Return a query in which words that no document has are replaced by those that were perhaps meant."""
    meant = query
    for group in asked.wanted:
        for words in group:
            parts = exact().analyze(words.text)
            if len(parts) == 1 and not words.is_phrase and (better := _nearest(searcher, parts[0])):
                meant = meant.replace(words.text, better)
    return meant if meant != query else None


def _nearest(searcher: Searcher, word: str) -> str | None:
    """Return the word of the index that is most like one that it does not have; of equal ones the most frequent."""
    if any(searcher.doc_freq(field, word) for field in (Field.MAIN, Field.TITLE, Field.REST)):
        return None
    known = searcher.terms_with_prefix(Field.MAIN, word[:SAME_BEGINNING], limit=MOST)
    likeness = [(SequenceMatcher(None, word, other).ratio(), number, other) for other, number in known]
    best = max(likeness, default=(0.0, 0, ""))
    return best[2] if best[0] >= NEAR else None
