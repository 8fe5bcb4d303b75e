"""Captures: where stored bodies are, and previous captures of a URL for conditional requests."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState
from tarantula.core.urls import key_of
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import HTML_TYPES, charset_of
from tarantula.frontier.queues import FrontierEntry, PreviousCapture
from tarantula.models import BodyDamage, Document, InheritedRecord, Item
from tarantula.publications.config import PublicationConfig
from tarantula.store.bulk import chunks
from tarantula.store.homes import check_home
from tarantula.store.warc_reader import DamagedRecord, read_response
from tarantula.store.warc_records import payload_digest
from tarantula.store.withholding import check_access

logger = logging.getLogger(__name__)


HAS_CAPTURE: ColumnElement[bool] = or_(Document.warc.is_not(None), Document.refers_to_id.is_not(None))
"""Condition for documents with a stored body: in their own record, or in one of an earlier item."""


class Capture(NamedTuple):
    """Location of the WARC records of one document."""

    path: Path
    offset: int
    """Offset of the response record."""
    rendered_offset: int | None
    """Offset of the record of the rendered page, if there is one."""


class MissingCapture(TarantulaError):
    """A document refers to a body in an earlier item that no longer exists."""

    def __init__(self, document: Document) -> None:
        super().__init__(
            "The body of {url} was stored in an earlier item that was removed "
            "without handing it over. Collect the publication again.",
            url=document.url,
        )


def capture_of(session: Session, items: Path, document: Document) -> Capture | None:
    """Return the location of a document's body below the folder *items*; None if no body was stored.

    A revisit, or a document carried over from an earlier item, leads to the record that holds the body, in any item.
    Raise `WithheldError` if the URL is withheld.
    """
    if has_capture(document):
        check_access(session, document)
    return unchecked_capture_of(session, items, document)


def unchecked_capture_of(session: Session, items: Path, document: Document) -> Capture | None:
    """Return the same also for a withheld document: the caller must not show the body."""
    if not has_capture(document):
        return None
    kept = body_row(session, document)
    assert kept.warc is not None
    assert kept.warc_offset is not None
    rendered = kept.rendered_offset if kept is document or document.warc is None else None
    return Capture(warc_folder(session, items, kept.item_id) / kept.warc, kept.warc_offset, rendered)


def has_capture(document: Document) -> bool:
    """Whether a body of the document is stored."""
    return document.warc is not None or document.refers_to_id is not None


def record_of(session: Session, items: Path, document: Document) -> tuple[Path, int] | None:
    """Return file and offset of a document's own record, or of the one that it was carried over from."""
    if document.warc is not None and document.warc_offset is not None:
        check_access(session, document)
        return warc_folder(session, items, document.item_id) / document.warc, document.warc_offset
    capture = capture_of(session, items, document)
    return None if capture is None else (capture.path, capture.offset)


def warc_folder(session: Session, items: Path, item_id: int) -> Path:
    """Return the folder of an item's WARC files; raise an error if they are in another home."""
    item = session.get_one(Item, item_id)
    check_home(session, items, item)
    return items / item.urn / "archive"


def body_row(session: Session, document: Document) -> Document | InheritedRecord:
    """Return the row whose record holds the body of a document: its own, an earlier document's, or an inherited one."""
    kept = document
    passed: set[int] = set()
    while kept.refers_to_id is not None:
        if kept.refers_to_id in passed:
            raise MissingCapture(document)
        passed.add(kept.refers_to_id)
        earlier = session.get(Document, kept.refers_to_id)
        if earlier is None or earlier.digest != document.digest or earlier.warc is None:
            return _inherited(session, kept.refers_to_id, document)
        kept = earlier
    return kept


def _inherited(session: Session, identity: int, document: Document) -> InheritedRecord:
    record = session.get(InheritedRecord, identity)
    if record is None:
        raise MissingCapture(document)
    return record


def has_other_body(root: type[Document]) -> ColumnElement[bool]:
    """Return the condition that the document *root* does not have the body of the `Document` that refers to it."""
    # Documents that refer to each other, or to themselves, have no body either.
    return or_(root.warc.is_(None), root.digest.is_distinct_from(Document.digest), root.refers_to_id == Document.id)


def documents_without_body(session: Session, item: Item) -> Iterator[Document]:
    """Yield the documents of an item that refer to a body that no longer exists."""
    root = aliased(Document)
    return iter(
        session.scalars(
            select(Document)
            .outerjoin(root, root.id == Document.refers_to_id)
            .outerjoin(InheritedRecord, InheritedRecord.id == Document.refers_to_id)
            .where(Document.item_id == item.id, Document.refers_to_id.is_not(None))
            .where(has_other_body(root), InheritedRecord.id.is_(None))
            .execution_options(yield_per=1000)
        )
    )


_root = aliased(Document)
_CAPTURES = (
    select(
        Document.key,
        Document.state,
        Document.digest,
        Document.size,
        Document.type,
        Document.charset,
        Document.etag,
        Document.last_modified,
        Document.refers_to_id,
        *(
            getattr(source, name).label(f"{prefix}_{name}")
            for prefix, source in (("own", Document), ("root", _root), ("inherited", InheritedRecord))
            for name in ("id", "url", "collected_at", "item_id", "warc", "warc_offset", "warc_length", "digest")
        ),
    )
    .outerjoin(_root, _root.id == Document.refers_to_id)
    .outerjoin(InheritedRecord, InheritedRecord.id == Document.refers_to_id)
    .where(HAS_CAPTURE, Document.digest.is_not(None))
    # A damaged body is stored again.
    .where(~exists().where(BodyDamage.document_id == func.coalesce(Document.refers_to_id, Document.id)))
    .order_by(Document.item_id)
)
VALIDATORS = frozenset({b"etag", b"last-modified"})
MAX_CHARSET_LENGTH = 40
# RFC 9110, 8.8.3: a malformed ETag is not sent back.
ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,190}"')
HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")


class PreviousCaptures:
    """Finds the previous capture of URLs in earlier items of the publication."""

    def __init__(self, items: Path, config: PublicationConfig) -> None:
        self._items = items
        self._config = config
        self._urns: dict[int, str] = {}
        self._newest_first: list[int] = []
        self._sizes: dict[Path, int] = {}

    def load_items(self, connection: Connection, item_id: int) -> None:
        """Load the list of earlier items."""
        if not self._config.keep_once:
            return
        publication = select(Item.publication_id).where(Item.id == item_id).scalar_subquery()
        items = select(Item.id, Item.urn, Item.state, Item.refreshes_id).where(Item.publication_id == publication)
        rows = connection.execute(items.where(Item.state != ItemState.REMOVING)).all()
        self._urns = {row.id: row.urn for row in rows}
        # The content of another item that is still being refreshed may change soon; the refreshed item itself may be
        # used.
        refreshing = {row.id for row in rows if row.refreshes_id is not None and row.state in ACTIVE_ITEM_STATES}
        earlier = {row.id for row in rows if row.id < item_id} - refreshing
        self._newest_first = sorted(earlier | (refreshing & {item_id}), reverse=True)

    def attach(self, connection: Connection, entries: Iterable[FrontierEntry]) -> None:
        """Set `entry.earlier` to the newest previous capture of each URL."""
        if not self._newest_first:
            return
        wanted: defaultdict[bytes, list[FrontierEntry]] = defaultdict(list)
        for entry in entries:
            wanted[key_of(entry.url)].append(entry)
        for items in (self._newest_first[:1], self._newest_first[1:]):
            for row in self._rows(connection, items, wanted):
                if (earlier := self._capture_of_row(row)) is not None:
                    for entry in wanted[bytes(row.key)]:
                        entry.earlier = earlier
            wanted = defaultdict(list, {key: found for key, found in wanted.items() if found[0].earlier is None})

    def _rows(self, connection: Connection, items: Sequence[int], wanted: Iterable[bytes]) -> Iterator[Row[Any]]:
        for chunk in chunks(wanted if items else ()):
            yield from connection.execute(_CAPTURES.where(Document.item_id.in_(items), Document.key.in_(chunk)))

    def _capture_of_row(self, row: Row[Any]) -> PreviousCapture | None:
        fields = row._mapping
        prefix = "own"
        if row.refers_to_id is not None:
            # A root may have been collected again, with another body.
            prefix = "root" if row.root_warc is not None and row.root_digest == row.digest else "inherited"
        place = {name: fields[f"{prefix}_{name}"] for name in ("id", "url", "collected_at", "warc")}
        urn = self._urns.get(fields[f"{prefix}_item_id"])
        offset, length = fields[f"{prefix}_warc_offset"], fields[f"{prefix}_warc_length"]
        if urn is None or not self._file_has(urn, place["warc"], offset + length):
            return None
        found = PreviousCapture(
            **place, urn=urn, offset=offset, digest=row.digest, size=row.size, type=row.type, charset=row.charset
        )
        return (
            replace(found, etag=row.etag, last_modified=row.last_modified)
            if self._allows_conditional_request(row)
            else found
        )

    def _allows_conditional_request(self, row: Row[Any]) -> bool:
        """Whether a conditional request suffices: the type needs no rendering and the size is still allowed."""
        needs_browser = self._config.render and row.type in HTML_TYPES
        # Only documents with status 200 have validators; a document that waits for another visit was one.
        was_whole = row.state in (200, DocumentState.WAITING, DocumentState.COLLECTING)
        return was_whole and not needs_browser and (row.size or 0) <= self._config.max_size

    def _file_has(self, urn: str, warc: str, end: int) -> bool:
        path = self._items / urn / "archive" / warc
        if self._sizes.get(path, 0) < end:
            try:
                self._sizes[path] = path.stat().st_size
            except OSError as error:
                if path not in self._sizes:
                    logger.warning(
                        "%s is missing (%s): documents stored only there are collected and stored again.",
                        path,
                        error.strerror,
                    )
                self._sizes[path] = 0
        return self._sizes[path] >= end


class KeptHeaders(NamedTuple):
    """Headers of a response that a later item needs for conditional requests."""

    charset: str | None
    etag: str | None
    last_modified: str | None


NO_KEPT_HEADERS = KeptHeaders(None, None, None)


def headers_to_keep(exchange: Exchange) -> KeptHeaders:
    """Return the charset and the well-formed validators of a response."""
    charset = (charset_of(exchange.get(b"content-type")) or "")[:MAX_CHARSET_LENGTH].encode("ascii", "replace").decode()
    # A later 304 would confirm an incomplete body.
    if exchange.status != 200 or exchange.truncated:
        return KeptHeaders(charset or None, None, None)
    found = _validators(exchange)
    if exchange.not_modified is not None:
        found |= _validators(exchange.not_modified)
    etag, modified = found.get(b"etag", ""), found.get(b"last-modified", "")
    return KeptHeaders(
        charset or None,
        etag if ETAG.fullmatch(etag) else None,
        modified if HTTP_DATE.fullmatch(modified) else None,
    )


def _validators(exchange: Exchange) -> dict[bytes, str]:
    return {name.lower(): value.decode("latin-1") for name, value in exchange.headers if name.lower() in VALIDATORS}


def restore_or_forget(items: Path, entry: FrontierEntry, response: Exchange) -> Exchange | None:
    """Return the stored exchange that a 304 *response* refers to, or None, with a warning, if it cannot be read."""
    assert entry.earlier is not None
    try:
        return restore_unmodified(items, entry.earlier, response)
    except DamagedRecord as error:
        logger.warning("%s has not changed, but is requested again: %s", entry.url, error)
        entry.earlier = None
        return None


def restore_unmodified(items: Path, earlier: PreviousCapture, response: Exchange) -> Exchange:
    """Return the stored exchange that a 304 *response* refers to; raise DamagedRecord if it cannot be read."""
    path = items / earlier.urn / "archive" / earlier.warc
    restored = replace(response, **read_response(path, earlier.offset)._asdict(), not_modified=response)
    if payload_digest(restored) != earlier.digest:
        raise DamagedRecord(
            "{path} has a different body at offset {earlier} than the one collected.", path=path, earlier=earlier.offset
        )
    return restored
