"""Withheld URLs in files that other programs read: mirrors and CDXJ indexes of this home.

What is to be done is found by looking at the files, so it can be repeated, and each machine does it for its own home.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.mirror.copier import Copier, notice_for, write_file
from tarantula.archive.mirror.paths import CopyIndex
from tarantula.archive.mirror.plan import RENDERED_TYPE, CopyTasks, load_copies
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.urls import key_of
from tarantula.models import Document, InheritedRecord, Item, Withholding
from tarantula.publications import document_types
from tarantula.publications.config import PublicationConfig
from tarantula.store.bulk import chunks
from tarantula.store.cdxj import REFERRING_TABLES, listed_urls, write_item_indexes
from tarantula.store.homes import read_home_id
from tarantula.store.listings import find_item
from tarantula.store.withholding import documents_of, lift_expired, spellings, withheld_urls

logger = logging.getLogger(__name__)


def apply_withholdings(installation: Config, database: Database, urls: Collection[str] | None = None) -> list[str]:
    """Bring the mirrors and indexes of this home in line with the withholdings; return the items that changed.

    *urls* restricts it to some; by default all that are or were withheld are looked at.
    """
    with database.reading() as session:
        chosen = urls if urls is not None else set(session.scalars(select(Withholding.url)))
        documents: dict[int, list[int]] = {}
        for item_id, number in documents_of(session, chosen):
            documents.setdefault(item_id, []).append(number)
        # Other items may list the record, because it has a body of theirs.
        for item_id in referring_items(session, chosen):
            documents.setdefault(item_id, [])
    return [urn for item_id, some in documents.items() if (urn := _apply(installation, database, item_id, some))]


def referring_items(session: Session, urls: Collection[str]) -> Iterator[int]:
    """Yield the items with a document or visit whose body is in the record of one of some URLs."""
    for some in chunks(_records(session, urls)):
        for one in REFERRING_TABLES:
            yield from session.scalars(select(one.item_id).where(one.refers_to_id.in_(some)).distinct())


def _records(session: Session, urls: Collection[str]) -> dict[int, tuple[int, str]]:
    """Return the documents and inherited records of some URLs, in any spelling: item id and URL by id."""
    found: dict[int, tuple[int, str]] = {}
    for some in chunks(number for _, number in documents_of(session, urls)):
        own = select(Document.id, Document.item_id, Document.url).where(Document.id.in_(some))
        found.update((number, (item_id, url)) for number, item_id, url in session.execute(own))
    for named in chunks({spelling for url in urls for spelling in spellings(url)}):
        columns = select(InheritedRecord.id, InheritedRecord.item_id, InheritedRecord.url)
        rows = session.execute(columns.where(InheritedRecord.url.in_(named)))
        found.update((number, (item_id, url)) for number, item_id, url in rows)
    return found


def apply_to_item(installation: Config, database: Database, urn: str) -> None:
    """Bring the mirror and the index of one item in line."""
    with database.reading() as session:
        item, urls = find_item(session, urn), session.scalars(select(Withholding.url)).all()
        keys = {key_of(spelling) for url in urls for spelling in spellings(url)}
        of_item = select(Document.id).where(Document.item_id == item.id)
        numbers = [one for some in chunks(keys) for one in session.scalars(of_item.where(Document.key.in_(some)))]
    if urls:
        _apply(installation, database, item.id, numbers)


class WithholdingFollower:
    """Notes the end of embargoes, and applies withholdings of other machines to the files of this home."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._applied: list[int] | None = None

    def check(self) -> None:
        """Apply the withholdings if others are in force than at the last check; without a change it is one query."""
        now = datetime.now(UTC)
        with self._database.reading() as session:
            rows = session.execute(select(Withholding.id, Withholding.until).where(Withholding.lifted_at.is_(None)))
            untils = dict(rows.all())
        in_force = sorted(number for number, until in untils.items() if until is None or until > now)
        if len(in_force) < len(untils):
            with self._database.session() as session:
                lift_expired(session, now)
        if in_force != self._applied:
            for urn in apply_withholdings(self._installation, self._database):
                logger.info("%s: the mirror and the index follow the withheld URLs.", urn)
            self._applied = in_force


def _apply(installation: Config, database: Database, item_id: int, numbers: list[int]) -> str | None:
    with database.reading() as session:
        item = session.get_one(Item, item_id)
        if item.home_id is not None and item.home_id != read_home_id(installation.home):
            return None
        documents = list(session.scalars(select(Document).where(Document.id.in_(numbers))))
        changed = _update_mirror(installation, database, session, item, documents)
        if _update_indexes(installation, session, item, documents) or changed:
            return item.urn
    return None


def _update_mirror(
    installation: Config, database: Database, session: Session, item: Item, documents: list[Document]
) -> bool:
    """Replace copies by notices, and notices by copies; return whether one was replaced."""
    mirror, withheld = installation.archived / item.urn, withheld_urls(session)
    index = CopyIndex(document_types.extensions_by_type(session))
    restored, changed = [], False
    for document in documents:
        kind = document.type if document.rendered_offset is None else RENDERED_TYPE
        path, notice = mirror / index.path(document.url, kind), notice_for(kind)
        if not path.is_file():
            continue
        is_notice = path.stat().st_size == len(notice) and path.read_bytes() == notice
        if bytes(document.key) in withheld and not is_notice:
            write_file(str(path), notice)
            changed = True
        elif bytes(document.key) not in withheld and is_notice:
            restored.append(document.id)
    if restored:
        _restore_copies(installation, database, session, item, restored)
    return changed or bool(restored)


def _restore_copies(
    installation: Config, database: Database, session: Session, item: Item, numbers: Collection[int]
) -> None:
    copies = load_copies(session, installation.items, item)
    tasks = CopyTasks(database, installation.items, item.urn, {})
    live_requests = PublicationConfig.model_validate(item.configuration).live_requests
    with closing(Copier(copies, installation.archived / item.urn, live_requests)) as copier:
        for number in numbers:
            for _, some in tasks.batches(number, number):
                copier.copy_all(some)


def _update_indexes(installation: Config, session: Session, item: Item, documents: list[Document]) -> bool:
    """Write the CDXJ indexes again if a line is missing or must go; return whether that was done."""
    directory = installation.items / item.urn
    withheld = withheld_urls(session)
    wanted = {document.url: bytes(document.key) not in withheld for document in documents if document.warc}
    referred = {url: key_of(url) not in withheld for url in _referred_urls(session, item)}
    if not (directory / "indexes").is_dir():
        return False
    listed = _listed_urls(directory / "indexes" / "index.cdxj", wanted)
    listed_referred = _listed_urls(directory / "indexes" / "referred.cdxj", referred)
    is_right = all((url in listed) == is_wanted for url, is_wanted in wanted.items())
    if is_right and all((url in listed_referred) == is_wanted for url, is_wanted in referred.items()):
        return False
    write_item_indexes(session, item, directory)
    return True


def _referred_urls(session: Session, item: Item) -> Iterator[str]:
    """Yield the URLs that are or were withheld, and whose records in other items have a body of this one."""
    urls = set(session.scalars(select(Withholding.url)))
    records = {number: url for number, (owner, url) in _records(session, urls).items() if owner != item.id}
    for some in chunks(records):
        for one in REFERRING_TABLES:
            named = select(one.refers_to_id).where(one.item_id == item.id, one.refers_to_id.in_(some)).distinct()
            yield from (records[number] for number in session.scalars(named))


def _listed_urls(index: Path, urls: Collection[str]) -> set[str]:
    """Return the URLs of some that an index has."""
    if not index.is_file():
        return set()
    with index.open("rb") as lines:
        return set(listed_urls(lines, urls))
