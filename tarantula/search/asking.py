"""From what was understood to what the index is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from tantivy import FieldType, Occur, Query, Schema

from tarantula.search.entry import milliseconds
from tarantula.search.query import Asked, Words
from tarantula.search.schema import TEXTS, Field, stems
from tarantula.search.words import exact, stems_of
from tarantula.urls import key_of

WEIGHTS = {
    Field.TITLE: 3.0,
    Field.ANCHORS: 2.0,
    Field.HEADINGS: 1.5,
    Field.DESCRIPTION: 1.0,
    Field.MAIN: 1.0,
    Field.REST: 0.3,
    Field.ADDRESS: 0.5,
}
"""What a word counts for, by where it stands."""
AS_WRITTEN = 0.3
"""What it counts for in addition when it stands there as it was typed, and not only by its stem."""
_FILTERS = {"site": Field.SITE, "type": Field.TYPE, "lang": Field.LANGUAGE, "publication": Field.PUBLICATION}
_TYPES = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain", "txt": "text/plain"}
_FIELDS = {"": (*TEXTS, Field.ADDRESS), "title": (Field.TITLE,), "url": (Field.ADDRESS,)}


class Needed(StrEnum):
    """How many of the words a document must have."""

    ALL = "all"
    ANY = "any"


class Asking:
    """Makes queries for an index."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def query(self, asked: Asked, needed: Needed = Needed.ALL) -> Query:
        """Return a query that finds what is asked for, and tells by its scores how well."""
        return Query.boolean_query([*self._words(asked, needed), *self._filters(asked)])

    def _words(self, asked: Asked, needed: Needed) -> Iterable[tuple[Occur, Query]]:
        groups = [self._either(group) for group in asked.wanted]
        found = [group for group in groups if group is not None]
        if needed is Needed.ANY and found:
            yield Occur.Must, Query.boolean_query([(Occur.Should, group) for group in found])
        else:
            yield from ((Occur.Must, group) for group in found)
        for words in asked.unwanted:
            unwanted = self._anywhere(words)
            if unwanted is not None:
                yield Occur.MustNot, unwanted

    def _filters(self, asked: Asked) -> Iterable[tuple[Occur, Query]]:
        yield Occur.Must, _unscored(Query.all_query())
        for name, values in asked.values.items():
            yield Occur.Must, _unscored(self._among(name, values))
        for name, values in asked.without.items():
            yield Occur.MustNot, self._among(name, values)
        for url in asked.links_to:
            yield Occur.Must, _unscored(self._term(Field.LEADS_TO, key_of(url).hex()))
        if asked.wants_the_past:
            yield Occur.Must, _unscored(self._time(asked))
        else:
            yield Occur.Must, _unscored(self._term(Field.LATEST, 1))

    def _either(self, alternatives: Sequence[Words]) -> Query | None:
        queries = [query for words in alternatives if (query := self._anywhere(words)) is not None]
        if len(queries) < 2:
            return queries[0] if queries else None
        return Query.disjunction_max_query(queries)

    def _anywhere(self, words: Words) -> Query | None:
        """Return a query for words wherever they stand; nothing if there is no letter in them."""
        parts = exact().analyze(words.text)
        if not parts:
            return None
        queries = [
            Query.boost_query(query, WEIGHTS[field])
            for field in _FIELDS[words.field]
            for query in self._in_field(field, parts, words)
        ]
        return Query.boolean_query([(Occur.Should, query) for query in queries])

    def _in_field(self, field: Field, parts: list[str], words: Words) -> Iterable[Query]:
        if len(parts) > 1:
            yield Query.phrase_query(self._schema, field, list(parts))
            return
        as_written = Query.term_query(self._schema, field, parts[0])
        if words.is_phrase or field is Field.ADDRESS:
            yield as_written
            return
        yield Query.boost_query(as_written, AS_WRITTEN)
        forms = [Query.term_query(self._schema, stems(field), form) for form in stems_of(words.text)]
        yield Query.disjunction_max_query(forms)

    def _among(self, name: str, values: Sequence[str]) -> Query:
        if name == "type":
            values = [_TYPES.get(value, value) for value in values]
        return Query.term_set_query(self._schema, _FILTERS[name], list(values))

    def _time(self, asked: Asked) -> Query:
        return Query.range_query(
            self._schema,
            Field.COLLECTED,
            FieldType.Unsigned,
            milliseconds(asked.since) if asked.since else None,
            milliseconds(asked.until) if asked.until else None,
            include_upper=asked.until is None,
        )

    def _term(self, field: Field, value: str | int) -> Query:
        return Query.term_query(self._schema, field, value, "basic")


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
