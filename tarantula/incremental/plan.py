"""Plan the visits of an incremental item, store them, and begin the item with the rows of the previous one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import NamedTuple

from sqlalchemy import Connection, exists, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.freshness.limits import horizon_of
from tarantula.incremental.previous_item import carry_over, item_to_refresh
from tarantula.models import Item, Publication, Visit
from tarantula.publications import registry
from tarantula.publications.registry import config_of
from tarantula.store.bulk import chunks, execute_rows
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item

logger = logging.getLogger(__name__)

PLANNING_PACKAGES = ("numpy", "scipy", "numba")
ROWS_PER_INSERT = 10_000
"""Visits written in one statement."""

_INSERT = (
    "INSERT INTO visit (item_id, document_id, due_at, rate, believed)"
    " SELECT own.item_id, own.id, planned.column3, planned.column4, planned.column5 FROM ({rows}) AS planned"
    " JOIN document ON document.id = planned.column2"
    " JOIN document AS own ON own.item_id = planned.column1 AND own.key = document.key"
)
_TYPES = ("integer", "bigint", "timestamptz", "float8", "float8")


class PlannedVisit(NamedTuple):
    """One planned visit, with the estimate behind it."""

    document_id: int
    """Id of the document in the previous item."""
    after: float
    """Seconds from the beginning of the plan."""
    rate: float
    """Changes a second; gives the probability `believed`."""
    believed: float
    """Probability that the document has changed since its last visit."""


VisitPlanner = Callable[[Session, Item, datetime, float], Iterable[PlannedVisit]]
"""Plans visits to the pages of an item, from a time on and for a count of seconds."""


def write_plan(connection: Connection, item_id: int, planned: Iterable[PlannedVisit], begin: datetime) -> int:
    """Insert planned visits for the documents of an item with the same URLs; return their count."""
    count = 0
    for chunk in chunks(planned, ROWS_PER_INSERT):
        rows = [
            (
                item_id,
                visit.document_id,
                begin + timedelta(seconds=visit.after),
                visit.rate,
                visit.believed,
            )
            for visit in chunk
        ]
        execute_rows(connection, _INSERT, rows, _TYPES)
        count += len(rows)
    return count


def check_can_plan() -> None:
    """Raise an error if a package that planning needs is not installed."""
    missing = [package for package in PLANNING_PACKAGES if find_spec(package) is None]
    if missing:
        raise TarantulaError(
            "Planning visits needs {missing}. Install it with: pip install 'tarantula[revisit]'", missing=missing[0]
        )


def planned_visits(session: Session, item: Item, now: datetime, horizon: float) -> Iterable[PlannedVisit]:
    """Plan visits to the pages of an item, within the limits of its publication and its servers."""
    check_can_plan()
    from tarantula.freshness.plan import plan_visits

    max_visits = config_of(item.publication).refresh_visits
    try:
        plan = plan_visits(session, item.publication, horizon=horizon, begins_at=now, visits=max_visits, item=item)
    except TarantulaError as error:
        # Waiting documents are collected all the same.
        logger.warning("No page of %s is visited again: %s", item.urn, error)
        return ()
    columns = (plan.documents.tolist(), plan.due.tolist(), plan.rates.tolist(), plan.believed.tolist())
    return map(PlannedVisit, *columns)


class RefreshPlan(NamedTuple):
    """The visits that keep an item fresh."""

    item_id: int
    """The previous item."""
    begins_at: datetime
    ends_at: datetime
    """When the publication is due again, or its maximum duration is over."""
    visits: list[PlannedVisit]


def is_to_refresh(session: Session, item: Item) -> bool:
    """Whether the rows of the previous item are still to be copied into an item."""
    if item.refreshes_id is None or item.started_at is not None:
        return False
    return not session.scalar(select(exists().where(Visit.item_id == item.id)))


def plan_item_refresh(
    session: Session, installation: Config, name: str, urn: str | None, now: datetime
) -> RefreshPlan | None:
    """Plan the visits of an item, or of a new item of the publication if *urn* is not given.

    Return ``None`` if the item continues no other.
    """
    publication = registry.get_publication(session, name)
    if urn is None:
        previous = item_to_refresh(session, publication, registry.config_of(publication))
    else:
        item = find_item(session, urn)
        previous = session.get(Item, item.refreshes_id) if is_to_refresh(session, item) else None
    return plan_refresh(session, installation, previous, now, planned_visits) if previous is not None else None


def plan_refresh(
    session: Session, installation: Config, previous: Item, now: datetime, planner: VisitPlanner
) -> RefreshPlan:
    """Plan the visits that continue *previous* from now on. Takes long for a large item, and writes nothing."""
    ends_at = horizon_end(installation, previous.publication, now)
    visits = planner(session, previous, now, (ends_at - now).total_seconds())
    return RefreshPlan(previous.id, now, ends_at, list(visits))


def begin_refresh(session: Session, installation: Config, item: Item, plan: RefreshPlan | None) -> None:
    """Begin an incremental item with its plan; collect everything if the previous item was removed."""
    previous = session.get(Item, item.refreshes_id)
    if previous is None or previous.state == ItemState.REMOVING or not (installation.items / previous.urn).is_dir():
        item.refreshes_id = None
        return
    if plan is None or plan.item_id != previous.id:
        plan = plan_refresh(session, installation, previous, datetime.now(UTC), planned_visits)
    apply_refresh(session, item, plan)


def apply_refresh(session: Session, item: Item, plan: RefreshPlan) -> None:
    """Copy the rows of the previous item, and store the planned visits."""
    item.deadline = plan.ends_at
    carry_over(session.connection(), plan.item_id, item.id)
    append_to_journal(session.connection(), JournalKind.COLLECTED, item.id)
    count = write_plan(session.connection(), item.id, plan.visits, plan.begins_at)
    logger.info("%s continues the previous item, with %d visits until %s.", item.urn, count, item.deadline)


def horizon_end(installation: Config, publication: Publication, now: datetime) -> datetime:
    """Return the end of the plan for an item that begins now."""
    return now + timedelta(seconds=horizon_of(installation, publication, now))
