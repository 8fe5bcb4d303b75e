"""Which publications are due: each due time makes one item, however many daemons look."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from sqlalchemy import exists, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES
from tarantula.core.times_part_zones import zone_named
from tarantula.lifecycle.schedule import create_item
from tarantula.publications.registry import config_of
from tarantula.publications.schedule import PublicationSchedule, latest_due, next_due
from tarantula.tables.publications import Item, Publication

logger = logging.getLogger(__name__)


def schedule_of(installation: Config, publication: Publication) -> PublicationSchedule:
    """Return what decides when a publication is due."""
    config = config_of(publication)
    return PublicationSchedule(
        config.every, config.start, zone_named(config.zone or installation.timezone), publication.created_at
    )


def next_due_of(installation: Config, publication: Publication) -> datetime | None:
    """Return when a publication is due next; one that is late was due already."""
    return next_due(schedule_of(installation, publication), publication.last_scheduled_at)


class ItemPlanner:
    """Looks for publications that are due, and remembers when those that are not will be."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._next: dict[int, tuple[Any, datetime | None]] = {}

    def plan(self, now: datetime) -> list[str]:
        """Make an item of every publication that is due and has none under way; return their urns."""
        with self._database.reading() as session:
            busy = set(session.scalars(select(Item.publication_id).where(Item.state.in_(ACTIVE_ITEM_STATES))))
            rows = session.scalars(select(Publication)).all()
        due = [row for row in rows if row.id not in busy and self._is_due(row, now)]
        return [urn for row in due if (urn := self._make(row, now))]

    def _is_due(self, publication: Publication, now: datetime) -> bool:
        at = self._next_due(publication)
        return at is not None and at <= now

    def _next_due(self, publication: Publication) -> datetime | None:
        # What decides it has not changed in most of them: nothing is read anew.
        known = (publication.configuration, publication.last_scheduled_at)
        if self._next.get(publication.id, (None,))[0] == known:
            return self._next[publication.id][1]
        try:
            at = next_due_of(self._installation, publication)
        except TarantulaError as error:
            logger.error("%s cannot be planned: %s", publication.name, error)
            at = None
        self._next[publication.id] = (known, at)
        return at

    def _make(self, seen: Publication, now: datetime) -> str | None:
        """Make the item of the latest due time, unless another daemon was faster."""
        due = latest_due(schedule_of(self._installation, seen), seen.last_scheduled_at, now)
        with self._database.session() as session:
            publication = session.scalar(select(Publication).where(Publication.id == seen.id).with_for_update())
            if due is None or publication is None or publication.last_scheduled_at != seen.last_scheduled_at:
                return None
            # Behind the row's lock: whatever another daemon made meanwhile is seen.
            if session.scalar(
                select(exists().where(Item.publication_id == seen.id, Item.state.in_(ACTIVE_ITEM_STATES)))
            ):
                return None
            item = create_item(session, publication, due)
            item.retry_at = now
        logger.info("%s is due since %s: item %s.", seen.name, due.isoformat(timespec="seconds"), item.urn)
        return item.urn
