"""The fields of an index."""

from __future__ import annotations

from enum import StrEnum

from tantivy import Schema, SchemaBuilder

from tarantula.search.texts.similarity import SIGNATURE_BANDS
from tarantula.search.texts.words import EXACT_TOKENIZER, WHITESPACE_TOKENIZER

SCHEMA_VERSION = 5
"""Of what is below; an index of another version is built anew."""


class IndexField(StrEnum):
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


TEXT_FIELDS = (
    IndexField.TITLE,
    IndexField.HEADINGS,
    IndexField.DESCRIPTION,
    IndexField.ANCHORS,
    IndexField.MAIN,
    IndexField.REST,
)
"""Fields that are searched as they are written."""
STEMMED_FIELDS = (IndexField.TITLE, IndexField.HEADINGS, IndexField.ANCHORS, IndexField.REST)
"""Fields that are also searched by stems."""
WHOLE_STEMS_FIELD = "whole_stems"
"""The stems of all that a document says itself, but for the rest: what tells best how much of it is about a word."""
WHOLE_STEMS_SOURCES = (IndexField.TITLE, IndexField.HEADINGS, IndexField.DESCRIPTION, IndexField.MAIN)
"""What that is."""
_NAMES = (IndexField.PUBLICATION, IndexField.SERVER, IndexField.TYPE, IndexField.LANGUAGE)
_NUMBERS = (
    IndexField.NUMBER,
    IndexField.ITEM,
    IndexField.COLLECTED,
    IndexField.YEAR,
    IndexField.PAGE,
    IndexField.BODY,
    IndexField.LATEST,
    IndexField.INLINKS,
)
SIGNATURE_FIELDS = tuple(f"likeness_{number}" for number in range(SIGNATURE_BANDS))
"""Fields that tell which documents are nearly equal, see `search.texts.likeness`; one each, to be read quickly."""
SKETCH_FIELD = "sketch"
"""The field that tells which documents are nearly equal to no other."""


def stems_field(field: IndexField) -> str:
    """Return the name of the field that has the stems of a text."""
    return f"{field}_stems"


def field_names() -> list[str]:
    """Return the names of all fields, in the order in which the schema has them."""
    raw = (IndexField.URN, IndexField.URL, IndexField.SITE, IndexField.LEADS_TO, IndexField.ADDRESS, IndexField.RANK)
    return [
        *_NUMBERS,
        *_NAMES,
        *raw,
        *SIGNATURE_FIELDS,
        SKETCH_FIELD,
        *TEXT_FIELDS,
        *map(stems_field, STEMMED_FIELDS),
        WHOLE_STEMS_FIELD,
    ]


def build_schema() -> Schema:
    """Return the schema of an index."""
    builder = SchemaBuilder()
    for number in _NUMBERS:
        builder.add_unsigned_field(number, stored=True, indexed=True, fast=True)
    for name in _NAMES:
        builder.add_text_field(name, stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    for raw in (IndexField.URN, IndexField.URL, IndexField.SITE, IndexField.LEADS_TO):
        builder.add_text_field(raw, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(IndexField.ADDRESS, tokenizer_name=EXACT_TOKENIZER)
    builder.add_float_field(IndexField.RANK, stored=True, fast=True)
    for band in SIGNATURE_FIELDS:
        builder.add_unsigned_field(band, stored=True, fast=True)
    builder.add_unsigned_field(SKETCH_FIELD, fast=True)
    for text in TEXT_FIELDS:
        builder.add_text_field(text, stored=True, tokenizer_name=EXACT_TOKENIZER)
    for stem in (*map(stems_field, STEMMED_FIELDS), WHOLE_STEMS_FIELD):
        builder.add_text_field(stem, tokenizer_name=WHITESPACE_TOKENIZER, index_option="freq")
    return builder.build()
