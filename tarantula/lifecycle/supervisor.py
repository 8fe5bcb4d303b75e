"""Supervise items: start processes for waiting ones, restart after crashes, interrupt the stopped and the overdue."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, text
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.lifecycle.processes import PROCESS_LOG, ItemProcessStarter, is_completing
from tarantula.models import Item
from tarantula.store.leases import is_unfinished
from tarantula.store.liveness import (
    LiveCollector,
    has_collector,
    live_collectors,
    machine_id,
    remove_dead_collectors,
)
from tarantula.store.transitions import change_state, interrupt_item, lock_item
from tarantula.store.visits import reset_released_visits

logger = logging.getLogger(__name__)

STARTUP_TIMEOUT = timedelta(seconds=60)
"""Time that a process started by another daemon has until its first heartbeat."""
MAX_CRASHES = 8
"""Crashed processes of an item before it is interrupted."""
KILL_DELAY = timedelta(seconds=60)
"""Time after its deadline or a stop request until a collector that is still running is killed."""
MAX_RETRY_PAUSE = timedelta(hours=1)
"""Longest pause between a crash and the next try."""
LAUNCH_LOCK_KEY = 0x6C61756E
"""Key of PostgreSQL's advisory lock that lets one daemon launch at a time."""


class ItemSupervisor:
    """Checks active items without a running process."""

    def __init__(self, installation: Config, database: Database, starter: ItemProcessStarter) -> None:
        self._installation = installation
        self._database = database
        self._starter = starter

    def check(self, now: datetime) -> None:
        """Interrupt items that are stopped or overdue, count crashes, and schedule retries."""
        with self._database.reading() as session:
            collectors = live_collectors(session.connection())
            suspects = session.scalars(
                select(Item).where(
                    Item.state.in_(ACTIVE_ITEM_STATES),
                    or_(Item.retry_at.is_(None), Item.stop_wanted_at.is_not(None), Item.deadline <= now),
                )
            ).all()
        for item in suspects:
            own_collectors = [collector for collector in collectors if collector.item_id == item.id]
            if not own_collectors:
                with self._database.session() as session:
                    self._check_item(session, lock_item(session, item.urn), now)
            elif _should_have_ended(item, now):
                _kill_collectors(own_collectors)

    def _check_item(self, session: Session, item: Item, now: datetime) -> None:
        is_active = ItemState(item.state) in ACTIVE_ITEM_STATES
        if not is_active or self._has_process(session, item) or self._is_starting(item, now):
            return
        remove_dead_collectors(session.connection(), item.id)
        if item.stop_wanted_at is not None:
            interrupt_item(item, Reason.of(ItemReason.STOPPED), now)
        elif item.state == ItemState.COLLECTING and item.deadline is not None and item.deadline <= now:
            self._end_at_deadline(session, item, now)
        elif item.retry_at is None:
            self._schedule_retry(item, now)

    def _end_at_deadline(self, session: Session, item: Item, now: datetime) -> None:
        """Interrupt an item, or convert a refresh item of which only visits are left."""
        if item.refreshes_id is not None:
            reset_released_visits(session.connection(), item.id)
            if not is_unfinished(session.connection(), item.id):
                change_state(item, ItemState.CONVERTING, now)
                item.retry_at = now
                return
        interrupt_item(item, Reason.of(ItemReason.DEADLINE), now)

    def _has_process(self, session: Session, item: Item) -> bool:
        if item.state == ItemState.CONVERTING:
            return is_completing(self._installation, item.urn)
        return has_collector(session.connection(), item.id)

    def _is_starting(self, item: Item, now: datetime) -> bool:
        if item.launched_at is None:
            return False
        has_exited = self._starter.has_exited(item.urn)
        return item.launched_at > now - STARTUP_TIMEOUT if has_exited is None else not has_exited

    def _schedule_retry(self, item: Item, now: datetime) -> None:
        if item.state == ItemState.WAITING and item.launched_at is None:
            item.retry_at = now
            return
        item.crashes += 1
        item.launched_at = item.launched_on = None
        if item.crashes >= MAX_CRASHES:
            log = self._installation.items / item.urn / PROCESS_LOG
            interrupt_item(item, Reason.of(ItemReason.CRASHED, crashes=item.crashes, log=str(log)), now)
            return
        pause = min(timedelta(seconds=self._installation.retry_pause * 2 ** (item.crashes - 1)), MAX_RETRY_PAUSE)
        item.retry_at = now + pause
        logger.warning("A process of %s crashed (%d so far); the next try is in %s.", item.urn, item.crashes, pause)


def _should_have_ended(item: Item, now: datetime) -> bool:
    limits = [moment for moment in (item.stop_wanted_at, item.deadline) if moment is not None]
    return bool(limits) and min(limits) <= now - KILL_DELAY


def _kill_collectors(collectors: Iterable[LiveCollector]) -> None:
    """Kill the collectors that run on this machine."""
    for collector in collectors:
        if collector.host == machine_id():
            logger.warning("The collector with process id %d did not stop and is killed.", collector.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(collector.pid, signal.SIGKILL)


class Launcher:
    """Starts processes for items whose `retry_at` has come, oldest first, up to a limit for each machine."""

    def __init__(self, installation: Config, database: Database, starter: ItemProcessStarter) -> None:
        self._limit = installation.collectors
        self._database = database
        self._starter = starter

    def launch(self, now: datetime) -> list[str]:
        """Start the processes that are allowed now; return the urns of their items."""
        with self._database.reading() as session:
            if session.scalar(select(Item.id).where(_is_ready(now)).limit(1)) is None:
                return []
        return list(self._launch_all(now))

    def _launch_all(self, now: datetime) -> Iterator[str]:
        while (item := self._claim(now)) is not None:
            name, urn, state = item
            try:
                self._starter.start(name, urn, state)
                logger.info("Started a process for %s, which is %s.", urn, state)
            except OSError as error:
                # The supervisor counts it as a crash, since no heartbeat follows.
                logger.error("No process could be started for %s: %s.", urn, error)
            yield urn

    def _claim(self, now: datetime) -> tuple[str, str, ItemState] | None:
        """Mark the next ready item as launched, if this machine may run another process; one daemon gets it."""
        with self._database.session() as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LAUNCH_LOCK_KEY})
            collectors = live_collectors(session.connection())
            if _process_count(session, collectors) >= self._limit:
                return None
            # A collector that was taken for dead may be back.
            busy = [collector.item_id for collector in collectors]
            ready = select(Item).where(_is_ready(now), Item.id.not_in(busy)).order_by(Item.retry_at, Item.id)
            item = session.scalar(ready.limit(1).with_for_update(of=Item))
            if item is None:
                return None
            item.launched_at, item.launched_on, item.retry_at = now, machine_id(), None
            return item.publication.name, item.urn, ItemState(item.state)


def _process_count(session: Session, collectors: list[LiveCollector]) -> int:
    """Count the processes that run on this machine or are being started on it."""
    here = machine_id()
    starting = select(func.count()).where(
        Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_not(None), Item.launched_on == here
    )
    return sum(collector.host == here for collector in collectors) + (session.scalar(starting) or 0)


def _is_ready(now: datetime) -> ColumnElement[bool]:
    return and_(Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_(None), Item.retry_at <= now)
