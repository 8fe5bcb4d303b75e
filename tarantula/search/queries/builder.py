"""From words to what the index is asked for them: where they may stand, and what they count for there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tantivy import Occur, Query, Schema, Searcher

from tarantula.search.index.schema_part_schema import TEXTS, WHOLE, Field, stems
from tarantula.search.queries.builder_part_rarity import known_forms, rarity, together
from tarantula.search.queries.parser import Asked, Words
from tarantula.search.texts.words import exact, stems_of

WEIGHTS: dict[str, float] = {
    WHOLE: 1.0,
    Field.MAIN: 0.1,
    Field.TITLE: 0.2,
    Field.HEADINGS: 0.2,
    stems(Field.ANCHORS): 0.6,
    stems(Field.REST): 0.3,
    Field.ADDRESS: 0.2,
}
"""What a word counts for, by where it stands: its stem, or the word as it was typed."""
AS_WRITTEN: dict[str, float] = {
    Field.TITLE: 0.1,
    Field.MAIN: 0.2,
    Field.ANCHORS: 0.1,
    Field.HEADINGS: 0.1,
    Field.DESCRIPTION: 0.1,
    Field.REST: 0.1,
    Field.ADDRESS: 0.2,
}
"""The same of phrases."""
COMMONEST = AS_WRITTEN | {Field.MAIN: 0.05}
"""The same of the commonest words: they may be part of a name, and in a long text they say nothing."""
IN_PHRASE = 5.0
"""How many times as much words count that stand together as they were typed."""
SIDE_BY_SIDE = 1.0
"""What it counts for that all words stand in the main text as they were typed, though nobody asked for that."""
MOST_SIDE_BY_SIDE = 8
"""Words of which that is looked at; more are a sentence, which nobody else has written."""
MOST_LOOKED_AT = 2_000
"""Documents that are looked at for it: where more have every one of the words, it would take too long."""

_EXACT: dict[str, tuple[str, ...]] = {"": (*TEXTS, Field.ADDRESS), "title": (Field.TITLE,), "url": (Field.ADDRESS,)}
_FORMS: dict[str, dict[str, float]] = {
    "": WEIGHTS,
    "title": {stems(Field.TITLE): 1.0, Field.TITLE: 0.2},
    "url": {Field.ADDRESS: 0.2},
}
_ENOUGH: dict[str, tuple[str, ...]] = {
    "": (WHOLE, stems(Field.ANCHORS), stems(Field.REST), Field.ADDRESS),
    "title": (stems(Field.TITLE),),
    "url": (Field.ADDRESS,),
}
"""The fields that are needed to find every document."""
_TYPED = frozenset({Field.MAIN, Field.TITLE, Field.HEADINGS, Field.ADDRESS})
"""Fields that have words as they are written, and no stems."""


class Forms(NamedTuple):
    """What a word may be in an index."""

    typed: str
    stems: Sequence[str]


class Wording:
    """Makes queries for words, for an index as it is at a moment."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._searcher = searcher

    def scored(self, words: Words) -> Query:
        """Return a query for words wherever they stand."""
        parts = exact().analyze(words.text)
        if not parts:
            # It is longer than any word of an index.
            return Query.empty_query()
        if forms := _forms(words, parts):
            found = [(weight, self._best(field, forms)) for field, weight in _FORMS[words.field].items()]
        else:
            weights = AS_WRITTEN if words.is_phrase or len(parts) > 1 else COMMONEST
            found = [(weights[field], self._together(field, parts)) for field in _EXACT[words.field]]
        return any_of([Query.boost_query(query, weight) for weight, query in found if query is not None])

    def matched(self, words: Words) -> Query:
        """Return a query for the same words, which need not tell one place from another."""
        parts = exact().analyze(words.text)
        if not parts:
            return Query.empty_query()
        if forms := _forms(words, parts):
            return any_of([self.term(field, form) for field in _ENOUGH[words.field] for form in _of(field, forms)])
        return any_of([self._together(field, parts) for field in _EXACT[words.field]])

    def side_by_side(self, asked: Asked) -> Query | None:
        """Return a query for the words of a question as they stand in it, if it is nothing but words."""
        wanted = [group[0] for group in asked.wanted if len(group) == 1]
        if len(wanted) < len(asked.wanted) or any(words.is_phrase or words.field for words in wanted):
            return None
        parts = exact().analyze(" ".join(words.text for words in wanted))
        if not 1 < len(parts) <= MOST_SIDE_BY_SIDE:
            return None
        # Whoever has the rarest of the words is looked at.
        if min(self._searcher.doc_freq(Field.MAIN, part) for part in parts) > MOST_LOOKED_AT:
            return None
        return Query.boost_query(Query.phrase_query(self._schema, Field.MAIN, list(parts)), SIDE_BY_SIDE)

    def term(self, field: str, value: str | int) -> Query:
        """Return a query for a value of a field."""
        return Query.term_query(self._schema, field, value, "freq")

    def _best(self, field: str, forms: Forms) -> Query | None:
        """Return a query for the form that a document has most of; nothing if no document has any.

        Forms that few documents have, as those of another language, would else count more than the word itself.
        """
        if field in _TYPED:
            return self.term(field, forms.typed)
        known = known_forms(self._searcher, field, forms.stems)
        if len(known) < 2:
            return self.term(field, next(iter(known))) if known else None
        rare = rarity(self._searcher, together(self._searcher, known))
        return either(
            [
                Query.boost_query(self.term(field, form), rare / rarity(self._searcher, number))
                for form, number in known.items()
            ]
        )

    def _together(self, field: str, parts: list[str]) -> Query:
        if len(parts) == 1:
            return self.term(field, parts[0])
        return Query.boost_query(Query.phrase_query(self._schema, field, list(parts)), IN_PHRASE)


def _forms(words: Words, parts: list[str]) -> Forms | None:
    """Return the forms in which a word is sought; none of a phrase and of the commonest, which are as written."""
    stems = stems_of(words.text) if len(parts) == 1 and not words.is_phrase else ()
    return Forms(parts[0], stems) if stems else None


def _of(field: str, forms: Forms) -> Sequence[str]:
    return (forms.typed,) if field in _TYPED else forms.stems


def either(queries: list[Query]) -> Query:
    """Return a query for what finds it best."""
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def any_of(queries: list[Query]) -> Query:
    """Return a query for whatever finds it, each adding to the score."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])
