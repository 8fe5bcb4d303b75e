"""Documents of an item that get a copy, read from the database in batches, with the location of their bytes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, case, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from tarantula import __version__
from tarantula.archive.mirror.copier import CopyTask
from tarantula.archive.mirror.paths import CopyIndex, path_of_copy
from tarantula.archive.omissions import NO_BODY, UnreadBody
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.core.states import REDIRECT_CODES
from tarantula.core.urls import is_web, redirect_target
from tarantula.fetch.exchange import DownloadError
from tarantula.links.link import LinkKind
from tarantula.models import Document, Item
from tarantula.publications import document_types
from tarantula.store.bulk import chunks
from tarantula.store.captures import HAS_CAPTURE, capture_of, warc_folder
from tarantula.store.listings import IS_COLLECTED, find_item
from tarantula.store.warc_reader import decode_payload, read_record
from tarantula.store.withholding import withheld_urls

MIRROR_LAYOUT_VERSION = 2
"""Changed when the layout of mirrors changes: a conversion is not resumed with another layout."""
ROWS_PER_FETCH = 1000
MAX_CACHED_PATHS = 1 << 16
"""Maximum number of paths kept in memory, about 25 MB: most links lead to documents found first."""

RENDERED_TYPE = "text/html"
IS_ERROR = (Document.state >= 400) & (Document.kind != int(LinkKind.NAVIGATION))
"""Requisites answered with an error: the error page is copied, so that the page makes no new request."""
HAS_COPY: ColumnElement[bool] = or_(IS_COLLECTED, IS_ERROR) & HAS_CAPTURE
DOCUMENTS_PER_BATCH = 500
"""Documents per query; an interrupted conversion resumes after the last batch."""


def load_copies(session: Session, items: Path, item: Item, skipped: Collection[int] = ()) -> CopyIndex:
    """Return which URLs of an item have a copy; *skipped* documents have none."""
    copies = CopyIndex(document_types.extensions_by_type(session))
    columns = (Document.id, Document.key, Document.url, Document.type, Document.state, Document.rendered_offset)
    statement = select(*columns).where(Document.item_id == item.id, HAS_COPY)
    rows = session.connection().execute(statement.execution_options(yield_per=ROWS_PER_FETCH))
    for number, key, url, media_type, state, rendered in rows:
        if number in skipped:
            continue
        extension = copies.extension(url, media_type if rendered is None else RENDERED_TYPE)
        if state >= 300:
            copies.errors[key] = extension
            continue
        copies.collected[key] = extension
        if len(copies.paths) < MAX_CACHED_PATHS:
            copies.paths[url] = path_of_copy(url, extension, key)
    _read_redirects(session, items, item, copies)
    return copies


def _read_redirects(session: Session, items: Path, item: Item, copies: CopyIndex) -> None:
    statement = select(Document).where(Document.item_id == item.id, Document.state.in_(REDIRECT_CODES), HAS_CAPTURE)
    for document in session.scalars(statement.execution_options(yield_per=ROWS_PER_FETCH)):
        try:
            target = _target(session, items, document)
        except WithheldError:
            # Links to it lead to the web, as those to all other documents without a copy.
            continue
        except (TarantulaError, DownloadError) as error:
            copies.unreadable_redirects[document.id] = UnreadBody.of(error)
        else:
            if target:
                copies.redirects[document.key] = target


def _target(session: Session, items: Path, document: Document) -> tuple[str, str] | None:
    """Return the target of a redirect, and the fragment that it adds."""
    capture = capture_of(session, items, document)
    location = decode_payload(read_record(capture.path, capture.offset)).get(b"location") if capture else None
    if not location:
        return None
    address, sharp, fragment = location.encode("latin-1").partition(b"#")
    target = redirect_target(document.url, address)
    if target is None or not is_web(target):
        return None
    return target, (sharp + fragment).decode("ascii", "ignore")


class MirrorPlan(NamedTuple):
    """Documents to be copied."""

    fingerprint: str
    """Changes when the result of the conversion would change."""
    documents: int
    first: int
    last: int
    """All document ids are between *first* and *last*."""


def make_mirror_plan(session: Session, item: Item, live_requests: bool) -> MirrorPlan:
    """Return the number and id range of an item's documents to be copied."""
    ids, newest = (func.min(Document.id), func.max(Document.id)), func.max(Document.collected_at)
    total, first, last, at = session.execute(
        select(func.count(case((HAS_COPY, 1))), *ids, newest).where(Document.item_id == item.id, HAS_CAPTURE)
    ).one()
    versions, contents = (MIRROR_LAYOUT_VERSION, __version__, live_requests), (total, last, str(at))
    withheld = sorted(key.hex() for key in withheld_urls(session))
    fingerprint = json.dumps([*versions, *contents, document_types.extensions_by_type(session), withheld])
    return MirrorPlan(fingerprint, total, first or 0, last or 0)


def count_withheld(session: Session, item: Item) -> int:
    """Return the number of an item's copies in whose place a notice is written now."""
    copies = select(func.count()).where(Document.item_id == item.id, HAS_COPY)
    return sum(session.scalar(copies.where(Document.key.in_(some))) or 0 for some in chunks(withheld_urls(session)))


_COLUMNS: Sequence[InstrumentedAttribute[Any]] = (
    Document.id,
    Document.url,
    Document.type,
    Document.warc,
    Document.warc_offset,
    Document.warc_length,
    Document.rendered_offset,
    Document.refers_to_id,
    Document.encoding,
    Document.key,
)


class CopyTasks:
    """Yields the copy tasks of an item; documents without a body are added to *skipped*."""

    def __init__(self, database: Database, items: Path, urn: str, skipped: dict[int, UnreadBody]) -> None:
        self._database = database
        self._items = items
        self._urn = urn
        self._skipped = skipped

    def batches(self, first: int, last: int) -> Iterator[tuple[int, list[CopyTask]]]:
        """Yield batches of tasks for documents in an id range, each with the last document id of the batch."""
        while True:
            with self._database.reading() as session:
                item = find_item(session, self._urn)
                archive = str(warc_folder(session, self._items, item.id))
                rows = session.connection().execute(_rows(item, first, last)).all()
                tasks = [task for row in rows if (task := self._task(session, archive, row))]
            if not rows:
                return
            yield rows[-1].id, tasks
            first = rows[-1].id + 1

    def _task(self, session: Session, archive: str, row: Sequence[Any]) -> CopyTask | None:
        number, url, media_type, warc, offset, length, rendered, refers_to, encoding, key = row
        if number in self._skipped:
            return None
        if bytes(key) in withheld_urls(session):
            kind = media_type if rendered is None else RENDERED_TYPE
            return CopyTask(number, url, kind, "", 0, is_withheld=True)
        if refers_to is not None:
            return self._referring_task(session, number, url, media_type, encoding)
        if offset is None:
            self._skipped[number] = NO_BODY
            return None
        if rendered is not None:
            return CopyTask(number, url, RENDERED_TYPE, f"{archive}/{warc}", rendered)
        return CopyTask(number, url, media_type, f"{archive}/{warc}", offset, length, encoding)

    def _referring_task(
        self, session: Session, number: int, url: str, media_type: str | None, encoding: str | None
    ) -> CopyTask | None:
        """Return the task of a document whose body an earlier item holds."""
        try:
            capture = capture_of(session, self._items, session.get_one(Document, number))
        except TarantulaError as error:
            self._skipped[number] = UnreadBody.of(error)
            return None
        if capture is None:
            self._skipped[number] = NO_BODY
            return None
        if capture.rendered_offset is not None:
            return CopyTask(number, url, RENDERED_TYPE, str(capture.path), capture.rendered_offset)
        return CopyTask(number, url, media_type, str(capture.path), capture.offset, encoding=encoding)


def _rows(item: Item, first: int, last: int) -> Select[Any]:
    # The sum prevents use of the item index, which would sort all documents of the item for every batch.
    chosen = select(*_COLUMNS).where(Document.item_id + 0 == item.id, Document.id.between(first, last), HAS_COPY)
    return chosen.order_by(Document.id).limit(DOCUMENTS_PER_BATCH)
