"""Read and store the texts of collected documents, once for all indexes; runs where the WARC files are."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing

from sqlalchemy import Connection, Select, delete, insert, not_, or_, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnavailableError, TarantulaError
from tarantula.core.limited_worker import ParserLimitError
from tarantula.core.reasons import Reason, stored_reason
from tarantula.core.states import ItemState
from tarantula.models import Document, Item, ReadText, SkippedText
from tarantula.search.texts.content import EXTRACTORS, ExtractedText, extract_text
from tarantula.store.bulk import chunks
from tarantula.store.captures import Capture, unchecked_capture_of
from tarantula.store.journal import JournalKind, JournalRecord, append_to_journal
from tarantula.store.listings import IS_COLLECTED
from tarantula.store.warc_reader import WarcRecordReader, decode_payload

logger = logging.getLogger(__name__)

RENDERED_TYPE = "text/html"
DOCUMENTS_PER_TRANSACTION = 200
"""Documents read before they are stored."""

MOST_LISTED = 1_000
"""Documents whose parser was stopped in this process that are remembered."""

IS_SEARCHABLE = IS_COLLECTED & Document.type.in_(EXTRACTORS)
"""Condition for documents with searchable text."""


class TextReader:
    """Extracts and stores the texts of documents in journal entries."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._items = installation.items
        self._database = database
        self.unreadable = 0
        """Number of documents whose record could not be read, or whose parser was stopped."""
        self.skipped = 0
        """How many of them were skipped because their parser was stopped, now or earlier."""
        self.stopped: list[tuple[str, Reason]] = []
        """URLs of documents whose parser was stopped now, and why; the first `MOST_LISTED`."""

    def read(self, entries: Iterable[JournalRecord]) -> int:
        """Read the documents of journal entries; return how many had a text."""
        return sum(self._read(entry.item_id, chunk) for entry in entries for chunk in self._documents(entry))

    def _documents(self, entry: JournalRecord) -> Iterator[list[int]]:
        """Yield the documents of an entry in batches; all documents of the item if the entry names none."""
        yield from chunks(entry.documents, DOCUMENTS_PER_TRANSACTION)
        after = 0 if not entry.documents else None
        while after is not None:
            with self._database.reading() as session:
                of_item = select(Document.id).where(
                    Document.item_id == entry.item_id, Document.id > after, IS_SEARCHABLE
                )
                numbers = list(session.scalars(of_item.order_by(Document.id).limit(DOCUMENTS_PER_TRANSACTION)))
            if numbers:
                yield numbers
            after = numbers[-1] if len(numbers) == DOCUMENTS_PER_TRANSACTION else None

    def _read(self, item_id: int, numbers: list[int]) -> int:
        with self._database.reading() as session:
            texts, skipped = self._texts(session, numbers)
            gone = session.scalars(_gone(numbers)).all()
        if texts or gone or skipped:
            with self._database.session() as session:
                store_texts(session.connection(), item_id, texts, gone, skipped)
        return len(texts)

    def _texts(
        self, session: Session, numbers: list[int]
    ) -> tuple[dict[int, ExtractedText], list[tuple[Document, Reason]]]:
        texts: dict[int, ExtractedText] = {}
        skipped: list[tuple[Document, Reason]] = []
        unreadable: list[str] = []
        known = {one.document_id: one for one in session.scalars(_skipped(numbers))}
        with closing(WarcRecordReader()) as records:
            for document in session.scalars(select(Document).where(Document.id.in_(numbers), IS_SEARCHABLE)):
                before = known.get(document.id)
                if before is not None and before.collected_at == document.collected_at:
                    # After a restart the entry is read again: this document must not take its time once more.
                    self.skipped += 1
                    unreadable.append(f"{document.url}: {before.reason}")
                    continue
                try:
                    # Searches leave out what is withheld when they are asked, so that an embargo ends by itself.
                    capture = unchecked_capture_of(session, self._items, document)
                    content = _content(records, document, capture) if capture is not None else None
                except DatabaseUnavailableError:
                    raise
                except ParserLimitError as error:
                    self.stopped += [(document.url, error.reason)] if len(self.stopped) < MOST_LISTED else []
                    self.skipped += 1
                    skipped.append((document, error.reason))
                    unreadable.append(f"{document.url}: {error}")
                    continue
                except TarantulaError as error:
                    unreadable.append(f"{document.url}: {error}")
                    continue
                if content is not None:
                    texts[document.id] = content
        if unreadable:
            self.unreadable += len(unreadable)
            number = "1 document" if len(unreadable) == 1 else f"{len(unreadable)} documents"
            logger.warning("%s could not be read for the index. The first: %s", number, unreadable[0])
        return texts, skipped


def _content(records: WarcRecordReader, document: Document, capture: Capture) -> ExtractedText | None:
    is_rendered = capture.rendered_offset is not None
    offset = capture.rendered_offset if capture.rendered_offset is not None else capture.offset
    payload = decode_payload(records.read(str(capture.path), offset))
    charset = "utf-8" if is_rendered else document.encoding or document.charset
    return extract_text(payload.body, RENDERED_TYPE if is_rendered else document.type, document.url, charset)


def _gone(numbers: list[int]) -> Select[int]:
    """Select documents with a stored text that no longer have one."""
    known = [select(1).where(table.document_id == Document.id).exists() for table in (ReadText, SkippedText)]
    return select(Document.id).where(Document.id.in_(numbers), or_(*known), not_(IS_SEARCHABLE))


def _skipped(numbers: list[int]) -> Select[SkippedText]:
    return select(SkippedText).where(SkippedText.document_id.in_(numbers))


def store_texts(
    connection: Connection,
    item_id: int,
    texts: dict[int, ExtractedText],
    gone: Collection[int] = frozenset(),
    skipped: Collection[tuple[Document, Reason]] = (),
) -> None:
    """Store texts and skipped documents, and delete outdated ones, unless the item was removed in the meantime."""
    held = select(Item.id).where(Item.id == item_id, Item.state != ItemState.REMOVING)
    if connection.scalar(held.with_for_update(read=True)) is None:
        return
    gone = [*gone, *(document.id for document, _ in skipped)]
    for table in (ReadText, SkippedText):
        connection.execute(delete(table).where(table.document_id.in_([*texts, *gone])))
    rows = [{"document_id": number, "item_id": item_id, "content": texts[number].packed()} for number in sorted(texts)]
    if rows:
        connection.execute(insert(ReadText), rows)
    if skipped:
        connection.execute(
            insert(SkippedText),
            [
                {
                    "document_id": document.id,
                    "item_id": item_id,
                    "collected_at": document.collected_at,
                    **stored_reason(reason),
                }
                for document, reason in skipped
            ],
        )
    append_to_journal(connection, JournalKind.READ, item_id, [*texts, *gone])
