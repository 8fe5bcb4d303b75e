"""The order of 2024: how often the words are in a document, times how rare they are elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from tantivy import DocAddress, Searcher

from tarantula.search.index.schema import Entry, entry_of
from tarantula.search.index.schema_part_schema import WHOLE
from tarantula.search.queries.builder_part_rarity import known_forms, together
from tarantula.search.queries.parser import Asked
from tarantula.search.texts.words import exact, stems_in, stems_of

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
    number = together(searcher, known_forms(searcher, WHOLE, forms))
    return log(searcher.num_docs / number) if number else 0.0


def _value(entry: Entry, rarities: Sequence[tuple[Sequence[str], float]]) -> float:
    text = "\n".join((entry.title, entry.headings, entry.description, entry.main))
    counts = Counter(stems_in(text, entry.language))
    number = counts.total() or 1
    return sum(max(counts[form] for form in forms) / number * rarity for forms, rarity in rarities)
