"""Refresh items for tests: with visits that a test chooses, or those of the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.config import Config
from tarantula.coordinator import prepare_item
from tarantula.db import Database
from tarantula.life.moving import hold
from tarantula.listings import find_item
from tarantula.models import Document, Item, Visit
from tarantula.refresh.beginning import refresh
from tarantula.refresh.planned import PlannedVisit, Planner
from tests.collecting import PATIENCE, SCRAPY, start

RATE = 0.1
"""Changes a second, believed of every page."""


def chosen(visits: Mapping[str, Sequence[float]]) -> Planner:
    """Plan visits of URLs, so many seconds after the beginning."""

    def plan(session: Session, item: Item, _now: datetime, _horizon: float) -> Iterable[PlannedVisit]:
        ids = dict(session.execute(select(Document.url, Document.id).where(Document.item_id == item.id)).all())
        return [PlannedVisit(ids[url], after, RATE, 0.5) for url, times in visits.items() for after in times]

    return plan


def prepare(database: Database, config: Config, name: str, planner: Planner) -> str:
    """Make a refresh item whose collectors are still to be started; return its urn."""
    urn = prepare_item(config, name)
    with database.session() as session:
        refresh(session, config, hold(session, urn), datetime.now(UTC), planner)
    return urn


def collect_item(name: str, urn: str, patience: float = PATIENCE) -> str:
    """Collect an item to its end; return the log."""
    process = start((SCRAPY, "crawl", name, "-a", f"item={urn}"))
    _, log = process.communicate(timeout=patience)
    assert process.returncode == 0, log
    assert "Traceback" not in log, log
    return log


def visits_of(database: Database, urn: str) -> dict[str, list[Visit]]:
    """Return the visits of an item by the URLs of its documents, in the order in which they were due."""
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
