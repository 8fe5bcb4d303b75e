"""Bring one index up to date with the journal, and keep its `latest` flags right.

The latest capture of each page is found by default, earlier ones only when a query asks for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session
from tantivy import DocAddress, Query, Searcher

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Document, Item, LinkWeight, Publication, ReadText, Server
from tarantula.search.index.schema import IndexEntry, IndexField, body_number, entry_of_document, page_number
from tarantula.search.index.storage import SearchIndex
from tarantula.search.texts.content import unpack_text
from tarantula.store.bulk import chunks
from tarantula.store.journal import JournalFollower, JournalKind, last_assigned_id

FOLLOWED_EVENTS = (JournalKind.READ, JournalKind.RANKED, JournalKind.REMOVED)
ENTRIES_PER_STEP = 200
"""Journal entries processed in one step."""
DOCUMENTS_PER_CHUNK = 500


class _Capture(NamedTuple):
    collected: int
    number: int
    page: int
    latest: int
    address: DocAddress


def pages_found(index: SearchIndex, query: Query) -> set[int]:
    """Return the pages of the captures that a query finds."""
    searcher = index.searcher()
    found = index.addresses(searcher, query)
    return {int(page or 0) for page in searcher.fast_field_values(IndexField.PAGE, found)}


def entries_with_wrong_latest(index: SearchIndex, pages: Collection[int]) -> Iterator[IndexEntry]:
    """Yield captures of some pages whose `latest` flag is wrong, with the flag corrected."""
    searcher = index.searcher()
    captures = sorted(_captures(index, searcher, pages))
    last = {capture.page: capture.number for capture in captures}
    for capture in captures:
        latest = int(last[capture.page] == capture.number)
        if capture.latest != latest:
            entry = entry_of_document(searcher.doc(capture.address))
            entry.latest = latest
            yield entry


def _captures(index: SearchIndex, searcher: Searcher, pages: Collection[int]) -> Iterator[_Capture]:
    found = index.addresses(searcher, index.terms(IndexField.PAGE, pages))
    values = (
        searcher.fast_field_values(field, found) for field in (IndexField.COLLECTED, IndexField.NUMBER, IndexField.PAGE)
    )
    latest = searcher.fast_field_values(IndexField.LATEST, found)
    for collected, number, page, is_latest, address in zip(*values, latest, found, strict=True):
        yield _Capture(int(collected or 0), int(number or 0), int(page or 0), int(is_latest or 0), address)


class JournalMismatch(TarantulaError):
    """The index is ahead of the journal."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            "The index in {folder} is ahead of the journal: it follows another database, or this one was restored. "
            "Rebuild it with `tarantula index --rebuild`; the index of a barrel with `tarantula barrel --rebuild`.",
            folder=folder,
        )


class IndexerStep(NamedTuple):
    """Result of one step."""

    documents: int
    place: int
    is_up_to_date: bool


class Indexer:
    """Follows the journal for one index."""

    def __init__(self, database: Database, index: SearchIndex, *, in_order: bool = False) -> None:
        self._database = database
        self._index = index
        self._in_order = in_order
        self._follower = self._new_follower()
        self._is_checked = False

    def step(self) -> IndexerStep:
        """Apply the next journal entries to the index, and commit; after an error the next step applies them again."""
        try:
            return self._step()
        except BaseException:
            self._follower = self._new_follower()
            raise

    def _new_follower(self) -> JournalFollower:
        return JournalFollower(self._index.place, FOLLOWED_EVENTS, in_order=self._in_order)

    def _step(self) -> IndexerStep:
        with self._database.reading() as session:
            self.check(session.connection())
            entries = self._follower.next(session.connection(), ENTRIES_PER_STEP)
            changed_pages, indexed, documents = set[int](), set[int](), 0
            for entry in entries:
                match entry.kind:
                    case JournalKind.READ | JournalKind.RANKED:
                        # A document that was both read and ranked is indexed once, in its current state.
                        put = self._put(session, [number for number in entry.documents if number not in indexed])
                        indexed.update(entry.documents)
                        changed_pages |= put
                        documents += len(put)
                    case JournalKind.REMOVED:
                        changed_pages |= self._remove(self._index.term(IndexField.ITEM, entry.item_id))
        if changed_pages:
            self._index.flush()
            self._index.put(entries_with_wrong_latest(self._index, changed_pages))
        if entries or self._follower.place != self._index.place:
            self._index.commit(self._follower.place)
        return IndexerStep(documents, self._follower.place, not entries)

    def check(self, connection: Connection) -> None:
        """Check once that the index follows this journal; with another or a restored one it would miss entries."""
        if not self._is_checked and self._follower.place > last_assigned_id(connection):
            raise JournalMismatch(self._index.folder)
        self._is_checked = True

    def _put(self, session: Session, numbers: list[int]) -> set[int]:
        pages: set[int] = set()
        for chunk in chunks(numbers, DOCUMENTS_PER_CHUNK):
            entries = list(read_entries(session, chunk))
            self._index.put(entries)
            pages |= {entry.page for entry in entries}
            # Documents without a row or a text are removed from the index.
            missing = set(chunk) - {entry.number for entry in entries}
            if missing:
                pages |= self._remove(self._index.terms(IndexField.NUMBER, missing))
        return pages

    def _remove(self, query: Query) -> set[int]:
        """Remove what a query finds; return the pages whose earlier captures may become the latest."""
        self._index.flush()
        pages = pages_found(self._index, query)
        self._index.remove(query)
        return pages


def read_entries(session: Session, numbers: Iterable[int]) -> Iterator[IndexEntry]:
    """Yield index entries of documents whose texts were read."""
    rows = session.execute(
        select(
            Document.id,
            Document.item_id,
            Document.url,
            Document.key,
            Document.type,
            Document.digest,
            Document.collected_at,
            Item.urn,
            Publication.name.label("publication"),
            Server.name.label("server"),
            ReadText.content,
            LinkWeight.weight,
            LinkWeight.inlinks,
            LinkWeight.anchors,
        )
        .join(ReadText, ReadText.document_id == Document.id)
        .outerjoin(LinkWeight, LinkWeight.document_id == Document.id)
        .join(Item, Item.id == Document.item_id)
        .join(Publication, Publication.id == Item.publication_id)
        .join(Server, Server.id == Document.server_id)
        .where(Document.id.in_(list(numbers)), Item.state != ItemState.REMOVING)
        .order_by(Document.id)
    )
    return map(_entry, rows)


def _entry(row: Any) -> IndexEntry:
    content = unpack_text(row.content)
    return IndexEntry(
        number=row.id,
        item=row.item_id,
        publication=row.publication,
        urn=row.urn,
        url=row.url,
        server=row.server,
        type=row.type or "",
        collected=row.collected_at,
        page=page_number(row.publication, row.key),
        body=body_number(row.digest),
        language=content.language,
        title=content.title,
        headings=content.headings,
        description=content.description,
        main=content.main,
        rest=content.rest,
        leads_to=list(dict.fromkeys(key for key, _ in content.anchors)),
        signature=bytes.fromhex(content.signature),
        # Links are ranked only after the item has ended.
        rank=row.weight or 0.0,
        inlinks=row.inlinks or 0,
        anchors=row.anchors or "",
    )
