"""One document of the index."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from tantivy import Document

from tarantula.core.urls import host_of
from tarantula.search.index.schema_part_schema import (
    SIGNATURE_FIELDS,
    SKETCH_FIELD,
    STEMMED_FIELDS,
    TEXT_FIELDS,
    WHOLE_STEMS_FIELD,
    WHOLE_STEMS_SOURCES,
    IndexField,
    stems_field,
)
from tarantula.search.texts.similarity import signature_bands, signature_from_bands, sketch_of
from tarantula.search.texts.words import stemmed_text

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class IndexEntry:
    """A capture of a document, with all that it is found by."""

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
    likeness: bytes = b""


_ONE = [name for name in IndexEntry.__slots__ if name not in ("leads_to", "collected", "rank", "likeness")]


def index_document(entry: IndexEntry) -> Document:
    """Return an entry as the index takes it."""
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
    for place, band in enumerate(signature_bands(entry.likeness)):
        document.add_unsigned(SIGNATURE_FIELDS[place], band)
    if entry.likeness:
        document.add_unsigned(SKETCH_FIELD, sketch_of(entry.likeness))
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
    """Return what the index keeps of an entry: all of it."""
    values: dict[str, Any] = {name: document.get_first(name) for name in _ONE}
    values |= {name: values[name] or "" for name in TEXT_FIELDS}
    return IndexEntry(
        **values,
        collected=from_milliseconds(document.get_first(IndexField.COLLECTED) or 0),
        rank=document.get_first(IndexField.RANK) or 0.0,
        leads_to=document.get_all(IndexField.LEADS_TO),
        likeness=signature_from_bands(
            [band for name in SIGNATURE_FIELDS if (band := document.get_first(name)) is not None]
        ),
    )


def to_milliseconds(moment: datetime) -> int:
    """Return a time as the index holds it; none is before 1970."""
    return max((moment - _BEGINNING) // timedelta(milliseconds=1), 0)


def from_milliseconds(milliseconds: int) -> datetime:
    """Return the time that the index holds so."""
    return _BEGINNING + timedelta(milliseconds=milliseconds)


def page_number(publication: str, key: bytes) -> int:
    """Return what all captures of a URL in a publication have in common."""
    return _number(publication.encode() + b"\0" + key)


def body_number(digest: str | None) -> int:
    """Return what all documents with the same bytes have in common."""
    return _number((digest or "").encode())


def _number(words: bytes) -> int:
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "big")


def domains_of_server(server: str) -> list[str]:
    """Return a server and every domain that it is in: ``www.fc.ul.pt``, ``fc.ul.pt``, ``ul.pt``, ``pt``."""
    host = host_of(server)
    labels = [] if ":" in host or host.rpartition(".")[2].isdigit() else host.split(".")
    return list(dict.fromkeys([server, host, *(".".join(labels[start:]) for start in range(len(labels)))]))
