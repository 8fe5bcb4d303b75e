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
"""Factor for adjacent words in the order typed."""
ADJACENCY_WEIGHT = 1.0
"""Weight of all query words standing together in the main text, without quotes in the query."""
MOST_ADJACENT_WORDS = 8
"""Most words for which adjacency counts; longer queries are sentences, which no other text repeats."""
MOST_ADJACENCY_DOCUMENTS = 2_000
"""Most documents with the rarest word for which adjacency is checked; more would take too long."""
_EXACT_FIELDS: dict[str, tuple[str, ...]] = {
    "": (*TEXT_FIELDS, IndexField.ADDRESS),
    "title": (IndexField.TITLE,),
    "url": (IndexField.ADDRESS,),
}
_FORM_WEIGHTS: dict[str, dict[str, float]] = {
    "": FIELD_WEIGHTS,
    "title": {stems_field(IndexField.TITLE): 1.0, IndexField.TITLE: 0.2},
    "url": {IndexField.ADDRESS: 0.2},
}
_SUFFICIENT_FIELDS: dict[str, tuple[str, ...]] = {
    "": (WHOLE_STEMS_FIELD, stems_field(IndexField.ANCHORS), stems_field(IndexField.REST), IndexField.ADDRESS),
    "title": (stems_field(IndexField.TITLE),),
    "url": (IndexField.ADDRESS,),
}
"""Fields that are sufficient to find every matching document."""
_WRITTEN_FIELDS = frozenset({IndexField.MAIN, IndexField.TITLE, IndexField.HEADINGS, IndexField.ADDRESS})
"""Fields with words as written, not stems."""
_FILTERS = {
    "site": IndexField.SITE,
    "type": IndexField.TYPE,
    "lang": IndexField.LANGUAGE,
    "publication": IndexField.PUBLICATION,
}
_TYPES = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain", "txt": "text/plain"}
WordQueryFunction = Callable[[QueryWords], Query]


def form_frequencies(searcher: Searcher, field: str, forms: Iterable[str]) -> dict[str, int]:
    """Return the number of documents with each form of a word, without forms in no document."""
    return {form: number for form in forms if (number := searcher.doc_freq(field, form))}


def word_frequency(searcher: Searcher, frequencies: dict[str, int]) -> int:
    """Return the approximate number of documents with a word in any form; several forms in one document count twice."""
    return min(sum(frequencies.values()), searcher.num_docs)


def bm25_idf(searcher: Searcher, number: int) -> float:
    """Return the inverse document frequency of BM25."""
    # Removed documents are counted until segments are merged, so this could be negative.
    without_word = max(searcher.num_docs - number, 0)
    return log(1.0 + (without_word + 0.5) / (number + 0.5))


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
            queries = [(weight, self._best_form(field, forms)) for field, weight in _FORM_WEIGHTS[words.field].items()]
        else:
            weights = PHRASE_WEIGHTS if words.is_phrase or len(parts) > 1 else STOPWORD_WEIGHTS
            queries = [(weights[field], self._phrase(field, parts)) for field in _EXACT_FIELDS[words.field]]
        return sum_of([Query.boost_query(query, weight) for weight, query in queries if query is not None])

    def matched(self, words: QueryWords) -> Query:
        """Return an unscored query with the same matches."""
        parts = exact_analyzer().analyze(words.text)
        if not parts:
            return Query.empty_query()
        if forms := _forms(words, parts):
            return sum_of(
                [
                    self.term(field, form)
                    for field in _SUFFICIENT_FIELDS[words.field]
                    for form in _forms_in(field, forms)
                ]
            )
        return sum_of([self._phrase(field, parts) for field in _EXACT_FIELDS[words.field]])

    def adjacent(self, parsed: ParsedQuery) -> Query | None:
        """Return a query for all words together in the main text, if the query has only plain words."""
        plain_words = [group[0] for group in parsed.required if len(group) == 1]
        if len(plain_words) < len(parsed.required) or any(words.is_phrase or words.field for words in plain_words):
            return None
        parts = exact_analyzer().analyze(" ".join(words.text for words in plain_words))
        if not 1 < len(parts) <= MOST_ADJACENT_WORDS:
            return None
        # The documents with the rarest word are checked.
        if min(self._searcher.doc_freq(IndexField.MAIN, part) for part in parts) > MOST_ADJACENCY_DOCUMENTS:
            return None
        return Query.boost_query(Query.phrase_query(self._schema, IndexField.MAIN, list(parts)), ADJACENCY_WEIGHT)

    def term(self, field: str, value: str | int) -> Query:
        """Return a query for a field value."""
        return Query.term_query(self._schema, field, value, "freq")

    def _best_form(self, field: str, forms: WordForms) -> Query | None:
        """Return a query for the best matching form of a word; None if no document has any.

        Forms share one rarity; otherwise a form that few documents have, as of another language, would outweigh the
        word itself.
        """
        if field in _WRITTEN_FIELDS:
            return self.term(field, forms.typed)
        frequencies = form_frequencies(self._searcher, field, forms.stems)
        if len(frequencies) < 2:
            return self.term(field, next(iter(frequencies))) if frequencies else None
        shared_idf = bm25_idf(self._searcher, word_frequency(self._searcher, frequencies))
        return best_of(
            [
                Query.boost_query(self.term(field, form), shared_idf / bm25_idf(self._searcher, number))
                for form, number in frequencies.items()
            ]
        )

    def _phrase(self, field: str, parts: list[str]) -> Query:
        if len(parts) == 1:
            return self.term(field, parts[0])
        return Query.boost_query(Query.phrase_query(self._schema, field, list(parts)), PHRASE_FACTOR)


def _forms(words: QueryWords, parts: list[str]) -> WordForms | None:
    """Return the forms of a word; None for phrases and stop words, which are searched as written."""
    stems = stems_of_word(words.text) if len(parts) == 1 and not words.is_phrase else ()
    return WordForms(parts[0], stems) if stems else None


def _forms_in(field: str, forms: WordForms) -> Sequence[str]:
    return (forms.typed,) if field in _WRITTEN_FIELDS else forms.stems


def best_of(queries: list[Query]) -> Query:
    """Return a query with the score of the best match."""
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def sum_of(queries: list[Query]) -> Query:
    """Return a query that adds the scores of all matches."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])


class MatchMode(StrEnum):
    """How many of the words a document must have."""

    ALL = "all"
    ANY = "any"


class QueryBuilder:
    """Builds index queries from parsed queries, for one snapshot of an index."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._word_queries = WordQueryBuilder(schema, searcher)

    def query(self, parsed: ParsedQuery, mode: MatchMode = MatchMode.ALL) -> Query:
        """Return a scored query."""
        parts = self._parts(parsed, mode, self._word_queries.scored)
        if together := self._word_queries.adjacent(parsed):
            parts.append((Occur.Should, together))
        return Query.boolean_query(parts)

    def matching(self, parsed: ParsedQuery, mode: MatchMode = MatchMode.ALL) -> Query:
        """Return an unscored query with the same matches, which is faster."""
        return Query.boolean_query(self._parts(parsed, mode, self._word_queries.matched))

    def _parts(self, parsed: ParsedQuery, mode: MatchMode, find: WordQueryFunction) -> list[tuple[Occur, Query]]:
        parts = [*self._words(parsed, mode, find), *self._filters(parsed)]
        if not any(occur == Occur.Must for occur, _ in parts):
            parts.append((Occur.Must, _unscored(Query.all_query())))
        return parts

    def _words(self, parsed: ParsedQuery, mode: MatchMode, find: WordQueryFunction) -> Iterator[tuple[Occur, Query]]:
        queries = [best_of(list(map(find, group))) for group in parsed.required]
        if mode is MatchMode.ANY and queries:
            yield Occur.Must, sum_of(queries)
        else:
            yield from ((Occur.Must, group) for group in queries)
        yield from ((Occur.MustNot, self._word_queries.matched(words)) for words in parsed.excluded)

    def _filters(self, parsed: ParsedQuery) -> Iterator[tuple[Occur, Query]]:
        for name, values in parsed.values.items():
            yield Occur.Must, _unscored(self._among(name, values))
        for name, values in parsed.excluded_values.items():
            yield Occur.MustNot, self._among(name, values)
        for url in parsed.links_to:
            yield Occur.Must, _unscored(self._word_queries.term(IndexField.LEADS_TO, key_of(url).hex()))
        if parsed.includes_past:
            yield Occur.Must, _unscored(self._time(parsed))
        else:
            # Few documents are not the latest, so excluding them is faster than requiring the flag.
            yield Occur.MustNot, self._word_queries.term(IndexField.LATEST, 0)

    def _among(self, name: str, values: Sequence[str]) -> Query:
        if name == "type":
            values = [_TYPES.get(value, value) for value in values]
        # Usually there is one value; a term set query would be slower.
        terms = [self._word_queries.term(_FILTERS[name], value) for value in dict.fromkeys(values)]
        return terms[0] if len(terms) == 1 else sum_of(terms)

    def _time(self, parsed: ParsedQuery) -> Query:
        return Query.range_query(
            self._schema,
            IndexField.COLLECTED,
            FieldType.Unsigned,
            to_milliseconds(parsed.since) if parsed.since else None,
            to_milliseconds(parsed.until) if parsed.until else None,
            include_upper=parsed.until is None,
        )


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
