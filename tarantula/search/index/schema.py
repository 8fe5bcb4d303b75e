"""One document of the index."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from tantivy import Document

from tarantula.core.urls import host_of
from tarantula.search.index.schema_part_schema import LIKENESS, SAID, SKETCH, STEMMED, TEXTS, WHOLE, Field, stems
from tarantula.search.texts.similarity import bands_of, likeness_from, sketch_of
from tarantula.search.texts.words import stemmed

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Entry:
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


_ONE = [name for name in Entry.__slots__ if name not in ("leads_to", "collected", "rank", "likeness")]


def document_of(entry: Entry) -> Document:
    """Return an entry as the index takes it."""
    document = Document()
    for name in (Field.NUMBER, Field.ITEM, Field.PAGE, Field.BODY, Field.LATEST, Field.INLINKS):
        document.add_unsigned(name, getattr(entry, name))
    document.add_unsigned(Field.YEAR, entry.collected.year)
    document.add_unsigned(Field.COLLECTED, milliseconds(entry.collected))
    document.add_float(Field.RANK, entry.rank)
    for name in (Field.PUBLICATION, Field.URN, Field.URL, Field.SERVER, Field.TYPE, Field.LANGUAGE):
        document.add_text(name, getattr(entry, name))
    document.add_text(Field.ADDRESS, entry.url)
    for domain in domains_of(entry.server):
        document.add_text(Field.SITE, domain)
    for place, band in enumerate(bands_of(entry.likeness)):
        document.add_unsigned(LIKENESS[place], band)
    if entry.likeness:
        document.add_unsigned(SKETCH, sketch_of(entry.likeness))
    for key in entry.leads_to:
        document.add_text(Field.LEADS_TO, key)
    texts = {name: text for name in TEXTS if (text := getattr(entry, name))}
    for name, text in texts.items():
        document.add_text(name, text)
        if name in STEMMED:
            document.add_text(stems(name), stemmed(text, entry.language))
    said = "\n".join(texts[name] for name in SAID if name in texts)
    document.add_text(WHOLE, stemmed(said, entry.language))
    return document


def entry_of(document: Document) -> Entry:
    """Return what the index keeps of an entry: all of it."""
    values: dict[str, Any] = {name: document.get_first(name) for name in _ONE}
    values |= {name: values[name] or "" for name in TEXTS}
    return Entry(
        **values,
        collected=moment(document.get_first(Field.COLLECTED) or 0),
        rank=document.get_first(Field.RANK) or 0.0,
        leads_to=document.get_all(Field.LEADS_TO),
        likeness=likeness_from([band for name in LIKENESS if (band := document.get_first(name)) is not None]),
    )


def milliseconds(moment: datetime) -> int:
    """Return a time as the index holds it; none is before 1970."""
    return max((moment - _BEGINNING) // timedelta(milliseconds=1), 0)


def moment(milliseconds: int) -> datetime:
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


def domains_of(server: str) -> list[str]:
    """Return a server and every domain that it is in: ``www.fc.ul.pt``, ``fc.ul.pt``, ``ul.pt``, ``pt``."""
    host = host_of(server)
    labels = [] if ":" in host or host.rpartition(".")[2].isdigit() else host.split(".")
    return list(dict.fromkeys([server, host, *(".".join(labels[start:]) for start in range(len(labels)))]))
