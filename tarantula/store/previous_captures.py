"""Previous captures of a URL: conditional requests, and the body that a 304 response refers to."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, exists, func, select
from sqlalchemy.orm import aliased

from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState, ItemState
from tarantula.core.urls import key_of
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import HTML_TYPES, charset_of
from tarantula.frontier.entry import FrontierEntry, PreviousCapture
from tarantula.models import BodyDamage, Document, InheritedRecord, Item
from tarantula.publications.config import PublicationConfig
from tarantula.store.bulk import chunks
from tarantula.store.captures import HAS_CAPTURE
from tarantula.store.warc_reader import DamagedRecord, read_response
from tarantula.store.warc_records import payload_digest

logger = logging.getLogger(__name__)


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
            for name in ("id", "url", "collected_at", "item_id", "warc", "warc_offset", "warc_length")
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
            prefix = "root" if row.root_id is not None and row.root_warc is not None else "inherited"
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
