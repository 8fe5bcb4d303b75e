"""Heartbeats of collectors and search barrels by the database's clock, and the test whether a process is alive."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from tarantula.core.columns import UtcDateTime
from tarantula.models import Barrel, Collector, Server

HEARTBEAT_TIMEOUT_SECONDS = 5.0
"""Seconds without a sign of life after which a collector is dead."""


def database_time(connection: Connection) -> datetime:
    """Return the database's time."""
    if connection.dialect.name == "postgresql":
        now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return now
    return datetime.now(UTC)


def is_alive(connection: Connection) -> ColumnElement[bool]:
    """Return the condition that a collector was heard of lately."""
    return Collector.heartbeat_at > database_time(connection) - timedelta(seconds=HEARTBEAT_TIMEOUT_SECONDS)


def remove_collectors(connection: Connection, dead: ColumnElement[bool]) -> None:
    """Remove collectors, and free what they have on lease; one that gives a sign of life at this moment stays.

    Whoever was only late finds itself removed at its next sign of life, and never that it has what another took.
    """
    rows = connection.execute(select(Collector.id).where(dead).with_for_update(skip_locked=True))
    if found := list(rows.scalars()):
        nobody = {"collector_id": None, "pause": None, "backoff": None}
        connection.execute(update(Server).where(Server.collector_id.in_(found)).values(nobody))
        connection.execute(delete(Collector).where(Collector.id.in_(found)))


def lock_collector(connection: Connection, collector: int) -> bool:
    """Keep others from removing a collector until the transaction ends; say whether it still is one.

    To be called before its servers are touched: who removes a collector locks them in the same order.
    """
    mine = select(Collector.id).where(Collector.id == collector)
    return connection.execute(mine.with_for_update(read=True)).first() is not None


@cache
def machine_id() -> str:
    """Return a name that two processes share only if each can see whether the other is alive."""
    try:
        booted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        world = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{booted}/{world}"


def is_running(pid: int) -> bool:
    """Whether a process of this machine is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


DEAD_BARREL_KEPT_SECONDS = 60.0
"""Seconds after which nobody need be told of a barrel that is dead."""


class BarrelStatus(NamedTuple):
    """What a barrel tells of itself."""

    is_ready: bool = False
    place: int = 0
    documents: int = 0
    answered: int = 0
    seconds: float = 0.0


class LiveBarrel(NamedTuple):
    """A barrel that was heard of lately."""

    id: int
    address: str
    is_ready: bool
    place: int


class BarrelHeartbeat:
    """A barrel's row, as long as it lives."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._me = 0

    def tell(self, connection: Connection, figures: BarrelStatus) -> None:
        """Give a sign of life; whoever was late, and was removed, comes back."""
        now = database_time(connection)
        told = update(Barrel).where(Barrel.id == self._me).values(heartbeat_at=now, **figures._asdict())
        if not connection.execute(told).rowcount:
            self._join(connection, figures)

    def leave(self, connection: Connection) -> None:
        """Be no barrel any more."""
        connection.execute(delete(Barrel).where(Barrel.id == self._me))

    def _join(self, connection: Connection, figures: BarrelStatus) -> None:
        now = database_time(connection)
        connection.execute(
            delete(Barrel).where(Barrel.heartbeat_at < now - timedelta(seconds=DEAD_BARREL_KEPT_SECONDS))
        )
        values = {"address": self._address, "host": machine_id(), "pid": os.getpid(), "started_at": now}
        row = insert(Barrel).values(**values, heartbeat_at=now, **figures._asdict())
        self._me = connection.execute(row.returning(Barrel.id)).scalar_one()


class BarrelMonitor:
    """When barrels were heard of, by the clock of whoever looks: it does not jump, as the database's may.

    The database's clock decides only of those that were not looked at lately.
    """

    def __init__(self) -> None:
        self._heard: dict[int, tuple[datetime, float]] = {}
        self._looked_at = -HEARTBEAT_TIMEOUT_SECONDS

    def living(self, connection: Connection) -> list[LiveBarrel]:
        """Return the barrels that were heard of lately, without those whose processes are known to be gone."""
        rows, now, here = _rows(connection), monotonic(), machine_id()
        if now - self._looked_at > HEARTBEAT_TIMEOUT_SECONDS:
            self._heard.clear()
        self._looked_at = now
        self._heard = {row.id: (row.heartbeat_at, self._heard_at(row, now)) for row in rows}
        return [
            LiveBarrel(row.id, row.address, row.is_ready, row.place)
            for row in rows
            if now - self._heard[row.id][1] < HEARTBEAT_TIMEOUT_SECONDS and (row.host != here or is_running(row.pid))
        ]

    def _heard_at(self, row: Any, now: float) -> float:
        told, at = self._heard.get(row.id, (None, 0.0))
        if told is not None and row.heartbeat_at >= told:
            return at if row.heartbeat_at == told else now
        age: timedelta = row.now - row.heartbeat_at
        return now - max(age.total_seconds(), 0.0)


# Made once: gateways ask for every question.
_TABLE = Barrel.__table__.c
_ASKED = [_TABLE[name] for name in ("id", "address", "is_ready", "place", "host", "pid", "heartbeat_at")]
_BY_ITS_CLOCK = select(*_ASKED, func.clock_timestamp().label("now")).order_by(_TABLE.id)
_BY_OURS = select(*_ASKED, bindparam("now", type_=UtcDateTime).label("now")).order_by(_TABLE.id)


def live_barrels(connection: Connection) -> list[LiveBarrel]:
    """Return the barrels that live, for whoever looks but once."""
    return BarrelMonitor().living(connection)


def _rows(connection: Connection) -> Sequence[Any]:
    if connection.dialect.name == "postgresql":
        return connection.execute(_BY_ITS_CLOCK).all()
    return connection.execute(_BY_OURS, {"now": database_time(connection)}).all()
