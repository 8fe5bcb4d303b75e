"""CDXJ indexes of an item: one sorted line per response, by which replay tools find its record."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from heapq import merge
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, or_, select, true, union
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from tarantula.core.urls import key_of
from tarantula.models import Document, InheritedRecord, Item, Visit
from tarantula.store.errors import write_errors
from tarantula.store.withholding import withheld_urls

SORT_RUN_LINES = 200_000
REVISIT_TYPE = "warc/revisit"
_URL_FIELD = re.compile(rb'"url": ("(?:[^"\\]|\\.)*")')
ROWS_PER_FETCH = 5000
DEFAULT_PORTS = {"http": 80, "https": 443}
PLAIN_URL = re.compile(
    # A name, or an address in its usual notation.
    r"(https?)://((?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*|[1-9]\d{0,2}(?:\.(?:0|[1-9]\d{0,2})){3})(?::([1-9]\d{0,4}))?"
    # No empty segment, none that begins with a dot, and nothing that is escaped or may be the id of a session.
    r"((?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?)(?:\?((?!.*(?i:sid|session|cfid))[A-Za-z0-9=&_.~-]+))?"
)
"""URLs whose sort key follows from a few rules, nearly all there are; `surt` knows the rules for the others."""
WWW = re.compile(r"www\d*\.")
REFERRING_TABLES: tuple[Any, ...] = (Document, Visit)
"""Tables whose records may be revisits."""


class IndexRow(NamedTuple):
    """A response and the location of its record."""

    url: str
    collected_at: datetime
    """The record's WARC-Date."""
    mime: str | None
    status: int
    """An HTTP status, or one of our own negative states, which is not written to the index."""
    digest: str
    length: int
    offset: int
    filename: str


def write_cdxj(rows: Iterable[IndexRow], path: Path, run: int = SORT_RUN_LINES) -> int:
    """Write the index of *rows* to *path*, replacing an older one, and return its number of lines.

    At most *run* lines are in memory at a time.
    """
    lines = map(cdxj_line, rows)
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".index-", dir=path.parent) as scratch, ExitStack() as stack:
            runs = [stack.enter_context(file.open("rb")) for file in _write_runs(lines, Path(scratch), run)]
            result = Path(scratch, path.name)
            count = _write_lines(merge(*runs), result)
            with result.open("rb") as file:
                os.fsync(file)
            os.replace(result, path)
    return count


def cdxj_line(row: IndexRow) -> bytes:
    """Return the index line of a response."""
    fields = {
        "url": row.url,
        "mime": row.mime,
        "status": str(row.status) if row.status > 0 else None,
        "digest": row.digest,
        "length": str(row.length),
        "offset": str(row.offset),
        "filename": row.filename,
    }
    timestamp = row.collected_at.astimezone(UTC).strftime("%Y%m%d%H%M%S")
    content = json.dumps({name: value for name, value in fields.items() if value})
    return f"{surt_key(row.url)} {timestamp} {content}\n".encode()


def surt_key(url: str) -> str:
    """Return the sort key of a URL (Sort-friendly URI Reordering Transform), as replay tools look it up."""
    plain = PLAIN_URL.fullmatch(url)
    if plain is None:
        # Imported here because it takes as long as the index of thousands of URLs: it imports a client for HTTP.
        from surt import surt

        key: str = surt(url)
        return key
    scheme, host, port, path, query = plain.groups()
    labels = WWW.sub("", host, count=1).split(".")
    shown_port = "" if not port or int(port) == DEFAULT_PORTS[scheme] else f":{int(port)}"
    arguments = "?" + "&".join(sorted(query.lower().split("&"), key=_argument)) if query else ""
    return f"{','.join(reversed(labels))}{shown_port}){path.lower().rstrip('/') or '/'}{arguments}"


def _argument(text: str) -> list[str]:
    return text.split("=", 1)


def listed_urls(lines: Iterable[bytes], urls: Collection[str]) -> Iterator[str]:
    """Yield the URLs of some that the lines of an index have."""
    fields = {json.dumps(url).encode(): url for url in urls}
    for line in lines if fields else ():
        found = _URL_FIELD.search(line)
        if found is not None and found[1] in fields:
            yield fields[found[1]]


def _write_runs(lines: Iterator[bytes], directory: Path, size: int) -> Iterator[Path]:
    number = 0
    while run := sorted(islice(lines, size)):
        file = directory / f"{number}.run"
        _write_lines(run, file)
        yield file
        number += 1


def _write_lines(lines: Iterable[bytes], path: Path) -> int:
    count = 0
    with path.open("xb") as file:
        for line in lines:
            file.write(line)
            count += 1
    return count


_FIELDS = ("url", "collected_at", "type", "state", "digest", "warc_length", "warc_offset", "warc")


class ReferredRecord(NamedTuple):
    """A record of another item that holds the body of a document."""

    urn: str
    """The item that has the record."""
    row: IndexRow
    rendered_offset: int | None
    """Offset of the record of the rendered page, if there is one."""


class BorrowedBody(NamedTuple):
    """A document that is not found through the record with its body, which is about another URL."""

    urn: str
    """The item that has the record."""
    row: IndexRow
    """The document, with the location of that record."""
    own: tuple[str, int] | None
    """File and offset of the document's own revisit record; None if it was carried over without one."""


def write_item_indexes(session: Session, item: Item, directory: Path) -> int:
    """Write both indexes of an item below its directory; return the number of lines of ``index.cdxj``.

    ``index.cdxj`` lists the records in the item's own files. ``referred.cdxj`` lists the records of other items that
    its revisits refer to, with relative paths, so that the item can be replayed without the others' indexes. A record
    with the body of a document that is not found through it is listed under the URL of that document.
    """
    # The relative paths start in this folder, so it must exist even if the item has no file of its own.
    (directory / "archive").mkdir(parents=True, exist_ok=True)
    referred = directory / "indexes" / "referred.cdxj"
    elsewhere = (one for one in borrowed_bodies(session, item) if one.urn != item.urn)
    if not write_cdxj(_relative(chain(referred_records(session, item), elsewhere)), referred):
        referred.unlink()
    here = (one.row for one in borrowed_bodies(session, item) if one.urn == item.urn)
    return write_cdxj(chain(own_records(session, item), here), directory / "indexes" / "index.cdxj")


def own_records(session: Session, item: Item) -> Iterator[IndexRow]:
    """Yield the records in an item's own files, including inherited ones.

    Left out are those of withheld URLs, and revisits of bodies in the records of withheld URLs.
    """
    withheld = withheld_urls(session)
    if not withheld:
        return _own_records(session, item)
    borrowing = {one.own for one in borrowed_bodies(session, item)}
    shown = (row for row in _own_records(session, item) if key_of(row.url) not in withheld)
    return (row for row in shown if (row.filename, row.offset) not in borrowing)


def borrowed_bodies(session: Session, item: Item) -> Iterator[BorrowedBody]:
    """Yield the documents of an item, without withheld ones, that are not found through the record with their body.

    That record is about another URL. Either that one is withheld, or the document has no revisit record of its own.
    """
    withheld = withheld_urls(session)
    if withheld or item.refreshes_id is not None:
        for query in _borrowing(item):
            for row in session.execute(query.execution_options(yield_per=ROWS_PER_FETCH)):
                is_shown = key_of(row.url) not in withheld
                if is_shown and (row.own_warc is None or key_of(row.root_url) in withheld):
                    own = (row.own_warc, row.own_offset) if row.own_warc is not None else None
                    yield BorrowedBody(row.urn, _index_row(row), own)


def _borrowing(item: Item) -> Iterator[Select[Any]]:
    """Yield queries of the documents whose body is in the record of another URL, with that record's location."""
    earlier = aliased(Document)
    for root, is_there in ((earlier, ~_is_handed_over(earlier)), (InheritedRecord, true())):
        yield (
            select(
                *(getattr(Document, name) for name in ("url", "collected_at", "type", "state", "digest")),
                Document.warc.label("own_warc"),
                Document.warc_offset.label("own_offset"),
                *(getattr(root, name) for name in ("warc_length", "warc_offset", "warc")),
                root.url.label("root_url"),
                Item.urn,
            )
            .join(root, root.id == Document.refers_to_id)
            .join(Item, Item.id == root.item_id)
            .where(Document.item_id == item.id, root.warc.is_not(None), is_there)
            .where(root.url != Document.url, root.digest == Document.digest)
            .order_by(root.item_id, root.warc, root.warc_offset)
        )


def _is_handed_over(earlier: type[Document]) -> ColumnElement[bool]:
    # A record that was handed over is no longer at its old place, though its document row may exist for a moment.
    return select(InheritedRecord.id).where(InheritedRecord.id == earlier.id).exists()


def _own_records(session: Session, item: Item) -> Iterator[IndexRow]:
    documents = (
        select(*_columns(Document), Document.refers_to_id, Document.unmodified)
        .where(Document.item_id == item.id, Document.warc.is_not(None))
        .execution_options(yield_per=ROWS_PER_FETCH)
    )
    for row in session.execute(documents):
        if row.collected_at is None or row.warc_length is None or row.warc_offset is None:
            continue
        yield _as_revisit(row) if row.refers_to_id is not None else _index_row(row)
    yield from _visited_records(session, item)
    inherited = select(*_columns(InheritedRecord)).where(InheritedRecord.item_id == item.id)
    for row in session.execute(inherited.execution_options(yield_per=ROWS_PER_FETCH)):
        yield _index_row(row)


def _visited_records(session: Session, item: Item) -> Iterator[IndexRow]:
    """Yield the records of visits that no document row refers to."""
    names = ("type", "state", "digest", "warc_length", "warc_offset", "warc", "refers_to_id", "unmodified")
    is_in_document_row = and_(Document.warc == Visit.warc, Document.warc_offset == Visit.warc_offset)
    visits = (
        select(Document.url, Visit.made_at.label("collected_at"), *(getattr(Visit, name) for name in names))
        .join(Document, Document.id == Visit.document_id)
        .where(Visit.item_id == item.id, Visit.warc.is_not(None), or_(Document.warc.is_(None), ~is_in_document_row))
    )
    for row in session.execute(visits.execution_options(yield_per=ROWS_PER_FETCH)):
        yield _as_revisit(row) if row.refers_to_id is not None else _index_row(row)


def _as_revisit(row: Any) -> IndexRow:
    return _index_row(row)._replace(mime=REVISIT_TYPE, status=0 if row.unmodified else row.state)


def referred_records(session: Session, item: Item) -> Iterator[ReferredRecord]:
    """Yield the records of other items that hold bodies of this one, in file order, without those of withheld URLs."""
    withheld = withheld_urls(session)
    return (
        found for found in _referred_records(session, item) if not withheld or key_of(found.row.url) not in withheld
    )


def _referred_records(session: Session, item: Item) -> Iterator[ReferredRecord]:
    earlier = aliased(Document)
    for chosen in (_referred(earlier, item).where(~_is_handed_over(earlier)), _referred(InheritedRecord, item)):
        for row in session.execute(chosen.execution_options(yield_per=ROWS_PER_FETCH)):
            yield ReferredRecord(row.urn, _index_row(row), row.rendered_offset)


def _referred(source: Any, item: Item) -> Select[Any]:
    referring = [
        select(one.refers_to_id).where(one.item_id == item.id, one.refers_to_id.is_not(None))
        for one in REFERRING_TABLES
    ]
    return (
        select(*_columns(source), source.rendered_offset, Item.urn)
        .join(Item, Item.id == source.item_id)
        .where(source.id.in_(union(*referring)), source.item_id != item.id, source.warc.is_not(None))
        .order_by(source.item_id, source.warc, source.warc_offset)
    )


def _columns(source: Any) -> list[InstrumentedAttribute[Any]]:
    return [getattr(source, name) for name in _FIELDS]


def _index_row(row: Any) -> IndexRow:
    return IndexRow(
        row.url, row.collected_at, row.type, row.state, row.digest or "-", row.warc_length, row.warc_offset, row.warc
    )


def revisits(session: Session, item: Item) -> Iterator[tuple[str, str, int]]:
    """Yield the URL of each document and visit without a body of its own, with file and offset of the record of it."""
    earlier = aliased(Document)
    for root, is_there in ((earlier, ~_is_handed_over(earlier)), (InheritedRecord, true())):
        for one in REFERRING_TABLES:
            query = select(Document.url, root.warc, root.warc_offset).select_from(one)
            if one is Visit:
                query = query.join(Document, Document.id == Visit.document_id)
            chosen = query.join(root, root.id == one.refers_to_id).where(one.item_id == item.id, is_there)
            rows: Any = session.execute(chosen.execution_options(yield_per=ROWS_PER_FETCH))
            yield from rows


def _relative(records: Iterable[ReferredRecord | BorrowedBody]) -> Iterator[IndexRow]:
    for one in records:
        yield one.row._replace(filename=f"../../{one.urn}/archive/{one.row.filename}")
