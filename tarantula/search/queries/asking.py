"""From what was understood to what the index is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from tantivy import FieldType, Occur, Query, Schema

from tarantula.search.indexes.entry import milliseconds
from tarantula.search.indexes.schema import TEXTS, WHOLE, Field, stems
from tarantula.search.queries.query import Asked, Words
from tarantula.search.texts.words import exact, stems_of
from tarantula.urls import key_of

WEIGHTS: dict[str, float] = {
    WHOLE: 1.0,
    stems(Field.TITLE): 0.3,
    Field.TITLE: 0.1,
    stems(Field.HEADINGS): 0.3,
    stems(Field.ANCHORS): 0.6,
    stems(Field.REST): 0.3,
    Field.ADDRESS: 0.2,
}
"""What a word counts for, by where it stands: its stem, and in addition the word as it was typed."""
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

_FILTERS = {"site": Field.SITE, "type": Field.TYPE, "lang": Field.LANGUAGE, "publication": Field.PUBLICATION}
_TYPES = {"html": "text/html", "pdf": "application/pdf", "text": "text/plain", "txt": "text/plain"}
_EXACT: dict[str, tuple[str, ...]] = {"": (*TEXTS, Field.ADDRESS), "title": (Field.TITLE,), "url": (Field.ADDRESS,)}
_FORMS: dict[str, tuple[str, ...]] = {
    "": tuple(WEIGHTS),
    "title": (stems(Field.TITLE), Field.TITLE),
    "url": (Field.ADDRESS,),
}
_ENOUGH: dict[str, tuple[str, ...]] = {
    "": (WHOLE, stems(Field.ANCHORS), stems(Field.REST), Field.ADDRESS),
    "title": (stems(Field.TITLE),),
    "url": (Field.ADDRESS,),
}
"""Of these fields, those that are needed to find every document."""

_TYPED = frozenset({Field.TITLE, Field.ADDRESS})
"""Fields that have words as they are written, and no stems."""

Find = Callable[[Words], Query | None]


class Forms(NamedTuple):
    """What a word may be in an index."""

    typed: str
    stems: Sequence[str]


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
        return self._made(asked, needed, self._scored)

    def matching(self, asked: Asked, needed: Needed = Needed.ALL) -> Query:
        """Return a query that finds the same, with less to do, and does not tell how well."""
        return self._made(asked, needed, self._matched)

    def _made(self, asked: Asked, needed: Needed, find: Find) -> Query:
        parts = [*self._words(asked, needed, find), *self._filters(asked)]
        if not any(occur == Occur.Must for occur, _ in parts):
            parts.append((Occur.Must, _unscored(Query.all_query())))
        return Query.boolean_query(parts)

    def _words(self, asked: Asked, needed: Needed, find: Find) -> Iterator[tuple[Occur, Query]]:
        groups = [list(filter(None, map(find, group))) for group in asked.wanted]
        found = [_either(group) for group in groups if group]
        if needed is Needed.ANY and found:
            yield Occur.Must, _any_of(found)
        else:
            yield from ((Occur.Must, group) for group in found)
        yield from ((Occur.MustNot, query) for query in map(self._matched, asked.unwanted) if query is not None)

    def _filters(self, asked: Asked) -> Iterator[tuple[Occur, Query]]:
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

    def _scored(self, words: Words) -> Query | None:
        """Return a query for words wherever they stand; nothing if there is no letter in them."""
        parts = exact().analyze(words.text)
        if not parts:
            return None
        if forms := _forms(words, parts):
            found = [(WEIGHTS[field], self._best(field, forms)) for field in _FORMS[words.field]]
        else:
            weights = AS_WRITTEN if words.is_phrase or len(parts) > 1 else COMMONEST
            found = [(weights[field], self._together(field, parts)) for field in _EXACT[words.field]]
        return _any_of([Query.boost_query(query, weight) for weight, query in found])

    def _matched(self, words: Words) -> Query | None:
        """Return a query for the same words, which need not tell one place from another."""
        parts = exact().analyze(words.text)
        if not parts:
            return None
        if forms := _forms(words, parts):
            return _any_of([term for field in _ENOUGH[words.field] for term in self._terms(field, forms)])
        return _any_of([self._together(field, parts) for field in _EXACT[words.field]])

    def _best(self, field: str, forms: Forms) -> Query:
        return _either(self._terms(field, forms))

    def _terms(self, field: str, forms: Forms) -> list[Query]:
        """Return a query for each form of a word that a field may have."""
        return [self._term(field, form) for form in ((forms.typed,) if field in _TYPED else forms.stems)]

    def _together(self, field: str, parts: list[str]) -> Query:
        if len(parts) == 1:
            return self._term(field, parts[0])
        return Query.boost_query(Query.phrase_query(self._schema, field, list(parts)), IN_PHRASE)

    def _among(self, name: str, values: Sequence[str]) -> Query:
        if name == "type":
            values = [_TYPES.get(value, value) for value in values]
        # Hardly anybody names more than one: a set of them is made anew for every question.
        terms = [self._term(_FILTERS[name], value) for value in dict.fromkeys(values)]
        return terms[0] if len(terms) == 1 else _any_of(terms)

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


def _forms(words: Words, parts: list[str]) -> Forms | None:
    """Return the forms in which a word is sought; none of a phrase and of the commonest, which are as written."""
    stems = stems_of(words.text) if len(parts) == 1 and not words.is_phrase else ()
    return Forms(parts[0], stems) if stems else None


def _either(queries: list[Query]) -> Query:
    """Return a query for what finds it best."""
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries)


def _any_of(queries: list[Query]) -> Query:
    """Return a query for whatever finds it, each adding to the score."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)
