"""How what somebody types may go on: words of titles and texts, and whole titles."""

from __future__ import annotations

from tantivy import Occur, Query, Schema, Searcher

from tarantula.search.finder import IndexSource
from tarantula.search.index.schema import IndexField
from tarantula.search.queries.spelling import accented_form
from tarantula.search.results import Completions
from tarantula.search.texts.words import exact_analyzer

MOST_COMPLETIONS = 8
"""Completions."""
MOST_TITLES = 3
LONGEST_TITLE = 100
"""Letters of a title that is offered."""
LONGEST_PREFIX = 200
"""Letters after which nobody wants to be helped."""
SHORTEST_PREFIX = {IndexField.TITLE: 2, IndexField.MAIN: 3}
"""Letters of a word before it is completed, by where it is looked up."""


def complete_query(source: IndexSource, prefix: str) -> Completions:
    """Return how a query may go on, the likeliest first; nothing while there is too little to go by."""
    searcher, place = source.seen()
    head, begun = _split(prefix)
    words = exact_analyzer().analyze(begun)
    if len(prefix) > LONGEST_PREFIX or len(words) != 1:
        return Completions(place=place)
    found = _words(searcher, words[0])
    titles = _titles(source.schema, searcher, exact_analyzer().analyze(head.rpartition(" ")[0]), found)
    completed = [head + accented_form(source.schema, searcher, word) for word in found]
    both = dict.fromkeys([*completed[: MOST_COMPLETIONS - len(titles)], *titles])
    return Completions(completions=list(both)[:MOST_COMPLETIONS], place=place)


def _split(prefix: str) -> tuple[str, str]:
    """Part the word that is being typed from what stands before it: other words, a minus, a filter, a quote."""
    at = len(prefix)
    while at and prefix[at - 1].isalnum():
        at -= 1
    return prefix[:at], prefix[at:]


def _words(searcher: Searcher, begun: str) -> list[str]:
    """Return the commonest words that begin so, those of titles first."""
    found: dict[str, None] = {}
    for field, shortest in SHORTEST_PREFIX.items():
        if len(begun) >= shortest and len(found) < MOST_COMPLETIONS:
            found |= dict.fromkeys(word for word, _ in searcher.terms_with_prefix(field, begun, limit=MOST_COMPLETIONS))
    return list(found)[:MOST_COMPLETIONS]


def _titles(schema: Schema, searcher: Searcher, before: list[str], completed: list[str]) -> list[str]:
    """Return titles that have all words that were typed, and one of those that the last may become."""
    if not completed:
        return []
    wanted = [Query.term_query(schema, IndexField.TITLE, word) for word in before]
    wanted += [
        Query.term_set_query(schema, IndexField.TITLE, completed),
        Query.term_query(schema, IndexField.LATEST, 1),
    ]
    query = Query.boolean_query([(Occur.Must, one) for one in wanted])
    hits = searcher.search(query, limit=4 * MOST_TITLES, count=False, order_by_field=IndexField.INLINKS).hits
    titles = (" ".join(str(searcher.doc(address).get_first(IndexField.TITLE)).split()) for _, address in hits)
    return list(dict.fromkeys(title for title in titles if len(title) <= LONGEST_TITLE))[:MOST_TITLES]
