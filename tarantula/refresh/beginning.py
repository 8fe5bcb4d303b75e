"""A refresh item begins: with what the last one has, and a plan of what is visited again."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from tarantula.beliefs.limits import horizon_of
from tarantula.config import Config
from tarantula.models import Item, Visit
from tarantula.refresh.carrying import carry_over
from tarantula.refresh.planned import Planner, write_plan

logger = logging.getLogger(__name__)


def is_to_refresh(session: Session, item: Item) -> bool:
    """Whether an item is still to be given what the last one has."""
    if item.refreshes_id is None or item.started_at is not None:
        return False
    return not session.scalar(select(exists().where(Visit.item_id == item.id)))


def refresh(session: Session, installation: Config, item: Item, now: datetime, planner: Planner) -> None:
    """Carry over what the last item has, and plan visits; if that item is gone, this one collects anew."""
    earlier = session.get(Item, item.refreshes_id)
    if earlier is None:
        item.refreshes_id = None
        return
    carry_over(session.connection(), earlier.id, item.id)
    item.deadline = horizon_end(installation, item, now)
    horizon = (item.deadline - now).total_seconds()
    number = write_plan(session.connection(), item.id, planner(session, item, now, horizon), now)
    logger.info("%s keeps %s fresh until %s, with %d visits.", item.urn, earlier.urn, item.deadline, number)


def horizon_end(installation: Config, item: Item, now: datetime) -> datetime:
    """Return until when an item keeps another fresh: the publication is due again, or its longest duration is over."""
    return now + timedelta(seconds=horizon_of(installation, item.publication, now))
