"""What somebody wants of an item: that it stops, that it has more time. The database carries it to the collectors."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import EXTENSIBLE_ITEM_STATES, ItemState, check_transition
from tarantula.core.times import ALLOWED_YEARS, parse_duration, parse_moment
from tarantula.lifecycle.processes import has_collector
from tarantula.lifecycle.supervisor import STARTUP_TIMEOUT
from tarantula.models import Item
from tarantula.store.transitions import STOPPED_REASON, interrupt_item, lock_item


def stop_item(database: Database, urn: str, now: datetime) -> bool:
    """Ask for an item to be stopped; say whether it is already."""
    with database.session() as session:
        return request_stop(session, urn, now)


def request_stop(session: Session, urn: str, now: datetime) -> bool:
    """Do so in a transaction of somebody else's."""
    item = lock_item(session, urn)
    check_transition(urn, ItemState(item.state), ItemState.INTERRUPTED)
    if has_or_awaits_collector(session, item, now):
        item.stop_wanted_at = item.stop_wanted_at or now
        return False
    interrupt_item(item, STOPPED_REASON, now)
    return True


def extend_item(installation: Config, database: Database, urn: str, text: str, now: datetime) -> datetime:
    """Give an item another deadline, which its collectors go by: *text* more time, or until then."""
    with database.session() as session:
        return extend_deadline(session, installation, urn, text, now)


def extend_deadline(session: Session, installation: Config, urn: str, text: str, now: datetime) -> datetime:
    """Do so in a transaction of somebody else's."""
    item = lock_item(session, urn)
    if ItemState(item.state) not in EXTENSIBLE_ITEM_STATES:
        raise ConflictError(f"Item {urn} is {item.state}: its deadline matters no more.")
    until = _read_deadline(installation, item.deadline, text.strip(), now)
    if until <= now:
        raise TarantulaError(
            f"{until.astimezone(installation.zone):%Y-%m-%d %H:%M:%S %Z} is past. Name a deadline that is to come."
        )
    item.deadline = until
    return until


def has_or_awaits_collector(session: Session, item: Item, now: datetime) -> bool:
    """Whether a collector is at work on an item or on its way to it."""
    if item.state == ItemState.CONVERTING:
        return False
    on_its_way = item.launched_at is not None and item.launched_at > now - STARTUP_TIMEOUT
    return on_its_way or has_collector(session.connection(), item.id)


def _read_deadline(installation: Config, before: datetime | None, text: str, now: datetime) -> datetime:
    """Read ``2d``, which counts from the present deadline or from now if that is past, or a moment."""
    try:
        if "-" in text:
            until = parse_moment(text, installation.zone) or now
        else:
            until = max(before or now, now) + timedelta(seconds=parse_duration(text) or 0)
    except (ValueError, OverflowError) as error:
        raise TarantulaError(str(error)) from error
    if until.year not in ALLOWED_YEARS:
        raise TarantulaError(f"The year {until.year} is too far away.")
    return until
