"""Translation of parsed queries into index queries, with the weight of each field.

A word is as rare as all its forms together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from math import log
from typing import NamedTuple

from tantivy import FieldType, Occur, Query, Schema, Searcher

from tarantula.core.urls import key_of
from tarantula.search.index.schema import TEXT_FIELDS, WHOLE_STEMS_FIELD, IndexField, stems_field, to_milliseconds
from tarantula.search.queries.parser import ParsedQuery, QueryWords
from tarantula.search.texts.words import exact_analyzer, stems_of_word


def form_frequencies(searcher: Searcher, field: str, forms: Iterable[str]) -> dict[str, int]:
    """Return the number of documents with each form of a word, without forms in no document."""
    return {form: number for form in forms if (number := searcher.doc_freq(field, form))}


def word_frequency(searcher: Searcher, known: dict[str, int]) -> int:
    """Return the approximate number of documents with a word in any form; several forms in one document count twice."""
    return min(sum(known.values()), searcher.num_docs)


def bm25_idf(searcher: Searcher, number: int) -> float:
    """Return the inverse document frequency of BM25."""
    # Removed documents are counted until segments are merged, so this could be negative.
    missing = max(searcher.num_docs - number, 0)
    return log(1.0 + (missing + 0.5) / (number + 0.5))


FIELD_WEIGHTS: dict[str, float] = {
    WHOLE_STEMS_FIELD: 1.0,
    IndexField.MAIN: 0.1,
    IndexField.TITLE: 0.2,
    IndexField.HEADINGS: 0.2,
    stems_field(IndexField.ANCHORS): 0.6,
    stems_field(IndexField.REST): 0.3,
    IndexField.ADDRESS: 0.2,
}
"""Weights of a word by field, for its stems or for the word as typed."""
PHRASE_WEIGHTS: dict[str, float] = {
    IndexField.TITLE: 0.1,
    IndexField.MAIN: 0.2,
    IndexField.ANCHORS: 0.1,
    IndexField.HEADINGS: 0.1,
    IndexField.DESCRIPTION: 0.1,
    IndexField.REST: 0.1,
    IndexField.ADDRESS: 0.2,
}
"""Weights of a phrase by field."""
STOPWORD_WEIGHTS = PHRASE_WEIGHTS | {IndexField.MAIN: 0.05}
"""Weights of a stop word by field; it may be part of a name, but says nothing in a long text."""
PHRASE_FACTOR = 5.0
"""Factor for words that stand together as typed."""
ADJACENCY_WEIGHT = 1.0
"""Weight of all query words standing together in the main text, without quotes in the query."""
MOST_ADJACENT_WORDS = 8
"""Most words for which adjacency counts; longer queries are sentences, which no other text repeats."""
MOST_ADJACENCY_DOCUMENTS = 2_000
"""Most documents with the rarest word for which adjacency is checked; more would take too long."""

_EXACT: dict[str, tuple[str, ...]] = {
    "": (*TEXT_FIELDS, IndexField.ADDRESS),
    "title": (IndexField.TITLE,),
    "url": (IndexField.ADDRESS,),
}
_FORMS: dict[str, dict[str, float]] = {
    "": FIELD_WEIGHTS,
    "title": {stems_field(IndexField.TITLE): 1.0, IndexField.TITLE: 0.2},
    "url": {IndexField.ADDRESS: 0.2},
}
_ENOUGH: dict[str, tuple[str, ...]] = {
    "": (WHOLE_STEMS_FIELD, stems_field(IndexField.ANCHORS), stems_field(IndexField.REST), IndexField.ADDRESS),
    "title": (stems_field(IndexField.TITLE),),
    "url": (IndexField.ADDRESS,),
}
"""Fields that are sufficient to find every matching document."""
_TYPED = frozenset({IndexField.MAIN, IndexField.TITLE, IndexField.HEADINGS, IndexField.ADDRESS})
"""Fields with words as written, not stems."""


class WordForms(NamedTuple):
    """Forms of a word in an index."""

    typed: str
    stems: Sequence[str]


class WordQueryBuilder:
    """Builds index queries for words, for one snapshot of an index."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._searcher = searcher

    def scored(self, words: QueryWords) -> Query:
        """Return a scored query for words in all fields."""
        parts = exact_analyzer().analyze(words.text)
        if not parts:
            # Longer than any word of an index.
            return Query.empty_query()
        if forms := _forms(words, parts):
            found = [(weight, self._best(field, forms)) for field, weight in _FORMS[words.field].items()]
        else:
            weights = PHRASE_WEIGHTS if words.is_phrase or len(parts) > 1 else STOPWORD_WEIGHTS
            found = [(weights[field], self._together(field, parts)) for field in _EXACT[words.field]]
        return sum_of([Query.boost_query(query, weight) for weight, query in found if query is not None])

    def matched(self, words: QueryWords) -> Query:
        """Return an unscored query with the same matches."""
        parts = exact_analyzer().analyze(words.text)
        if not parts:
            return Query.empty_query()
        if forms := _forms(words, parts):
            return sum_of([self.term(field, form) for field in _ENOUGH[words.field] for form in _of(field, forms)])
        return sum_of([self._together(field, parts) for field in _EXACT[words.field]])

    def side_by_side(self, asked: ParsedQuery) -> Query | None:
        """Return a query for all words together in the main text, if the query has only plain words."""
        wanted = [group[0] for group in asked.wanted if len(group) == 1]
        if len(wanted) < len(asked.wanted) or any(words.is_phrase or words.field for words in wanted):
            return None
        parts = exact_analyzer().analyze(" ".join(words.text for words in wanted))
        if not 1 < len(parts) <= MOST_ADJACENT_WORDS:
            return None
        # The documents with the rarest word are checked.
        if min(self._searcher.doc_freq(IndexField.MAIN, part) for part in parts) > MOST_ADJACENCY_DOCUMENTS:
            return None
        return Query.boost_query(Query.phrase_query(self._schema, IndexField.MAIN, list(parts)), ADJACENCY_WEIGHT)

    def term(self, field: str, value: str | int) -> Query:
        """Return a query for a field value."""
        return Query.term_query(self._schema, field, value, "freq")

    def _best(self, field: str, forms: WordForms) -> Query | None:
        """Return a query for the best matching form of a word; None if no document has any.

        Forms share one rarity; otherwise a form that few documents have, as of another language, would outweigh the
        word itself.
        """
        if field in _TYPED:
            return self.term(field, forms.typed)
        known = form_frequencies(self._searcher, field, forms.stems)
        if len(known) < 2:
            return self.term(field, next(iter(known))) if known else None
        rare = bm25_idf(self._searcher, word_frequency(self._searcher, known))
        return best_of(
            [
                Query.boost_query(self.term(field, form), rare / bm25_idf(self._searcher, number))
                for form, number in known.items()
            ]
        )

    def _together(self, field: str, parts: list[str]) -> Query:
        if len(parts) == 1:
            return self.term(field, parts[0])
        return Query.boost_query(Query.phrase_query(self._schema, field, list(parts)), PHRASE_FACTOR)


def _forms(words: QueryWords, parts: list[str]) -> WordForms | None:
    """Return the forms of a word; None for phrases and stop words, which are searched as written."""
    stems = stems_of_word(words.text) if len(parts) == 1 and not words.is_phrase else ()
    return WordForms(parts[0], stems) if stems else None


def _of(field: str, forms: WordForms) -> Sequence[str]:
    return (forms.typed,) if field in _TYPED else forms.stems


def best_of(queries: list[Query]) -> Query:
    """Return a query with the score of the best match."""
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def sum_of(queries: list[Query]) -> Query:
    """Return a query that adds the scores of all matches."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])


_FILTERS = {
    "site": IndexField.SITE,
    "type": IndexField.TYPE,
    "lang": IndexField.LANGUAGE,
    "publication": IndexField.PUBLICATION,
}
_TYPES = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain", "txt": "text/plain"}
WordQueryFunction = Callable[[QueryWords], Query]


class MatchMode(StrEnum):
    """How many of the words a document must have."""

    ALL = "all"
    ANY = "any"


class QueryBuilder:
    """Builds index queries from parsed queries, for one snapshot of an index."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._wording = WordQueryBuilder(schema, searcher)

    def query(self, asked: ParsedQuery, needed: MatchMode = MatchMode.ALL) -> Query:
        """Return a scored query."""
        parts = self._made(asked, needed, self._wording.scored)
        if together := self._wording.side_by_side(asked):
            parts.append((Occur.Should, together))
        return Query.boolean_query(parts)

    def matching(self, asked: ParsedQuery, needed: MatchMode = MatchMode.ALL) -> Query:
        """Return an unscored query with the same matches, which is faster."""
        return Query.boolean_query(self._made(asked, needed, self._wording.matched))

    def _made(self, asked: ParsedQuery, needed: MatchMode, find: WordQueryFunction) -> list[tuple[Occur, Query]]:
        parts = [*self._words(asked, needed, find), *self._filters(asked)]
        if not any(occur == Occur.Must for occur, _ in parts):
            parts.append((Occur.Must, _unscored(Query.all_query())))
        return parts

    def _words(self, asked: ParsedQuery, needed: MatchMode, find: WordQueryFunction) -> Iterator[tuple[Occur, Query]]:
        found = [best_of(list(map(find, group))) for group in asked.wanted]
        if needed is MatchMode.ANY and found:
            yield Occur.Must, sum_of(found)
        else:
            yield from ((Occur.Must, group) for group in found)
        yield from ((Occur.MustNot, self._wording.matched(words)) for words in asked.unwanted)

    def _filters(self, asked: ParsedQuery) -> Iterator[tuple[Occur, Query]]:
        for name, values in asked.values.items():
            yield Occur.Must, _unscored(self._among(name, values))
        for name, values in asked.without.items():
            yield Occur.MustNot, self._among(name, values)
        for url in asked.links_to:
            yield Occur.Must, _unscored(self._wording.term(IndexField.LEADS_TO, key_of(url).hex()))
        if asked.wants_the_past:
            yield Occur.Must, _unscored(self._time(asked))
        else:
            # Few documents are not the latest, so excluding them is faster than requiring the flag.
            yield Occur.MustNot, self._wording.term(IndexField.LATEST, 0)

    def _among(self, name: str, values: Sequence[str]) -> Query:
        if name == "type":
            values = [_TYPES.get(value, value) for value in values]
        # Usually there is one value; a term set query would be slower.
        terms = [self._wording.term(_FILTERS[name], value) for value in dict.fromkeys(values)]
        return terms[0] if len(terms) == 1 else sum_of(terms)

    def _time(self, asked: ParsedQuery) -> Query:
        return Query.range_query(
            self._schema,
            IndexField.COLLECTED,
            FieldType.Unsigned,
            to_milliseconds(asked.since) if asked.since else None,
            to_milliseconds(asked.until) if asked.until else None,
            include_upper=asked.until is None,
        )


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
