"""Supervise the collectors: find those that ended or stopped answering, and stop items on request."""

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
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import Message
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import ACTIVE_ITEM_STATES, EXTENSIBLE_ITEM_STATES, DocumentState, ItemState, check_transition
from tarantula.core.times import ALLOWED_YEARS, parse_duration, parse_moment
from tarantula.lifecycle.processes import PROCESS_LOG, ItemProcessStarter, is_completing
from tarantula.models import Document, Item, Visit
from tarantula.store.homes import belongs_here
from tarantula.store.leases import is_unfinished
from tarantula.store.liveness import (
    LiveCollector,
    has_collector,
    host_name,
    is_drained,
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
                    belongs_here(self._installation),
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
            self._schedule_retry(session, item, now)

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

    def _schedule_retry(self, session: Session, item: Item, now: datetime) -> None:
        if item.state == ItemState.WAITING and item.launched_at is None:
            item.retry_at = now
            return
        _count_crash(session, item)
        item.launched_at = item.launched_on = None
        if item.crashes >= MAX_CRASHES:
            log = self._installation.items / item.urn / PROCESS_LOG
            interrupt_item(item, Reason.of(ItemReason.CRASHED, crashes=item.crashes, log=str(log)), now)
            return
        pause = retry_pause(self._installation, item.crashes)
        item.retry_at = now + pause
        logger.warning("A process of %s crashed (%d so far); the next try is in %s.", item.urn, item.crashes, pause)


def retry_pause(installation: Config, failures: int) -> timedelta:
    """Return the pause after a number of failures: each time twice as long, up to `MAX_RETRY_PAUSE`."""
    doublings = min(failures - 1, 32)
    return min(timedelta(seconds=installation.retry_pause * 2**doublings), MAX_RETRY_PAUSE)


def _count_crash(session: Session, item: Item) -> None:
    """Count a crash; the count starts again if documents were finished since the last one."""
    done = _finished_count(session, item)
    is_progress = item.crash_mark is not None and done > item.crash_mark
    item.crashes = 1 if is_progress else item.crashes + 1
    item.crash_mark = done


def _finished_count(session: Session, item: Item) -> int:
    """Count the finished documents and visits of an item, each by an index."""
    pending = (DocumentState.WAITING, DocumentState.COLLECTING)
    documents = select(func.count()).where(
        Document.item_id == item.id, Document.collected_at.is_not(None), Document.state.not_in(pending)
    )
    visits = select(func.count()).where(Visit.item_id == item.id, Visit.made_at.is_not(None))
    return (session.scalar(documents) or 0) + (session.scalar(visits) or 0)


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
        self._installation = installation
        self._database = database
        self._starter = starter
        self._is_full = False
        self._is_drained = False

    def launch(self, now: datetime) -> list[str]:
        """Start the processes that are allowed now; return the urns of their items."""
        with self._database.reading() as session:
            self._note_drain(is_drained(session.connection(), host_name()))
            if self._is_drained or session.scalar(select(Item.id).where(self._is_ready(now)).limit(1)) is None:
                return []
        return list(self._launch_all(now))

    def _note_drain(self, is_drained: bool) -> None:
        """Have the processes of a machine that is being emptied hand over."""
        if is_drained != self._is_drained:
            status = "is being emptied: no process is started on it" if is_drained else "is in service again"
            logger.info("The machine %s %s.", host_name(), status)
        self._is_drained = is_drained
        if is_drained:
            self._starter.end_all()

    def _note_full(self, is_full: bool) -> None:
        if is_full and not self._is_full:
            logger.info(
                "Items wait: the limit of processes on this machine (TARANTULA_COLLECTORS) is %d.",
                self._installation.collectors,
            )
        self._is_full = is_full

    def _launch_all(self, now: datetime) -> Iterator[str]:
        while (item := self._claim(now)) is not None:
            urn, state = item
            try:
                self._starter.start(urn, state)
                logger.info("Started a process for %s, which is %s.", urn, state)
            except OSError as error:
                # The supervisor counts it as a crash, since no heartbeat follows.
                logger.error("No process could be started for %s: %s.", urn, error)
            yield urn

    def _claim(self, now: datetime) -> tuple[str, ItemState] | None:
        """Mark the next ready item as launched, if this machine may run another process; one daemon gets it."""
        with self._database.session() as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LAUNCH_LOCK_KEY})
            collectors = live_collectors(session.connection())
            # A collector that was taken for dead may be back.
            busy = [collector.item_id for collector in collectors if collector.item_id is not None]
            ready = select(Item).where(self._is_ready(now), Item.id.not_in(busy)).order_by(Item.retry_at, Item.id)
            item = session.scalar(ready.limit(1).with_for_update(of=Item))
            self._note_full(item is not None and _process_count(session, collectors) >= self._installation.collectors)
            if item is None or self._is_full:
                return None
            item.launched_at, item.launched_on, item.retry_at = now, machine_id(), None
            return item.urn, ItemState(item.state)

    def _is_ready(self, now: datetime) -> ColumnElement[bool]:
        is_due = and_(Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_(None), Item.retry_at <= now)
        return is_due & belongs_here(self._installation)


def _process_count(session: Session, collectors: list[LiveCollector]) -> int:
    """Count the processes of items that run on this machine or are being started on it; the stream reader is none."""
    here = machine_id()
    starting = select(func.count()).where(
        Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_not(None), Item.launched_on == here
    )
    running = sum(collector.host == here and collector.item_id is not None for collector in collectors)
    return running + (session.scalar(starting) or 0)


def stop_item(database: Database, urn: str, now: datetime) -> bool:
    """Request that an item stops; return whether it is stopped already."""
    with database.session() as session:
        return request_stop(session, urn, now)


def request_stop(session: Session, urn: str, now: datetime) -> bool:
    """Request that an item stops, within a transaction; return whether it is stopped already."""
    item = lock_item(session, urn)
    check_transition(urn, ItemState(item.state), ItemState.INTERRUPTED)
    if has_or_awaits_collector(session, item, now):
        item.stop_wanted_at = item.stop_wanted_at or now
        return False
    interrupt_item(item, Reason.of(ItemReason.STOPPED), now)
    return True


def extend_item(installation: Config, database: Database, urn: str, text: str, now: datetime) -> datetime:
    """Set another deadline, given as a duration or as a time; return it."""
    with database.session() as session:
        return extend_deadline(session, installation, urn, text, now)


def extend_deadline(session: Session, installation: Config, urn: str, text: str, now: datetime) -> datetime:
    """Set another deadline, within a transaction; return it."""
    item = lock_item(session, urn)
    if ItemState(item.state) not in EXTENSIBLE_ITEM_STATES:
        raise ConflictError(
            "Item {urn} is {state}: its deadline has no effect any more.", urn=urn, state=Message(item.state)
        )
    deadline = _read_deadline(installation, item.deadline, text.strip(), now)
    if deadline <= now:
        raise TarantulaError(
            "{deadline:%Y-%m-%d %H:%M:%S %Z} is past. Give a deadline in the future.",
            deadline=deadline.astimezone(installation.zone),
        )
    item.deadline = deadline
    return deadline


def has_or_awaits_collector(session: Session, item: Item, now: datetime) -> bool:
    """Whether a collector of an item is running or being started."""
    if item.state == ItemState.CONVERTING:
        return False
    is_starting = item.launched_at is not None and item.launched_at > now - STARTUP_TIMEOUT
    return is_starting or has_collector(session.connection(), item.id)


def _read_deadline(installation: Config, present: datetime | None, text: str, now: datetime) -> datetime:
    """Parse a time, or a duration such as ``2d`` that counts from the present deadline, or from now if that is past."""
    try:
        if "-" in text:
            deadline = parse_moment(text, installation.zone) or now
        else:
            deadline = max(present or now, now) + timedelta(seconds=parse_duration(text) or 0)
    except (ValueError, OverflowError) as error:
        raise TarantulaError(str(error)) from error
    if deadline.year not in ALLOWED_YEARS:
        raise TarantulaError("The year {year} is too far away.", year=deadline.year)
    return deadline
