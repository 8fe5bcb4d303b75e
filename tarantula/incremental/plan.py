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
from tarantula.freshness.limits import horizon_of
from tarantula.incremental.previous_item import carry_over, item_to_refresh
from tarantula.models import Item, Publication, Visit
from tarantula.publications import registry
from tarantula.publications.registry import config_of
from tarantula.store.bulk import chunks, execute_rows
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.listings import find_item

ROWS_PER_INSERT = 10_000
"""Visits that are written at a time."""

_INSERT = (
    "INSERT INTO visit (item_id, document_id, due_at, rate, believed)"
    " SELECT own.item_id, own.id, planned.column3, planned.column4, planned.column5 FROM ({rows}) AS planned"
    " JOIN document ON document.id = planned.column2"
    " JOIN document AS own ON own.item_id = planned.column1 AND own.key = document.key"
)
_TYPES = ("integer", "bigint", "timestamptz", "float8", "float8")


class PlannedVisit(NamedTuple):
    """When a document is to be visited, and why."""

    document_id: int
    """Of the item that is kept fresh."""
    after: float
    """Seconds from the beginning."""
    rate: float
    """The rate of changes, in a second, that gives this chance."""
    believed: float
    """The chance that it changed since it was last visited."""


VisitPlanner = Callable[[Session, Item, datetime, float], Iterable[PlannedVisit]]
"""Chooses visits to the pages of an item from a moment on, within so many seconds."""


def write_plan(connection: Connection, item_id: int, planned: Iterable[PlannedVisit], begin: datetime) -> int:
    """Store visits to the documents of an item that have the same URLs; return how many there are."""
    number = 0
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
        number += len(rows)
    return number


PLANNING_PACKAGES = ("numpy", "scipy", "numba")

logger = logging.getLogger(__name__)


def check_can_plan() -> None:
    """Say what is missing, if visits cannot be planned here."""
    missing = [package for package in PLANNING_PACKAGES if find_spec(package) is None]
    if missing:
        raise TarantulaError(f"Visits are planned with {missing[0]}. Install it with: pip install 'tarantula[revisit]'")


def planned_visits(session: Session, item: Item, now: datetime, horizon: float) -> Iterable[PlannedVisit]:
    """Choose visits to the pages of an item, within what its publication and its servers allow."""
    check_can_plan()
    from tarantula.freshness.plan import plan_visits

    most = config_of(item.publication).refresh_visits
    try:
        plan = plan_visits(session, item.publication, horizon=horizon, begins_at=now, visits=most, item=item)
    except TarantulaError as error:
        # What waits is collected all the same.
        logger.warning("No page of %s is visited again: %s", item.urn, error)
        return ()
    columns = (plan.documents.tolist(), plan.due.tolist(), plan.rates.tolist(), plan.believed.tolist())
    return map(PlannedVisit, *columns)


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
