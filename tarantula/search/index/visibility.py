"""The one place where searches leave out withheld URLs.

An index has their texts, so that an embargo ends by itself. What is shown of an index is read through a
`VisibleSearcher`: hits, counts, facets, completions and spelling suggestions. The weights of words are those of the
whole index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tantivy import Occur, Query, Schema, Searcher, SearchResult

from tarantula.search.index.schema import IndexField
from tarantula.store.withholding import spellings


class VisibleSearcher:
    """Searches an index as if it did not have some URLs, in any of their spellings."""

    def __init__(self, whole: Searcher, schema: Schema, withheld: Sequence[str]) -> None:
        self.whole = whole
        """The same index with the withheld URLs; not for results."""
        self.schema = schema
        # Most spellings are in no index, and each makes a query slower.
        listed = (spelling for url in withheld for spelling in spellings(url))
        hidden = [url for url in listed if whole.doc_freq(IndexField.URL, url)]
        self._hidden = Query.term_set_query(schema, IndexField.URL, hidden) if hidden else None

    def search(self, query: Query, **options: Any) -> SearchResult:
        """Search as `tantivy.Searcher.search` does."""
        return self.whole.search(self._visible(query), **options)

    def aggregate(self, query: Query, aggregations: dict[str, Any]) -> dict[str, Any]:
        """Count as `tantivy.Searcher.aggregate` does."""
        return self.whole.aggregate(self._visible(query), aggregations)

    def has_word(self, field: str, word: str) -> bool:
        """Whether a word of the index is in a document that is shown."""
        if self._hidden is None:
            return True
        return bool(self.search(Query.term_query(self.schema, field, word), limit=1, count=False).hits)

    def _visible(self, query: Query) -> Query:
        if self._hidden is None:
            return query
        return Query.boolean_query([(Occur.Must, query), (Occur.MustNot, self._hidden)])
