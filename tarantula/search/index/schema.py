"""Schema of the full-text index, and which of its documents a search may show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from tantivy import Document, Occur, Query, Schema, SchemaBuilder, Searcher, SearchResult

from tarantula.core.urls import host_of
from tarantula.search.texts.similarity import SIGNATURE_BANDS, signature_bands, signature_from_bands, sketch_of
from tarantula.search.texts.words import EXACT_TOKENIZER, WHITESPACE_TOKENIZER, stemmed_text
from tarantula.store.withholding import spellings

SCHEMA_VERSION = 5
"""Version of the schema; an index of another version is rebuilt."""

WHOLE_STEMS_FIELD = "whole_stems"
"""Stems of the document's own text without boilerplate; the best measure of its subject."""


SIGNATURE_FIELDS = tuple(f"likeness_{number}" for number in range(SIGNATURE_BANDS))
"""Similarity signature (see `tarantula.search.texts.similarity`), one field per band for fast access."""
SKETCH_FIELD = "sketch"
"""Similarity sketch, which excludes most documents from comparison."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class IndexField(StrEnum):
    """Fields of an index document."""

    NUMBER = "number"
    """Id of the document's row."""
    ITEM = "item"
    PUBLICATION = "publication"
    URN = "urn"
    URL = "url"
    ADDRESS = "address"
    """Words of the URL."""
    SERVER = "server"
    SITE = "site"
    """The server, and every domain that contains it."""
    TYPE = "type"
    LANGUAGE = "language"
    COLLECTED = "collected"
    """Time of the capture, in milliseconds since 1970."""
    YEAR = "year"
    PAGE = "page"
    """Equal for all captures of a URL in its publication."""
    BODY = "body"
    """Equal for all documents with the same bytes."""
    LATEST = "latest"
    """1 for the latest capture of its URL in its publication, else 0."""
    LEADS_TO = "leads_to"
    """Keys of the URLs that the document links to."""
    RANK = "rank"
    INLINKS = "inlinks"
    TITLE = "title"
    HEADINGS = "headings"
    DESCRIPTION = "description"
    ANCHORS = "anchors"
    """Anchor texts of links to the document."""
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
"""Fields searched as written."""
STEMMED_FIELDS = (IndexField.TITLE, IndexField.HEADINGS, IndexField.ANCHORS, IndexField.REST)
"""Fields searched by stems as well."""
WHOLE_STEMS_SOURCES = (IndexField.TITLE, IndexField.HEADINGS, IndexField.DESCRIPTION, IndexField.MAIN)
"""Sources of that field."""
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


def stems_field(field: IndexField) -> str:
    """Return the name of the field with the stems of a text field."""
    return f"{field}_stems"


def field_names() -> list[str]:
    """Return the names of all fields in schema order."""
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


@dataclass(slots=True)
class IndexEntry:
    """Searchable data of one capture."""

    number: int
    item: int
    publication: str
    urn: str
    url: str
    server: str
    type: str
    collected: datetime
    page: int
    body: int
    language: str = ""
    title: str = ""
    headings: str = ""
    description: str = ""
    anchors: str = ""
    main: str = ""
    rest: str = ""
    leads_to: list[str] = field(default_factory=list)
    latest: int = 1
    rank: float = 0.0
    inlinks: int = 0
    signature: bytes = b""


_ONE = [name for name in IndexEntry.__slots__ if name not in ("leads_to", "collected", "rank", "signature")]


def index_document(entry: IndexEntry) -> Document:
    """Convert an entry to an index document."""
    document = Document()
    for name in (
        IndexField.NUMBER,
        IndexField.ITEM,
        IndexField.PAGE,
        IndexField.BODY,
        IndexField.LATEST,
        IndexField.INLINKS,
    ):
        document.add_unsigned(name, getattr(entry, name))
    document.add_unsigned(IndexField.YEAR, entry.collected.year)
    document.add_unsigned(IndexField.COLLECTED, to_milliseconds(entry.collected))
    document.add_float(IndexField.RANK, entry.rank)
    for name in (
        IndexField.PUBLICATION,
        IndexField.URN,
        IndexField.URL,
        IndexField.SERVER,
        IndexField.TYPE,
        IndexField.LANGUAGE,
    ):
        document.add_text(name, getattr(entry, name))
    document.add_text(IndexField.ADDRESS, entry.url)
    for domain in domains_of_server(entry.server):
        document.add_text(IndexField.SITE, domain)
    for place, band in enumerate(signature_bands(entry.signature)):
        document.add_unsigned(SIGNATURE_FIELDS[place], band)
    if entry.signature:
        document.add_unsigned(SKETCH_FIELD, sketch_of(entry.signature))
    for key in entry.leads_to:
        document.add_text(IndexField.LEADS_TO, key)
    texts = {name: text for name in TEXT_FIELDS if (text := getattr(entry, name))}
    for name, text in texts.items():
        document.add_text(name, text)
        if name in STEMMED_FIELDS:
            document.add_text(stems_field(name), stemmed_text(text, entry.language))
    said = "\n".join(texts[name] for name in WHOLE_STEMS_SOURCES if name in texts)
    document.add_text(WHOLE_STEMS_FIELD, stemmed_text(said, entry.language))
    return document


def entry_of_document(document: Document) -> IndexEntry:
    """Convert an index document back to an entry; the index stores all of it."""
    values: dict[str, Any] = {name: document.get_first(name) for name in _ONE}
    values |= {name: values[name] or "" for name in TEXT_FIELDS}
    return IndexEntry(
        **values,
        collected=from_milliseconds(document.get_first(IndexField.COLLECTED) or 0),
        rank=document.get_first(IndexField.RANK) or 0.0,
        leads_to=document.get_all(IndexField.LEADS_TO),
        signature=signature_from_bands(
            [band for name in SIGNATURE_FIELDS if (band := document.get_first(name)) is not None]
        ),
    )


def to_milliseconds(moment: datetime) -> int:
    """Convert a time to the index's format; times before 1970 become 0."""
    return max((moment - _BEGINNING) // timedelta(milliseconds=1), 0)


def from_milliseconds(milliseconds: int) -> datetime:
    """Convert a time from the index's format."""
    return _BEGINNING + timedelta(milliseconds=milliseconds)


def page_number(publication: str, key: bytes) -> int:
    """Return a number shared by all captures of a URL in a publication."""
    return _number(publication.encode() + b"\0" + key)


def body_number(digest: str | None) -> int:
    """Return a number shared by all documents with the same bytes."""
    return _number((digest or "").encode())


def _number(words: bytes) -> int:
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "big")


def domains_of_server(server: str) -> list[str]:
    """Return a server and all domains that contain it: ``www.fc.ul.pt``, ``fc.ul.pt``, ``ul.pt``, ``pt``."""
    host = host_of(server)
    labels = [] if ":" in host or host.rpartition(".")[2].isdigit() else host.split(".")
    return list(dict.fromkeys([server, host, *(".".join(labels[start:]) for start in range(len(labels)))]))


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
