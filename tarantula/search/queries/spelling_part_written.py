"""Words of an index as documents write them: the index has them without accents."""

from __future__ import annotations

from tantivy import Query, Schema, Searcher

from tarantula.search.index.schema_part_schema import Field
from tarantula.search.texts.words import ACCENTED, exact

LOOKED_AT = 20_000
"""Letters of a text in which a word is looked for."""


def as_written(schema: Schema, searcher: Searcher, word: str) -> str:
    """Return a word with the accents that the document has that answers best to it."""
    for field in (Field.TITLE, Field.MAIN):
        query = Query.term_query(schema, field, word)
        for _, address in searcher.search(query, limit=1, count=False).hits:
            text = str(searcher.doc(address).get_first(field))[:LOOKED_AT]
            likely = (found for found in ACCENTED.findall(text) if len(found) == len(word))
            return next((found.lower() for found in likely if exact().analyze(found) == [word]), word)
    return word
