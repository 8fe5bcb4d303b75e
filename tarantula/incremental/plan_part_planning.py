"""Which pages of an item are visited again, and when: the plan that is made of what is believed of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from importlib.util import find_spec

from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.incremental.plan_part_planned import PlannedVisit
from tarantula.publications.registry import config_of
from tarantula.tables.publications import Item

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
