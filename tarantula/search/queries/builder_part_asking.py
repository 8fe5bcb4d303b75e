"""From what was understood to what the index is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from tantivy import FieldType, Occur, Query, Schema, Searcher

from tarantula.core.urls import key_of
from tarantula.search.index.schema import to_milliseconds
from tarantula.search.index.schema_part_schema import IndexField
from tarantula.search.queries.builder import WordQueryBuilder, best_of, sum_of
from tarantula.search.queries.parser import ParsedQuery, QueryWords

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
    """Makes queries for an index as it is at a moment."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._wording = WordQueryBuilder(schema, searcher)

    def query(self, asked: ParsedQuery, needed: MatchMode = MatchMode.ALL) -> Query:
        """Return a query that finds what is asked for, and tells by its scores how well."""
        parts = self._made(asked, needed, self._wording.scored)
        if together := self._wording.side_by_side(asked):
            parts.append((Occur.Should, together))
        return Query.boolean_query(parts)

    def matching(self, asked: ParsedQuery, needed: MatchMode = MatchMode.ALL) -> Query:
        """Return a query that finds the same, with less to do, and does not tell how well."""
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
            # Hardly any document is not, so leaving those out costs less than asking each.
            yield Occur.MustNot, self._wording.term(IndexField.LATEST, 0)

    def _among(self, name: str, values: Sequence[str]) -> Query:
        if name == "type":
            values = [_TYPES.get(value, value) for value in values]
        # Hardly anybody names more than one: a set of them is made anew for every question.
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
