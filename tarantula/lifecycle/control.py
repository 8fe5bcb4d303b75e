"""Requests to stop or extend an item, stored in its row, from where its collectors read them."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import Message
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import EXTENSIBLE_ITEM_STATES, ItemState, check_transition
from tarantula.core.times import ALLOWED_YEARS, parse_duration, parse_moment
from tarantula.lifecycle.supervisor import STARTUP_TIMEOUT
from tarantula.models import Item
from tarantula.store.liveness import has_collector
from tarantula.store.transitions import interrupt_item, lock_item


def stop_item(database: Database, urn: str, now: datetime) -> bool:
    """Request that an item stops; return whether it is stopped already."""
    with database.session() as session:
        return request_stop(session, urn, now)


def request_stop(session: Session, urn: str, now: datetime) -> bool:
    """Request that an item stops, within a transaction; return whether it is stopped already."""
    item = lock_item(session, urn)
    check_transition(urn, ItemState(item.state), ItemState.INTERRUPTED)
    if has_or_awaits_collector(session, item, now):
        item.stop_wanted_at = item.stop_wanted_at or now
        return False
    interrupt_item(item, Reason.of(ItemReason.STOPPED), now)
    return True


def extend_item(installation: Config, database: Database, urn: str, text: str, now: datetime) -> datetime:
    """Set another deadline, given as a duration or as a time; return it."""
    with database.session() as session:
        return extend_deadline(session, installation, urn, text, now)


def extend_deadline(session: Session, installation: Config, urn: str, text: str, now: datetime) -> datetime:
    """Set another deadline, within a transaction; return it."""
    item = lock_item(session, urn)
    if ItemState(item.state) not in EXTENSIBLE_ITEM_STATES:
        raise ConflictError(
            "Item {urn} is {state}: its deadline has no effect any more.", urn=urn, state=Message(item.state)
        )
    deadline = _read_deadline(installation, item.deadline, text.strip(), now)
    if deadline <= now:
        raise TarantulaError(
            "{deadline:%Y-%m-%d %H:%M:%S %Z} is past. Give a deadline in the future.",
            deadline=deadline.astimezone(installation.zone),
        )
    item.deadline = deadline
    return deadline


def has_or_awaits_collector(session: Session, item: Item, now: datetime) -> bool:
    """Whether a collector of an item is running or being started."""
    if item.state == ItemState.CONVERTING:
        return False
    is_starting = item.launched_at is not None and item.launched_at > now - STARTUP_TIMEOUT
    return is_starting or has_collector(session.connection(), item.id)


def _read_deadline(installation: Config, present: datetime | None, text: str, now: datetime) -> datetime:
    """Parse a time, or a duration such as ``2d`` that counts from the present deadline, or from now if that is past."""
    try:
        if "-" in text:
            deadline = parse_moment(text, installation.zone) or now
        else:
            deadline = max(present or now, now) + timedelta(seconds=parse_duration(text) or 0)
    except (ValueError, OverflowError) as error:
        raise TarantulaError(str(error)) from error
    if deadline.year not in ALLOWED_YEARS:
        raise TarantulaError("The year {year} is too far away.", year=deadline.year)
    return deadline
