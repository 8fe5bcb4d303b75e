"""Incremental items, with visits that a test chooses or with those of the plan."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.lifecycle.coordinator import prepare_item
from tarantula.lifecycle.incremental import PlannedVisit, VisitPlanner, apply_refresh, plan_refresh
from tarantula.models import Document, Item, Visit
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item
from tests.support.crawls import SCRAPY, start
from tests.support.waits import TIMEOUT_SECONDS

RATE = 0.1
"""Estimated changes per second of every page."""


def chosen(visits: Mapping[str, Sequence[float]]) -> VisitPlanner:
    """Return a planner that visits URLs the given numbers of seconds after the begin."""

    def plan(session: Session, item: Item, _now: datetime, _horizon: float) -> Iterable[PlannedVisit]:
        ids = dict(session.execute(select(Document.url, Document.id).where(Document.item_id == item.id)).all())
        return [PlannedVisit(ids[url], after, RATE, 0.5) for url, times in visits.items() for after in times]

    return plan


def prepare(
    database: Database, config: Config, name: str, planner: VisitPlanner, begins_at: datetime | None = None
) -> str:
    """Create an incremental item without starting its collectors; return its urn."""
    urn = prepare_item(config, name)
    with database.session() as session:
        item = lock_item(session, urn)
        earlier = session.get_one(Item, item.refreshes_id)
        apply_refresh(session, item, plan_refresh(session, config, earlier, begins_at or datetime.now(UTC), planner))
    return urn


def begin_collecting(name: str, urn: str) -> subprocess.Popen[str]:
    """Start a collector of an item."""
    return start((SCRAPY, "crawl", name, "-a", f"item={urn}"))


def end_of(process: subprocess.Popen[str], patience: float = TIMEOUT_SECONDS) -> str:
    """Wait until a collector has ended without errors; return the log."""
    log = process.communicate(timeout=patience)[1]
    assert process.returncode == 0, log
    assert "Traceback" not in log, log
    return log


def made(database: Database, urn: str) -> int:
    """Return the number of visits that an item has made."""
    return sum(visit.made_at is not None for visits in visits_of(database, urn).values() for visit in visits)


def bring_forward(database: Database, urn: str, seconds: float) -> None:
    """Make the remaining visits due *seconds* sooner."""
    with database.session() as session:
        item = find_item(session, urn)
        chosen = select(Visit).where(Visit.item_id == item.id, Visit.released_at.is_(None))
        for visit in session.scalars(chosen):
            visit.due_at -= timedelta(seconds=seconds)


def visits_of(database: Database, urn: str) -> dict[str, list[Visit]]:
    """Return the visits of an item by URL, in the order of their due times."""
    with database.reading() as session:
        item = find_item(session, urn)
        rows = session.execute(
            select(Document.url, Visit)
            .join(Visit, Visit.document_id == Document.id)
            .where(Visit.item_id == item.id)
            .order_by(Visit.due_at, Visit.id)
        )
        found: dict[str, list[Visit]] = {}
        for url, visit in rows:
            found.setdefault(url, []).append(visit)
        return found
