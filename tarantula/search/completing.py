"""How what somebody types may go on: words of titles and texts, and whole titles."""

from __future__ import annotations

from tantivy import Occur, Query, Searcher

from tarantula.search.index import Index
from tarantula.search.schema import Field
from tarantula.search.words import exact

MOST = 8
"""Completions."""
MOST_TITLES = 3
LONGEST_TITLE = 100
"""Letters of a title that is offered."""
LONGEST = 200
"""Letters after which nobody wants to be helped."""
SHORTEST = {Field.TITLE: 2, Field.MAIN: 3}
"""Letters of a word before it is completed, by where it is looked up."""


def complete(index: Index, prefix: str) -> list[str]:
    """Return how a query may go on, the likeliest first; nothing while there is too little to go by."""
    head, begun = _split(prefix)
    words = exact().analyze(begun)
    if len(prefix) > LONGEST or len(words) != 1:
        return []
    searcher = index.searcher()
    found = _words(searcher, words[0])
    titles = _titles(index, searcher, exact().analyze(head.rpartition(" ")[0]), found)
    completed = [head + word for word in found]
    return list(dict.fromkeys([*completed[: MOST - len(titles)], *titles]))[:MOST]


def _split(prefix: str) -> tuple[str, str]:
    """Part the word that is being typed from what stands before it: other words, a minus, a filter, a quote."""
    at = len(prefix)
    while at and prefix[at - 1].isalnum():
        at -= 1
    return prefix[:at], prefix[at:]


def _words(searcher: Searcher, begun: str) -> list[str]:
    """Return the commonest words that begin so, those of titles first."""
    found: dict[str, None] = {}
    for field, shortest in SHORTEST.items():
        if len(begun) >= shortest and len(found) < MOST:
            found |= dict.fromkeys(word for word, _ in searcher.terms_with_prefix(field, begun, limit=MOST))
    return list(found)[:MOST]


def _titles(index: Index, searcher: Searcher, before: list[str], completed: list[str]) -> list[str]:
    """Return titles that have all words that were typed, and one of those that the last may become."""
    if not completed:
        return []
    wanted = [index.term(Field.TITLE, word) for word in before] + [index.terms(Field.TITLE, completed)]
    query = Query.boolean_query([(Occur.Must, one) for one in (*wanted, index.term(Field.LATEST, 1))])
    hits = searcher.search(query, limit=4 * MOST_TITLES, count=False, order_by_field=Field.INLINKS).hits
    titles = (" ".join(str(searcher.doc(address).get_first(Field.TITLE)).split()) for _, address in hits)
    return list(dict.fromkeys(title for title in titles if len(title) <= LONGEST_TITLE))[:MOST_TITLES]
