"""Pages, redirects and links, read from the tables into arrays: a million of them are some megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray
from sqlalchemy import Select, select, text
from sqlalchemy.orm import Session

from tarantula.links.link import LinkKind
from tarantula.search.texts.reader import IS_SEARCHABLE
from tarantula.store.listings import IS_REDIRECT
from tarantula.tables.publications import TRIED, Document, LinkRow

ROWS_PER_PARTITION = 50_000
"""Rows that are held as they come."""
PAGES_PER_QUERY = 2_000
"""Whose links are asked for at a time."""

Numbers = NDArray[Any]


class PageRows(NamedTuple):
    """The documents of an item that can be found, by their ids."""

    ids: Numbers
    keys: Numbers
    servers: Numbers


class PageLinks(NamedTuple):
    """Some links: where in the list of those that were asked for they begin, and the keys that they lead to."""

    sources: Numbers
    targets: Numbers


def read_pages(session: Session, item_id: int) -> PageRows:
    """Return the pages of an item. What is no page (a feed, a list of a site's URLs) says nothing by its links."""
    # With the condition of the index by which they are found.
    rows = select(Document.id, Document.key, Document.server_id).where(
        Document.item_id == item_id, IS_SEARCHABLE, text(TRIED)
    )
    parts = [
        (_numbers(ids), half_keys(b"".join(keys)), _numbers(servers).astype(numpy.int32))
        for ids, keys, servers in _columns(session, rows)
    ]
    ids = _joined([part[0] for part in parts], numpy.int64)
    keys = _joined([part[1] for part in parts], numpy.uint64)
    servers = _joined([part[2] for part in parts], numpy.int32)
    order = numpy.argsort(ids)
    return PageRows(ids[order], keys[order], servers[order])


def read_redirects(session: Session, item_id: int) -> tuple[Numbers, Numbers]:
    """Return the keys of an item's redirects, and those that they lead to."""
    rows = (
        select(Document.key, LinkRow.target)
        .join(LinkRow, LinkRow.document_id == Document.id)
        .where(Document.item_id == item_id, IS_REDIRECT, text(TRIED), LinkRow.kind == LinkKind.REDIRECT)
    )
    parts = [(half_keys(b"".join(keys)), half_keys(b"".join(targets))) for keys, targets in _columns(session, rows)]
    return _joined([keys for keys, _ in parts], numpy.uint64), _joined([led for _, led in parts], numpy.uint64)


def read_links(session: Session, ids: Numbers) -> Iterator[PageLinks]:
    """Yield the links of some documents, by which a reader goes on, some at a time; the ids are sorted."""
    for start in range(0, len(ids), PAGES_PER_QUERY):
        asked = ids[start : start + PAGES_PER_QUERY]
        rows = select(LinkRow.document_id, LinkRow.target).where(
            LinkRow.document_id.in_(asked.tolist()), LinkRow.kind == LinkKind.NAVIGATION
        )
        for sources, targets in _columns(session, rows):
            yield PageLinks(start + numpy.searchsorted(asked, _numbers(sources)), half_keys(b"".join(targets)))


def half_keys(keys: bytes) -> Numbers:
    """Return the first half of each of many keys as a number: with ten million pages, no two have the same."""
    return numpy.frombuffer(keys, ">u8")[::2].astype(numpy.uint64)


def _columns(session: Session, rows: Select[*tuple[Any, ...]]) -> Iterator[tuple[Sequence[Any], ...]]:
    for part in session.execute(rows.execution_options(yield_per=ROWS_PER_PARTITION)).partitions():
        yield tuple(zip(*part, strict=True))


def _numbers(values: Sequence[int]) -> Numbers:
    return numpy.fromiter(values, numpy.int64, len(values))


def _joined(parts: Sequence[Numbers], kind: Any) -> Numbers:
    return numpy.concatenate([numpy.zeros(0, kind), *parts])
