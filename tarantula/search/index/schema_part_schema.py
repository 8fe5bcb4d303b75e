"""The fields of an index."""

from __future__ import annotations

from enum import StrEnum

from tantivy import Schema, SchemaBuilder

from tarantula.search.texts.similarity import BANDS
from tarantula.search.texts.words import EXACT, PARTED

VERSION = 5
"""Of what is below; an index of another version is built anew."""


class Field(StrEnum):
    """What is kept of a document that can be found."""

    NUMBER = "number"
    """The id of its row."""
    ITEM = "item"
    PUBLICATION = "publication"
    URN = "urn"
    URL = "url"
    ADDRESS = "address"
    """The words of its URL."""
    SERVER = "server"
    SITE = "site"
    """Its server, and every domain that this is in."""
    TYPE = "type"
    LANGUAGE = "language"
    COLLECTED = "collected"
    """When it was, in milliseconds since 1970."""
    YEAR = "year"
    PAGE = "page"
    """The same for all captures of a URL in its publication."""
    BODY = "body"
    """The same for all documents with the same bytes."""
    LATEST = "latest"
    """1 for the last capture of its URL in its publication."""
    LEADS_TO = "leads_to"
    """The keys of the URLs that it names."""
    RANK = "rank"
    INLINKS = "inlinks"
    TITLE = "title"
    HEADINGS = "headings"
    DESCRIPTION = "description"
    ANCHORS = "anchors"
    """What others call it."""
    MAIN = "main"
    REST = "rest"


TEXTS = (Field.TITLE, Field.HEADINGS, Field.DESCRIPTION, Field.ANCHORS, Field.MAIN, Field.REST)
"""Fields that are searched as they are written."""
STEMMED = (Field.TITLE, Field.HEADINGS, Field.ANCHORS, Field.REST)
"""Fields that are also searched by stems."""
WHOLE = "whole_stems"
"""The stems of all that a document says itself, but for the rest: what tells best how much of it is about a word."""
SAID = (Field.TITLE, Field.HEADINGS, Field.DESCRIPTION, Field.MAIN)
"""What that is."""
_NAMES = (Field.PUBLICATION, Field.SERVER, Field.TYPE, Field.LANGUAGE)
_NUMBERS = (Field.NUMBER, Field.ITEM, Field.COLLECTED, Field.YEAR, Field.PAGE, Field.BODY, Field.LATEST, Field.INLINKS)
LIKENESS = tuple(f"likeness_{number}" for number in range(BANDS))
"""Fields that tell which documents are nearly equal, see `search.texts.likeness`; one each, to be read quickly."""
SKETCH = "sketch"
"""The field that tells which documents are nearly equal to no other."""


def stems(field: Field) -> str:
    """Return the name of the field that has the stems of a text."""
    return f"{field}_stems"


def names() -> list[str]:
    """Return the names of all fields, in the order in which the schema has them."""
    raw = (Field.URN, Field.URL, Field.SITE, Field.LEADS_TO, Field.ADDRESS, Field.RANK)
    return [*_NUMBERS, *_NAMES, *raw, *LIKENESS, SKETCH, *TEXTS, *map(stems, STEMMED), WHOLE]


def schema() -> Schema:
    """Return the schema of an index."""
    builder = SchemaBuilder()
    for number in _NUMBERS:
        builder.add_unsigned_field(number, stored=True, indexed=True, fast=True)
    for name in _NAMES:
        builder.add_text_field(name, stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    for raw in (Field.URN, Field.URL, Field.SITE, Field.LEADS_TO):
        builder.add_text_field(raw, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(Field.ADDRESS, tokenizer_name=EXACT)
    builder.add_float_field(Field.RANK, stored=True, fast=True)
    for band in LIKENESS:
        builder.add_unsigned_field(band, stored=True, fast=True)
    builder.add_unsigned_field(SKETCH, fast=True)
    for text in TEXTS:
        builder.add_text_field(text, stored=True, tokenizer_name=EXACT)
    for stem in (*map(stems, STEMMED), WHOLE):
        builder.add_text_field(stem, tokenizer_name=PARTED, index_option="freq")
    return builder.build()
