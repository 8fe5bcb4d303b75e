"""A process for every item that wants one, up to a limit for each machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, select, text
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.lifecycle.processes import LiveCollector, live_collectors
from tarantula.lifecycle.processes_part_starting import ItemProcessStarter
from tarantula.lifecycle.schedule import create_item
from tarantula.store.liveness_part_machine import machine_id
from tarantula.tables.publications import Item, Publication

logger = logging.getLogger(__name__)

LAUNCH_LOCK_KEY = 0x6C61756E
"""What PostgreSQL calls the turn of whoever launches."""


class Launcher:
    """Starts processes for items whose time has come, the oldest first."""

    def __init__(self, installation: Config, database: Database, starter: ItemProcessStarter) -> None:
        self._limit = installation.collectors
        self._database = database
        self._starter = starter

    def launch(self, now: datetime) -> list[str]:
        """Start what may be started now; return the urns."""
        with self._database.reading() as session:
            if session.scalar(select(Item.id).where(_wants(now)).limit(1)) is None:
                return []
        return list(self._launch_all(now))

    def _launch_all(self, now: datetime) -> Iterator[str]:
        while (item := self._claim(now)) is not None:
            name, urn, state = item
            try:
                self._starter.start(name, urn, state)
                logger.info("A process was started for %s, which is %s.", urn, state)
            except OSError as error:
                # Nobody will be heard of: then it counts as one that died.
                logger.error("No process could be started for %s: %s.", urn, error)
            yield urn

    def _claim(self, now: datetime) -> tuple[str, str, ItemState] | None:
        """Take the next item, if there is room for its process; of many daemons one does."""
        with self._database.session() as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LAUNCH_LOCK_KEY})
            collectors = live_collectors(session.connection())
            if _under_way(session, collectors) >= self._limit:
                return None
            # Somebody who was taken for dead may be back.
            busy = [collector.item_id for collector in collectors]
            wanting = select(Item).where(_wants(now), Item.id.not_in(busy)).order_by(Item.retry_at, Item.id)
            item = session.scalar(wanting.limit(1).with_for_update(of=Item))
            if item is None:
                return None
            item.launched_at, item.launched_on, item.retry_at = now, machine_id(), None
            return item.publication.name, item.urn, ItemState(item.state)


def _under_way(session: Session, collectors: list[LiveCollector]) -> int:
    """Return how many processes are at work on this machine, or on their way to it."""
    here = machine_id()
    on_their_way = select(func.count()).where(
        Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_not(None), Item.launched_on == here
    )
    return sum(collector.host == here for collector in collectors) + (session.scalar(on_their_way) or 0)


def _wants(now: datetime) -> ColumnElement[bool]:
    return and_(Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_(None), Item.retry_at <= now)


def create_item_now(session: Session, publication: Publication, now: datetime) -> Item:
    """Make an item whose process whoever asks starts at once, unless one of the publication is under way."""
    session.refresh(publication, with_for_update=True)
    alive = select(Item.urn).where(Item.publication_id == publication.id, Item.state.in_(ACTIVE_ITEM_STATES)).limit(1)
    if (urn := session.scalar(alive)) is not None:
        raise TarantulaError(f"{urn} is under way. Wait for its end, or stop it, before another one is collected.")
    item = create_item(session, publication, now)
    # No daemon must start a second process for it.
    item.launched_at, item.launched_on = now, machine_id()
    return item
