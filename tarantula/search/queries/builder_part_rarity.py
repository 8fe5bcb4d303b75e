"""How rare a word is: as rare as all its forms together."""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from tantivy import Searcher


def form_frequencies(searcher: Searcher, field: str, forms: Iterable[str]) -> dict[str, int]:
    """Return in how many documents each form of a word is; those that are in none are left out."""
    return {form: number for form in forms if (number := searcher.doc_freq(field, form))}


def word_frequency(searcher: Searcher, known: dict[str, int]) -> int:
    """Return in how many documents a word is, in any form, about: those with several forms of it count for several."""
    return min(sum(known.values()), searcher.num_docs)


def bm25_idf(searcher: Searcher, number: int) -> float:
    """Return what a word counts for that so many documents have, as BM25 has it."""
    # Documents that were removed are counted until the index is merged.
    missing = max(searcher.num_docs - number, 0)
    return log(1.0 + (missing + 0.5) / (number + 0.5))
