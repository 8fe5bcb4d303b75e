"""The order of 2024: how often the words are in a document, times how rare they are elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from tantivy import DocAddress, Searcher

from tarantula.search.indexes.entry import Entry, entry_of
from tarantula.search.indexes.schema import WHOLE
from tarantula.search.queries.query import Asked
from tarantula.search.texts.words import exact, stemming, stems_of

BEST = 200
"""Documents that are put in this order: those that the words find best. The others follow them."""

Scored = list[tuple[float, DocAddress]]


def by_tf_idf(searcher: Searcher, asked: Asked, found: Scored) -> Scored:
    """Put the first of what was found in the order of TF-IDF, with that for a score; the others keep theirs."""
    forms = [stems_of(part) for group in asked.wanted for words in group for part in exact().analyze(words.text)]
    rarities = [(each, _rarity(searcher, each)) for each in forms if each]
    scored = [(_value(entry_of(searcher.doc(address)), rarities), address) for _, address in found[:BEST]]
    return sorted(scored, key=lambda one: -one[0]) + found[BEST:]


def _rarity(searcher: Searcher, forms: Sequence[str]) -> float:
    known = max(searcher.doc_freq(WHOLE, form) for form in forms)
    return log(searcher.num_docs / known) if known else 0.0


def _value(entry: Entry, rarities: Sequence[tuple[Sequence[str], float]]) -> float:
    text = "\n".join((entry.title, entry.headings, entry.description, entry.main))
    counts = Counter(stemming(entry.language).analyze(text))
    number = counts.total() or 1
    return sum(max(counts[form] for form in forms) / number * rarity for forms, rarity in rarities)
