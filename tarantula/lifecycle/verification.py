"""Verification of a collected item before it is archived: bodies that are lost are collected again, if they may be."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Select, delete, exists, or_, select
from sqlalchemy.orm import Session

from tarantula.archive.damage import lost_documents
from tarantula.archive.fixity import ByteProgress, verify_item, verify_referred_files
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.models import BodyDamage, Document, Item
from tarantula.store.bulk import chunks
from tarantula.store.document_query import last_collected_at
from tarantula.store.listings import find_item
from tarantula.store.transitions import change_state, lock_item
from tarantula.store.warc_repair import Repair, reset_documents

logger = logging.getLogger(__name__)

MAX_REFETCHES = 3
"""How often an item is collected again because bodies are lost; a bad disk must not make this endless."""
TAKEOVER_DELAY = timedelta(seconds=10)
"""How long the daemon leaves the lost documents to the process that verified the item."""


def verify_collected(installation: Config, database: Database, urn: str, progress: ByteProgress) -> bool:
    """Read the files of an item in state `converting` back; return whether it is to be collected again.

    Files that were read back since its last document was collected are not read again: after a crash this continues.
    """
    with database.reading() as session:
        since = session.scalar(last_collected_at(find_item(session, urn).id))
    verify_referred_files(installation, database, urn)
    check = verify_item(installation, database, urn, since, progress=progress)
    return bool(check.lost_bodies) and _collect_again(database, urn)


def _collect_again(database: Database, urn: str) -> bool:
    """Set the documents whose bodies are lost to waiting, if the item may still be collected."""
    with database.session() as session:
        item, now = lock_item(session, urn), datetime.now(UTC)
        if not _may_be_collected(session, item, now):
            return False
        lost = list(session.scalars(_present_captures(session, item)))
        if not lost:
            return False
        repair = Repair()
        while lost:
            lost = [other for chunk in chunks(lost) for other in _reset(session, item, chunk, repair)]
        change_state(item, ItemState.COLLECTING, now)
        item.refetches += 1
        item.retry_at = now + TAKEOVER_DELAY
    logger.warning(
        "%s: %d bodies could not be read back; they are collected again (%d of at most %d times).",
        *(urn, repair.documents, item.refetches, MAX_REFETCHES),
    )
    return True


def _reset(session: Session, item: Item, ids: Sequence[int], repair: Repair) -> Iterable[int]:
    """Set documents to waiting; return those of the item whose body they had."""
    session.execute(delete(BodyDamage).where(BodyDamage.item_id == item.id, BodyDamage.document_id.in_(ids)))
    return reset_documents(session.connection(), item.id, ids, repair)


def _present_captures(session: Session, item: Item) -> Select[int]:
    """Select the documents whose present capture is lost, and not only that of an earlier visit."""
    lost = lost_documents(session, item).subquery()
    is_damaged = exists().where(
        BodyDamage.document_id == Document.id,
        BodyDamage.warc == Document.warc,
        BodyDamage.warc_offset.in_((Document.warc_offset, Document.rendered_offset)),
    )
    return (
        select(Document.id)
        .join(lost, lost.c[0] == Document.id)
        .where(Document.item_id + 0 == item.id, or_(Document.refers_to_id.is_not(None), is_damaged))
    )


def _may_be_collected(session: Session, item: Item, now: datetime) -> bool:
    is_over = item.deadline is not None and item.deadline <= now
    if item.state != ItemState.CONVERTING or item.stop_wanted_at is not None or is_over:
        return False
    # A later item may refer to other records of these documents.
    later = exists().where(Item.publication_id == item.publication_id, Item.id > item.id)
    return item.refetches < MAX_REFETCHES and not session.scalar(select(later))
