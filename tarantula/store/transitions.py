"""Item state transitions: every change of an item's state, made under the lock of its row."""

from __future__ import annotations

import logging
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session, object_session

from tarantula.core.reasons import EXPECTED_INTERRUPTIONS, Reason
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState, check_transition
from tarantula.models import Item
from tarantula.store.journal import JournalKind, append_item_to_journal
from tarantula.store.listings import find_item
from tarantula.store.visits import reset_released_visits

logger = logging.getLogger(__name__)


class ItemNotice(StrEnum):
    """Kind of a notification about an item."""

    ENDED = "ended"
    INTERRUPTED = "interrupted"
    ATTENTION = "attention"


def lock_item(session: Session, urn: str) -> Item:
    """Return the current row of an item, locked until the end of the transaction."""
    item = find_item(session, urn)
    session.refresh(item, with_for_update=True)
    return item


def change_state(item: Item, new: ItemState, now: datetime) -> None:
    """Set the state of an item and the columns that depend on it; raise if the transition is not allowed."""
    check_transition(item.urn, ItemState(item.state), new)
    item.state = new
    item.reason = None
    item.launched_at = item.launched_on = item.retry_at = None
    if new in ACTIVE_ITEM_STATES:
        item.finished_at = None
        item.last_document_id = None
        item.verified_at = None
    else:
        item.finished_at = now
        item.stop_wanted_at = None
        append_item_to_journal(item, JournalKind.ENDED)
    logger.info("%s is %s.", item.urn, new)


def interrupt_item(item: Item, reason: Reason, now: datetime) -> None:
    """Interrupt an item and queue a notification; unexpected reasons need attention."""
    change_state(item, ItemState.INTERRUPTED, now)
    if item.refreshes_id is not None and (session := object_session(item)) is not None:
        reset_released_visits(session.connection(), item.id)
    item.reason = reason
    is_expected = reason.code in EXPECTED_INTERRUPTIONS
    queue_notice(item, ItemNotice.INTERRUPTED if is_expected else ItemNotice.ATTENTION, reason.sentence())
    logger.info("%s: %s", item.urn, reason)


def queue_notice(item: Item, kind: ItemNotice, text: str = "") -> None:
    """Queue a notification about an item, to be sent after the commit."""
    item.news = {"kind": kind, "why": text}
