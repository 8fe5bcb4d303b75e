"""From what was understood to what the index is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from tantivy import FieldType, Occur, Query, Schema

from tarantula.search.entry import milliseconds
from tarantula.search.query import Asked, Words
from tarantula.search.schema import STEMMED, TEXTS, WHOLE, Field, stems
from tarantula.search.words import exact, stems_of
from tarantula.urls import key_of

WEIGHTS: dict[str, float] = {
    WHOLE: 1.0,
    stems(Field.TITLE): 0.3,
    stems(Field.HEADINGS): 0.2,
    stems(Field.ANCHORS): 0.5,
    stems(Field.REST): 0.2,
    Field.TITLE: 0.1,
    Field.MAIN: 0.2,
    Field.ANCHORS: 0.1,
    Field.HEADINGS: 0.1,
    Field.DESCRIPTION: 0.1,
    Field.REST: 0.1,
    Field.ADDRESS: 0.2,
}
"""What a word counts for, by where it stands: its stem, and in addition the word as it was typed."""
IN_PHRASE = 5.0
"""How many times as much words count that stand together as they were typed."""
_FILTERS = {"site": Field.SITE, "type": Field.TYPE, "lang": Field.LANGUAGE, "publication": Field.PUBLICATION}
_TYPES = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain", "txt": "text/plain"}
_FIELDS = {"": (*TEXTS, Field.ADDRESS), "title": (Field.TITLE,), "url": (Field.ADDRESS,)}
_STEMS = {"": (WHOLE, *map(stems, STEMMED)), "title": (stems(Field.TITLE),), "url": ()}


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
        parts = [*self._words(asked, needed), *self._filters(asked)]
        if not any(occur == Occur.Must for occur, _ in parts):
            parts.append((Occur.Must, _unscored(Query.all_query())))
        return Query.boolean_query(parts)

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
        for name, values in asked.values.items():
            yield Occur.Must, _unscored(self._among(name, values))
        for name, values in asked.without.items():
            yield Occur.MustNot, self._among(name, values)
        for url in asked.links_to:
            yield Occur.Must, _unscored(self._term(Field.LEADS_TO, key_of(url).hex()))
        if asked.wants_the_past:
            yield Occur.Must, _unscored(self._time(asked))
        else:
            # Hardly any document is not, so leaving those out costs less than asking each.
            yield Occur.MustNot, self._term(Field.LATEST, 0)

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
        found: list[tuple[str, Query]] = [(field, self._together(field, parts)) for field in _FIELDS[words.field]]
        if len(parts) == 1 and not words.is_phrase:
            forms = stems_of(words.text)
            found += [(field, self._any_form(field, forms)) for field in _STEMS[words.field] if forms]
        return Query.boolean_query([(Occur.Should, Query.boost_query(query, WEIGHTS[field])) for field, query in found])

    def _together(self, field: str, parts: list[str]) -> Query:
        if len(parts) == 1:
            return self._term(field, parts[0])
        return Query.boost_query(Query.phrase_query(self._schema, field, list(parts)), IN_PHRASE)

    def _any_form(self, field: str, forms: list[str]) -> Query:
        return Query.disjunction_max_query([self._term(field, form) for form in forms])

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

    def _term(self, field: str, value: str | int) -> Query:
        return Query.term_query(self._schema, field, value, "freq")


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
