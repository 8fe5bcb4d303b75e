"""Words of an index as documents write them: the index has them without accents."""

from __future__ import annotations

from tantivy import Query, Schema, Searcher

from tarantula.search.index.schema_part_schema import IndexField
from tarantula.search.texts.words import ACCENTED_WORD, exact_analyzer

SEARCHED_LENGTH = 20_000
"""Letters of a text in which a word is looked for."""


def accented_form(schema: Schema, searcher: Searcher, word: str) -> str:
    """Return a word with the accents that the document has that answers best to it."""
    for field in (IndexField.TITLE, IndexField.MAIN):
        query = Query.term_query(schema, field, word)
        for _, address in searcher.search(query, limit=1, count=False).hits:
            text = str(searcher.doc(address).get_first(field))[:SEARCHED_LENGTH]
            likely = (found for found in ACCENTED_WORD.findall(text) if len(found) == len(word))
            return next((found.lower() for found in likely if exact_analyzer().analyze(found) == [word]), word)
    return word
