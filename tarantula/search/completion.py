"""Completions of a partly typed query: words of titles and texts, and whole titles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tantivy import Occur, Query

from tarantula.search.finder import IndexSource
from tarantula.search.index.schema import IndexField, VisibleSearcher
from tarantula.search.queries.spelling import accented_form
from tarantula.search.results import Completions
from tarantula.search.texts.words import exact_analyzer

MOST_COMPLETIONS = 8
"""Most completions returned."""
MOST_CANDIDATES = 4 * MOST_COMPLETIONS
"""Most words that are looked at; those of withheld documents alone are left out."""
MOST_TITLES = 3
LONGEST_TITLE = 100
"""Longest title offered, in characters."""
LONGEST_PREFIX = 200
"""Longest query that is completed, in characters."""
SHORTEST_PREFIX = {IndexField.TITLE: 2, IndexField.MAIN: 3}
"""Shortest word that is completed, in characters, by field of the lookup."""


def complete_query(source: IndexSource, prefix: str, withheld: Sequence[str] = ()) -> Completions:
    """Return completions of a query, the most likely first; none if the last word is too short.

    Words and titles of documents with a URL in *withheld* are no completions.
    """
    whole, place = source.snapshot()
    searcher = VisibleSearcher(whole, source.schema, withheld)
    head, prefix_word = _split(prefix)
    typed = exact_analyzer().analyze(prefix_word)
    if len(prefix) > LONGEST_PREFIX or len(typed) != 1:
        return Completions(place=place)
    words = _words(searcher, typed[0])
    titles = _titles(searcher, exact_analyzer().analyze(head.rpartition(" ")[0]), words)
    completed = [head + accented_form(searcher, word) for word in words]
    both = dict.fromkeys([*completed[: MOST_COMPLETIONS - len(titles)], *titles])
    return Completions(completions=list(both)[:MOST_COMPLETIONS], place=place)


def _split(prefix: str) -> tuple[str, str]:
    """Split a query into the word being typed and the text before it."""
    at = len(prefix)
    while at and prefix[at - 1].isalnum():
        at -= 1
    return prefix[:at], prefix[at:]


def _words(searcher: VisibleSearcher, prefix_word: str) -> list[str]:
    """Return the most frequent words with this prefix, those of titles first."""
    words: dict[str, None] = {}
    for field, shortest in SHORTEST_PREFIX.items():
        if len(prefix_word) >= shortest and len(words) < MOST_COMPLETIONS:
            found = searcher.whole.terms_with_prefix(field, prefix_word, limit=MOST_CANDIDATES)
            shown = (word for word, _ in found if searcher.has_word(field, word))
            words |= dict.fromkeys(islice(shown, MOST_COMPLETIONS))
    return list(words)[:MOST_COMPLETIONS]


def _titles(searcher: VisibleSearcher, complete_words: list[str], completed: list[str]) -> list[str]:
    """Return titles that contain all complete words and one completion of the last."""
    if not completed:
        return []
    required = [Query.term_query(searcher.schema, IndexField.TITLE, word) for word in complete_words]
    required += [
        Query.term_set_query(searcher.schema, IndexField.TITLE, completed),
        Query.term_query(searcher.schema, IndexField.LATEST, 1),
    ]
    query = Query.boolean_query([(Occur.Must, one) for one in required])
    hits = searcher.search(query, limit=4 * MOST_TITLES, count=False, order_by_field=IndexField.INLINKS).hits
    titles = (" ".join(str(searcher.whole.doc(address).get_first(IndexField.TITLE)).split()) for _, address in hits)
    return list(dict.fromkeys(title for title in titles if len(title) <= LONGEST_TITLE))[:MOST_TITLES]
