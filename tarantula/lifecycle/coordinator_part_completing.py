"""From the last document to the archive: links are converted, indicators computed, and it is archived."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from tarantula.archive.mirror.conversion import ProgressCallback, convert_item, ignore_progress
from tarantula.archive.quality.indicators import Indicators, compute_indicators, store_indicators
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.states import ItemState
from tarantula.lifecycle.notifications import send_item_notices
from tarantula.lifecycle.processes import completion_lock
from tarantula.publications.config import PublicationConfig
from tarantula.store.cdxj_part_index import write_item_indexes
from tarantula.store.document_query import last_document_id
from tarantula.store.leases import is_unfinished
from tarantula.store.listings import find_item
from tarantula.store.transitions import (
    DEADLINE_REASON,
    ItemNotice,
    change_state,
    interrupt_item,
    lock_item,
    queue_notice,
)
from tarantula.store.visits import reset_released_visits
from tarantula.tables.publications import Collector, Item

logger = logging.getLogger(__name__)

HANDOVER_DELAY = timedelta(seconds=10)
"""How long a daemon leaves an item that is to be converted to whoever collected it."""


def complete_item(installation: Config, urn: str, progress: ProgressCallback = ignore_progress) -> bool:
    """Convert an item that is to be converted, archive it, and tell of it; say whether somebody else is at it."""
    with open_database(installation) as database:
        if _is_converting(database, urn):
            with completion_lock(installation, urn) as alone:
                if not alone:
                    return False
                # Whoever was at it until now may have done it.
                if _is_converting(database, urn):
                    _convert(installation, database, urn, progress)
        send_item_notices(installation, database, urn)
    return True


def finish_item(database: Database, urn: str, reason: str | None) -> None:
    """End the collection of an item: it is converted next, or archived, or interrupted for a *reason*."""
    reason = _end_visits(database, urn, reason)
    with database.reading() as session:
        is_to_convert = reason is None and _wants_conversion(find_item(session, urn))
    # An item that is to be converted is counted when that is done.
    indicators = None if is_to_convert else _count(database, urn)
    with database.session() as session:
        item, now = lock_item(session, urn), datetime.now(UTC)
        joined = session.scalar(select(exists().where(Collector.item_id == item.id)))
        if item.state != ItemState.COLLECTING or joined:
            logger.info("Item %s is another collector's to end.", urn)
        elif reason is not None:
            interrupt_item(item, reason, now)
            store_indicators(session, item, indicators)
            item.last_document_id = last_document_id(session, item.id)
        elif is_to_convert:
            change_state(item, ItemState.CONVERTING, now)
            item.retry_at = now + HANDOVER_DELAY
        else:
            _archive(session, item, indicators)


def _end_visits(database: Database, urn: str, reason: str | None) -> str | None:
    """Let documents whose visits were not made be what they were; for these alone no item is interrupted at its end."""
    with database.session() as session:
        item = lock_item(session, urn)
        joined = session.scalar(select(exists().where(Collector.item_id == item.id)))
        if item.refreshes_id is None or item.state != ItemState.COLLECTING or joined:
            return reason
        reset_released_visits(session.connection(), item.id)
        return None if reason == DEADLINE_REASON and not is_unfinished(session.connection(), item.id) else reason


def _convert(installation: Config, database: Database, urn: str, progress: ProgressCallback) -> None:
    with database.reading() as session:
        item = find_item(session, urn)
        wanted = _wants_conversion(item)
        if item.refreshes_id is not None:
            # Its time may have been over while nobody collected it who would have done so.
            write_item_indexes(session, item, installation.items / urn)
    if wanted:
        convert_item(installation, database, urn, progress)
    indicators = _count(database, urn)
    with database.session() as session:
        item = lock_item(session, urn)
        # Somebody may have stopped it meanwhile.
        if item.state == ItemState.CONVERTING:
            _archive(session, item, indicators)


def _archive(session: Session, item: Item, indicators: Indicators | None) -> None:
    change_state(item, ItemState.ARCHIVED, datetime.now(UTC))
    item.last_document_id = last_document_id(session, item.id)
    fired = store_indicators(session, item, indicators)
    queue_notice(item, ItemNotice.ATTENTION if fired else ItemNotice.ENDED, " ".join(rule.reason for rule in fired))


def _wants_conversion(item: Item) -> bool:
    return PublicationConfig.model_validate(item.configuration).convert


def _count(database: Database, urn: str) -> Indicators:
    with database.reading() as session:
        return compute_indicators(session, find_item(session, urn))


def _is_converting(database: Database, urn: str) -> bool:
    with database.reading() as session:
        return find_item(session, urn).state == ItemState.CONVERTING
