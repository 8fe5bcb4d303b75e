"""From one state to another: one piece of code for every move, under the item's lock."""

from __future__ import annotations

import logging
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.listings import find_item
from tarantula.models import Item
from tarantula.states import ALIVE, ItemState, check_move

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
    statement = select(Item).where(Item.urn == urn).with_for_update().execution_options(populate_existing=True)
    return session.scalar(statement) or find_item(session, urn)


def move(item: Item, new: ItemState, now: datetime) -> None:
    """Bring an item to another state, if that is legal."""
    check_move(item.urn, ItemState(item.state), new)
    item.state = new
    item.reason = None
    item.launched_at = item.launched_on = item.retry_at = None
    if new in ALIVE:
        item.finished_at = None
    else:
        item.finished_at = now
        item.stop_wanted_at = None
    logger.info("%s is %s.", item.urn, new)


def interrupt(item: Item, reason: str, now: datetime, news: News = News.INTERRUPTED) -> None:
    """Interrupt an item, with the reason."""
    move(item, ItemState.INTERRUPTED, now)
    item.reason = reason
    announce(item, news, reason)
    logger.info("%s: %s", item.urn, reason)


def announce(item: Item, news: News, why: str = "") -> None:
    """Leave something to be told of an item, once it is committed."""
    item.news = {"kind": news, "why": why}
