"""From one state to another: one piece of code for every move, under the item's lock."""

from __future__ import annotations

import logging
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session, object_session

from tarantula.core.states import ALIVE, ItemState, check_move
from tarantula.store.journal import Happened, note_of
from tarantula.store.listings import find_item
from tarantula.store.visits import put_back
from tarantula.tables.publications import Item

logger = logging.getLogger(__name__)

STOPPED = "Somebody stopped it."
OVER = "Its longest duration was over."


class News(StrEnum):
    """What is told of an item."""

    ENDED = "ended"
    INTERRUPTED = "interrupted"
    ATTENTION = "attention"


def hold(session: Session, urn: str) -> Item:
    """Return an item as it is now, and keep others from changing it until the end of the transaction."""
    item = find_item(session, urn)
    session.refresh(item, with_for_update=True)
    return item


def move(item: Item, new: ItemState, now: datetime) -> None:
    """Bring an item to another state, if that is legal."""
    check_move(item.urn, ItemState(item.state), new)
    item.state = new
    item.reason = None
    item.launched_at = item.launched_on = item.retry_at = None
    if new in ALIVE:
        item.finished_at = None
        item.last_document_id = None
    else:
        item.finished_at = now
        item.stop_wanted_at = None
        note_of(item, Happened.ENDED)
    logger.info("%s is %s.", item.urn, new)


def interrupt(item: Item, reason: str, now: datetime) -> None:
    """Interrupt an item, with the reason; any but the usual ones needs attention."""
    move(item, ItemState.INTERRUPTED, now)
    if item.refreshes_id is not None and (session := object_session(item)) is not None:
        put_back(session.connection(), item.id)
    item.reason = reason
    announce(item, News.INTERRUPTED if reason in (STOPPED, OVER) else News.ATTENTION, reason)
    logger.info("%s: %s", item.urn, reason)


def announce(item: Item, news: News, why: str = "") -> None:
    """Leave something to be told of an item, once it is committed."""
    item.news = {"kind": news, "why": why}
