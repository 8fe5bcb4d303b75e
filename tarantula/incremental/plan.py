"""A refresh item begins: with what the last one has, and a plan of what is visited again."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.freshness.limits import horizon_of
from tarantula.incremental.plan_part_planned import PlannedVisit, VisitPlanner, write_plan
from tarantula.incremental.plan_part_planning import planned_visits
from tarantula.incremental.previous_item import carry_over
from tarantula.incremental.previous_item_part_earlier_item import item_to_refresh
from tarantula.publications import registry
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item
from tarantula.tables.publications import Item, Publication, Visit

logger = logging.getLogger(__name__)


class RefreshPlan(NamedTuple):
    """What is to be done with an item to keep it fresh."""

    item_id: int
    begins_at: datetime
    ends_at: datetime
    """When the publication is due again, or its longest duration is over."""
    visits: list[PlannedVisit]


def is_to_refresh(session: Session, item: Item) -> bool:
    """Whether an item is still to be given what the last one has."""
    if item.refreshes_id is None or item.started_at is not None:
        return False
    return not session.scalar(select(exists().where(Visit.item_id == item.id)))


def plan_item_refresh(
    session: Session, installation: Config, name: str, urn: str | None, now: datetime
) -> RefreshPlan | None:
    """Plan what an item begins with, or a new one of the publication, if it is to keep another one fresh."""
    publication = registry.get_publication(session, name)
    if urn is None:
        earlier = item_to_refresh(session, publication, registry.config_of(publication))
    else:
        item = find_item(session, urn)
        earlier = session.get(Item, item.refreshes_id) if is_to_refresh(session, item) else None
    return plan_refresh(session, installation, earlier, now, planned_visits) if earlier is not None else None


def plan_refresh(
    session: Session, installation: Config, earlier: Item, now: datetime, planner: VisitPlanner
) -> RefreshPlan:
    """Plan how an item is kept fresh from now on; it takes long for a large one, and writes nothing."""
    ends_at = horizon_end(installation, earlier.publication, now)
    visits = planner(session, earlier, now, (ends_at - now).total_seconds())
    return RefreshPlan(earlier.id, now, ends_at, list(visits))


def begin_refresh(session: Session, installation: Config, item: Item, foreseen: RefreshPlan | None) -> None:
    """Let an item begin with what was foreseen; if the item that it was to keep fresh is gone, it collects anew."""
    earlier = session.get(Item, item.refreshes_id)
    # A removal takes the files first.
    if earlier is None or not (installation.items / earlier.urn).is_dir():
        item.refreshes_id = None
        return
    if foreseen is None or foreseen.item_id != earlier.id:
        foreseen = plan_refresh(session, installation, earlier, datetime.now(UTC), planned_visits)
    apply_refresh(session, item, foreseen)


def apply_refresh(session: Session, item: Item, foreseen: RefreshPlan) -> None:
    """Give an item what the last one has, and the visits that were planned."""
    item.deadline = foreseen.ends_at
    carry_over(session.connection(), foreseen.item_id, item.id)
    append_to_journal(session.connection(), JournalKind.COLLECTED, item.id)
    number = write_plan(session.connection(), item.id, foreseen.visits, foreseen.begins_at)
    logger.info("%s begins with what the last item has; %d visits until %s.", item.urn, number, item.deadline)


def horizon_end(installation: Config, publication: Publication, now: datetime) -> datetime:
    """Return until when an item of a publication would be kept fresh."""
    return now + timedelta(seconds=horizon_of(installation, publication, now))
