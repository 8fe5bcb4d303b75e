"""Supervise items: start processes for those that wait, restart after crashes, interrupt the
stopped and the overdue.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, text
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.lifecycle.processes import (
    PROCESS_LOG,
    ItemProcessStarter,
    LiveCollector,
    has_collector,
    is_completing,
    kill_collectors,
    live_collectors,
    remove_dead_collectors,
)
from tarantula.lifecycle.schedule import create_item
from tarantula.models import Item, Publication
from tarantula.store.leases import is_unfinished
from tarantula.store.liveness import machine_id
from tarantula.store.transitions import DEADLINE_REASON, STOPPED_REASON, change_state, interrupt_item, lock_item
from tarantula.store.visits import reset_released_visits

logger = logging.getLogger(__name__)

STARTUP_TIMEOUT = timedelta(seconds=60)
"""How long a process that another daemon started may take until it is heard of."""
MAX_CRASHES = 8
"""How many of an item's processes may die before it is given up."""
KILL_DELAY = timedelta(seconds=60)
"""How long after its deadline, or a wish to stop, a collector that does not obey is killed."""
MAX_RETRY_PAUSE = timedelta(hours=1)
"""Between the death of a process and the next try."""


class ItemSupervisor:
    """Sees after items that are left alone."""

    def __init__(self, installation: Config, database: Database, starter: ItemProcessStarter) -> None:
        self._installation = installation
        self._database = database
        self._starter = starter

    def watch(self, now: datetime) -> None:
        """Interrupt what is stopped or over, count those who died, and plan another try."""
        with self._database.reading() as session:
            collectors = live_collectors(session.connection())
            suspects = session.scalars(
                select(Item).where(
                    Item.state.in_(ACTIVE_ITEM_STATES),
                    or_(Item.retry_at.is_(None), Item.stop_wanted_at.is_not(None), Item.deadline <= now),
                )
            ).all()
        for item in suspects:
            at_work = [collector for collector in collectors if collector.item_id == item.id]
            if not at_work:
                with self._database.session() as session:
                    self._look_after(session, lock_item(session, item.urn), now)
            elif _should_have_ended(item, now):
                kill_collectors(at_work)

    def _look_after(self, session: Session, item: Item, now: datetime) -> None:
        if (
            ItemState(item.state) not in ACTIVE_ITEM_STATES
            or self._has_worker(session, item)
            or self._is_on_its_way(item, now)
        ):
            return
        remove_dead_collectors(session.connection(), item.id)
        if item.stop_wanted_at is not None:
            interrupt_item(item, STOPPED_REASON, now)
        elif item.state == ItemState.COLLECTING and item.deadline is not None and item.deadline <= now:
            self._end_in_time(session, item, now)
        elif item.retry_at is None:
            self._try_again(item, now)

    def _end_in_time(self, session: Session, item: Item, now: datetime) -> None:
        """End an item whose time is over: nothing is missing of a refresh item of which only visits were not made."""
        if item.refreshes_id is not None:
            reset_released_visits(session.connection(), item.id)
            if not is_unfinished(session.connection(), item.id):
                change_state(item, ItemState.CONVERTING, now)
                item.retry_at = now
                return
        interrupt_item(item, DEADLINE_REASON, now)

    def _has_worker(self, session: Session, item: Item) -> bool:
        if item.state == ItemState.CONVERTING:
            return is_completing(self._installation, item.urn)
        return has_collector(session.connection(), item.id)

    def _is_on_its_way(self, item: Item, now: datetime) -> bool:
        if item.launched_at is None:
            return False
        gone = self._starter.is_gone(item.urn)
        return item.launched_at > now - STARTUP_TIMEOUT if gone is None else not gone

    def _try_again(self, item: Item, now: datetime) -> None:
        if item.state == ItemState.WAITING and item.launched_at is None:
            item.retry_at = now
            return
        item.crashes += 1
        item.launched_at = item.launched_on = None
        if item.crashes >= MAX_CRASHES:
            log = self._installation.items / item.urn / PROCESS_LOG
            reason = f"Its processes died {item.crashes} times; {log} says more."
            interrupt_item(item, reason, now)
            return
        pause = min(timedelta(seconds=self._installation.retry_pause * 2 ** (item.crashes - 1)), MAX_RETRY_PAUSE)
        item.retry_at = now + pause
        logger.warning("A process of %s died (%d so far); the next try is in %s.", item.urn, item.crashes, pause)


def _should_have_ended(item: Item, now: datetime) -> bool:
    since = [moment for moment in (item.stop_wanted_at, item.deadline) if moment is not None]
    return bool(since) and min(since) <= now - KILL_DELAY


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
