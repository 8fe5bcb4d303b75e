"""Heartbeats of collectors and search barrels by the database's clock, and the test whether a process is alive."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, func, insert, select, update

from tarantula.core.column_types import UtcDateTime
from tarantula.core.states import Shortage
from tarantula.models import Barrel, Collector, DrainedMachine, Server, Withholding

HEARTBEAT_TIMEOUT_SECONDS = 5.0
"""Seconds without a heartbeat after which a collector or barrel is considered dead."""
DEAD_BARREL_KEPT_SECONDS = 60.0
"""Time after which the row of a dead barrel is deleted."""


def database_time(connection: Connection) -> datetime:
    """Return the current time of the database server; of this machine for SQLite."""
    if connection.dialect.name == "postgresql":
        now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return now
    return datetime.now(UTC)


def is_alive(connection: Connection) -> ColumnElement[bool]:
    """Return the condition that a collector's heartbeat is recent."""
    return Collector.heartbeat_at > database_time(connection) - timedelta(seconds=HEARTBEAT_TIMEOUT_SECONDS)


def remove_collectors(connection: Connection, dead: ColumnElement[bool]) -> None:
    """Remove collectors and free their leases; one that writes a heartbeat at the same moment is skipped.

    A collector that was only late notices its removal at its next heartbeat, and loses its leases at the same time.
    """
    rows = connection.execute(select(Collector.id).where(dead).with_for_update(skip_locked=True))
    if found := list(rows.scalars()):
        unleased = {"collector_id": None, "pause": None, "backoff": None}
        connection.execute(update(Server).where(Server.collector_id.in_(found)).values(unleased))
        connection.execute(delete(Collector).where(Collector.id.in_(found)))


def lock_collector(connection: Connection, collector: int) -> bool:
    """Prevent the removal of a collector until the transaction ends; return whether it exists.

    Call it before changing its servers: `remove_collectors` takes the locks in the same order.
    """
    mine = select(Collector.id).where(Collector.id == collector)
    return connection.execute(mine.with_for_update(read=True)).first() is not None


@cache
def machine_id() -> str:
    """Return host, boot and PID namespace: equal only for processes that can check whether the other is alive."""
    try:
        booted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{booted}/{namespace}"


def host_name(machine: str | None = None) -> str:
    """Return the host of a `machine_id`, by default that of this machine."""
    return (machine or machine_id()).partition("/")[0]


def is_drained(connection: Connection, host: str) -> bool:
    """Whether a host is being emptied: no process is started there, and running ones hand their work over."""
    return connection.execute(select(exists().where(DrainedMachine.host == host))).scalar_one()


def is_running(pid: int) -> bool:
    """Whether a process of this machine is running; one that has exited and is not reaped yet is not."""
    try:
        # The state follows the name, which is in parentheses and may contain any character.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except FileNotFoundError:
        return _exists(pid)
    except OSError:
        return False


def _exists(pid: int) -> bool:
    """Whether a process exists, where there is no ``/proc``, or where it hides the processes of others."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class LiveCollector(NamedTuple):
    """A collector that is alive."""

    id: int
    item_id: int | None
    host: str
    pid: int
    paused_for: str | None = None


def live_collectors(connection: Connection) -> list[LiveCollector]:
    """Return the collectors with a recent heartbeat, without those of this machine whose process is gone."""
    rows = connection.execute(
        select(Collector.id, Collector.item_id, Collector.host, Collector.pid, Collector.paused_for).where(
            is_alive(connection)
        )
    )
    here = machine_id()
    return [LiveCollector(*row) for row in rows if row.host != here or is_running(row.pid)]


def pauses(collectors: Iterable[LiveCollector]) -> dict[int, list[Shortage]]:
    """Return why collectors pause, by item id."""
    found: dict[int, set[Shortage]] = {}
    for one in collectors:
        if one.item_id is not None and one.paused_for is not None:
            found.setdefault(one.item_id, set()).add(Shortage(one.paused_for))
    return {item_id: sorted(causes) for item_id, causes in found.items()}


def has_collector(connection: Connection, item_id: int) -> bool:
    """Whether an item has a collector that is alive."""
    return any(collector.item_id == item_id for collector in live_collectors(connection))


def remove_dead_collectors(connection: Connection, item_id: int) -> None:
    """Remove the rows of an item's dead collectors."""
    alive = [collector.id for collector in live_collectors(connection)]
    remove_collectors(connection, (Collector.item_id == item_id) & Collector.id.not_in(alive))


class BarrelStatus(NamedTuple):
    """Values that a barrel reports with its heartbeat."""

    is_ready: bool = False
    place: int = 0
    documents: int = 0
    answered: int = 0
    seconds: float = 0.0


class LiveBarrel(NamedTuple):
    """A barrel with a recent heartbeat."""

    id: int
    address: str
    is_ready: bool
    place: int


class BarrelHeartbeat:
    """Maintains the row of one barrel."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._id = 0

    def beat(self, connection: Connection, status: BarrelStatus) -> None:
        """Write a heartbeat; insert the row again if it was removed."""
        now = database_time(connection)
        row = update(Barrel).where(Barrel.id == self._id).values(heartbeat_at=now, **status._asdict())
        if not connection.execute(row).rowcount:
            self._join(connection, status)

    def leave(self, connection: Connection) -> None:
        """Delete the barrel's row."""
        connection.execute(delete(Barrel).where(Barrel.id == self._id))

    def _join(self, connection: Connection, status: BarrelStatus) -> None:
        now = database_time(connection)
        connection.execute(
            delete(Barrel).where(Barrel.heartbeat_at < now - timedelta(seconds=DEAD_BARREL_KEPT_SECONDS))
        )
        values = {"address": self._address, "host": machine_id(), "pid": os.getpid(), "started_at": now}
        row = insert(Barrel).values(**values, heartbeat_at=now, **status._asdict())
        self._id = connection.execute(row.returning(Barrel.id)).scalar_one()


class BarrelMonitor:
    """Tracks heartbeats of barrels by the local monotonic clock, which does not jump as the database's may.

    The database's clock counts only for barrels that this monitor has not looked at recently.
    """

    def __init__(self) -> None:
        self._heartbeats: dict[int, tuple[datetime, float]] = {}
        self._checked_at = -HEARTBEAT_TIMEOUT_SECONDS
        self.has_withholdings = False
        """Whether there were withholdings when the barrels were read."""

    def live(self, connection: Connection) -> list[LiveBarrel]:
        """Return the barrels with a recent heartbeat, except those whose local process is gone."""
        rows, now, here = _rows(connection), monotonic(), machine_id()
        self.has_withholdings = any(row.has_withholdings for row in rows)
        if now - self._checked_at > HEARTBEAT_TIMEOUT_SECONDS:
            self._heartbeats.clear()
        self._checked_at = now
        self._heartbeats = {row.id: (row.heartbeat_at, self._heard_at(row, now)) for row in rows}
        return [
            LiveBarrel(row.id, row.address, row.is_ready, row.place)
            for row in rows
            if now - self._heartbeats[row.id][1] < HEARTBEAT_TIMEOUT_SECONDS
            and (row.host != here or is_running(row.pid))
        ]

    def _heard_at(self, row: Any, now: float) -> float:
        heartbeat_at, seen = self._heartbeats.get(row.id, (None, 0.0))
        if heartbeat_at is not None and row.heartbeat_at >= heartbeat_at:
            return seen if row.heartbeat_at == heartbeat_at else now
        age: timedelta = row.now - row.heartbeat_at
        return now - max(age.total_seconds(), 0.0)


# Built once, because gateways run it for every query.
_TABLE = Barrel.__table__.c
_COLUMNS: list[ColumnElement[Any]] = [
    *(_TABLE[name] for name in ("id", "address", "is_ready", "place", "host", "pid", "heartbeat_at")),
    # With the barrels, so that an installation without withholdings needs no other statement for a query.
    exists().where(Withholding.lifted_at.is_(None)).label("has_withholdings"),
]
_BY_DATABASE_CLOCK = select(*_COLUMNS, func.clock_timestamp().label("now")).order_by(_TABLE.id)
_BY_LOCAL_CLOCK = select(*_COLUMNS, bindparam("now", type_=UtcDateTime).label("now")).order_by(_TABLE.id)


def live_barrels(connection: Connection) -> list[LiveBarrel]:
    """Return the live barrels, for a single check."""
    return BarrelMonitor().live(connection)


def _rows(connection: Connection) -> Sequence[Any]:
    if connection.dialect.name == "postgresql":
        return connection.execute(_BY_DATABASE_CLOCK).all()
    return connection.execute(_BY_LOCAL_CLOCK, {"now": database_time(connection)}).all()
