"""What the earlier items of a publication have of its documents, known in bulk before these are asked for."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.orm import aliased

from tarantula.core.states import ACTIVE_ITEM_STATES, DocumentState
from tarantula.core.urls import key_of
from tarantula.items import FrontierEntry, PreviousCapture
from tarantula.publications.config import PublicationConfig
from tarantula.store.bulk import chunks
from tarantula.store.captures import HAS_CAPTURE
from tarantula.tables.publications import Document, InheritedRecord, Item

logger = logging.getLogger(__name__)

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})

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
    .order_by(Document.item_id)
)


class PreviousCaptures:
    """Tells entries what the earlier items of their publication have of them. Without such items it does nothing."""

    def __init__(self, items: Path, config: PublicationConfig) -> None:
        self._items = items
        self._config = config
        self._urns: dict[int, str] = {}
        self._newest_first: list[int] = []
        self._sizes: dict[Path, int] = {}

    def begin(self, connection: Connection, item_id: int) -> None:
        """Find out which items came before."""
        if not self._config.keep_once:
            return
        publication = select(Item.publication_id).where(Item.id == item_id).scalar_subquery()
        items = select(Item.id, Item.urn, Item.state, Item.refreshes_id).where(Item.publication_id == publication)
        rows = connection.execute(items).all()
        self._urns = {row.id: row.urn for row in rows}
        # What an item has that is being refreshed may be something else before long; its own it may ask about.
        moving = {row.id for row in rows if row.refreshes_id is not None and row.state in ACTIVE_ITEM_STATES}
        earlier = {row.id for row in rows if row.id < item_id} - moving
        self._newest_first = sorted(earlier | (moving & {item_id}), reverse=True)

    def recall(self, connection: Connection, entries: Iterable[FrontierEntry]) -> None:
        """Tell entries what there is of them: the newest item is asked first, and most know nothing beyond it."""
        if not self._newest_first:
            return
        wanted: defaultdict[bytes, list[FrontierEntry]] = defaultdict(list)
        for entry in entries:
            wanted[key_of(entry.url)].append(entry)
        for items in (self._newest_first[:1], self._newest_first[1:]):
            for row in self._rows(connection, items, wanted):
                if (earlier := self._earlier(row)) is not None:
                    for entry in wanted[bytes(row.key)]:
                        entry.earlier = earlier
            wanted = defaultdict(list, {key: found for key, found in wanted.items() if found[0].earlier is None})

    def _rows(self, connection: Connection, items: Sequence[int], wanted: Iterable[bytes]) -> Iterator[Row[Any]]:
        for chunk in chunks(wanted if items else ()):
            yield from connection.execute(_CAPTURES.where(Document.item_id.in_(items), Document.key.in_(chunk)))

    def _earlier(self, row: Row[Any]) -> PreviousCapture | None:
        fields = row._mapping
        prefix = "own"
        if row.refers_to_id is not None:
            prefix = "root" if row.root_id is not None and row.root_warc is not None else "inherited"
        place = {name: fields[f"{prefix}_{name}"] for name in ("id", "url", "collected_at", "warc")}
        urn = self._urns.get(fields[f"{prefix}_item_id"])
        offset, length = fields[f"{prefix}_warc_offset"], fields[f"{prefix}_warc_length"]
        if urn is None or not self._is_there(urn, place["warc"], offset + length):
            return None
        found = PreviousCapture(
            **place, urn=urn, offset=offset, digest=row.digest, size=row.size, type=row.type, charset=row.charset
        )
        return replace(found, etag=row.etag, last_modified=row.last_modified) if self._may_ask(row) else found

    def _may_ask(self, row: Row[Any]) -> bool:
        """Whether nothing but its body is wanted of a document: what it is now, it was then."""
        needs_browser = self._config.render and row.type in HTML_TYPES
        # Only what was 200 has validators, also if it is to be visited again.
        was_whole = row.state in (200, DocumentState.WAITING, DocumentState.COLLECTING)
        return was_whole and not needs_browser and (row.size or 0) <= self._config.max_size

    def _is_there(self, urn: str, warc: str, end: int) -> bool:
        path = self._items / urn / "archive" / warc
        if self._sizes.get(path, 0) < end:
            try:
                self._sizes[path] = path.stat().st_size
            except OSError as error:
                if path not in self._sizes:
                    logger.warning(
                        "%s is gone (%s): what only it has is collected and kept anew.", path, error.strerror
                    )
                self._sizes[path] = 0
        return self._sizes[path] >= end
