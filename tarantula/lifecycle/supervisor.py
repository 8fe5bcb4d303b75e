"""Items that nobody is at work on, though they are not done: stopped, out of time, or left by the dead."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.lifecycle.processes import (
    has_collector,
    is_completing,
    kill_collectors,
    live_collectors,
    remove_dead_collectors,
)
from tarantula.lifecycle.processes_part_starting import PROCESS_LOG, ItemProcessStarter
from tarantula.store.leases import is_unfinished
from tarantula.store.transitions import DEADLINE_REASON, STOPPED_REASON, change_state, interrupt_item, lock_item
from tarantula.store.visits import reset_released_visits
from tarantula.tables.publications import Item

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
            reason = f"Its processes died {item.crashes} times; {self._installation.items / item.urn / PROCESS_LOG} says more."
            interrupt_item(item, reason, now)
            return
        pause = min(timedelta(seconds=self._installation.retry_pause * 2 ** (item.crashes - 1)), MAX_RETRY_PAUSE)
        item.retry_at = now + pause
        logger.warning("A process of %s died (%d so far); the next try is in %s.", item.urn, item.crashes, pause)


def _should_have_ended(item: Item, now: datetime) -> bool:
    since = [moment for moment in (item.stop_wanted_at, item.deadline) if moment is not None]
    return bool(since) and min(since) <= now - KILL_DELAY
