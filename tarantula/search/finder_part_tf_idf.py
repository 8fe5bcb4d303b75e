"""The order of 2024: how often the words are in a document, times how rare they are elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from tantivy import DocAddress, Searcher

from tarantula.search.index.schema import IndexEntry, entry_of_document
from tarantula.search.index.schema_part_schema import WHOLE_STEMS_FIELD
from tarantula.search.queries.builder_part_rarity import form_frequencies, word_frequency
from tarantula.search.queries.parser import ParsedQuery
from tarantula.search.texts.words import exact_analyzer, stems_of_text, stems_of_word

TF_IDF_CANDIDATES = 200
"""Documents that are put in this order: those that the words find best. The others follow them."""

ScoredAddresses = list[tuple[float, DocAddress]]


def by_tf_idf(searcher: Searcher, asked: ParsedQuery, found: ScoredAddresses) -> ScoredAddresses:
    """Put the first of what was found in the order of TF-IDF, with that for a score; the others keep theirs."""
    forms = [
        stems_of_word(part)
        for group in asked.wanted
        for words in group
        for part in exact_analyzer().analyze(words.text)
    ]
    rarities = [(each, _rarity(searcher, each)) for each in forms if each]
    scored = [
        (_value(entry_of_document(searcher.doc(address)), rarities), address)
        for _, address in found[:TF_IDF_CANDIDATES]
    ]
    return sorted(scored, key=lambda one: -one[0]) + found[TF_IDF_CANDIDATES:]


def _rarity(searcher: Searcher, forms: Sequence[str]) -> float:
    number = word_frequency(searcher, form_frequencies(searcher, WHOLE_STEMS_FIELD, forms))
    return log(searcher.num_docs / number) if number else 0.0


def _value(entry: IndexEntry, rarities: Sequence[tuple[Sequence[str], float]]) -> float:
    text = "\n".join((entry.title, entry.headings, entry.description, entry.main))
    counts = Counter(stems_of_text(text, entry.language))
    number = counts.total() or 1
    return sum(max(counts[form] for form in forms) / number * rarity for forms, rarity in rarities)
