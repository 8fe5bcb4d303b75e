"""Who answers searches: signs of life by the database's clock, and how far each is in the journal."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from tarantula.models import Barrel
from tarantula.store.collectors import DEAD, clock
from tarantula.store.machine import is_running, this_machine

KEPT = 60.0
"""Seconds after which nobody need be told of a barrel that is dead."""


class Figures(NamedTuple):
    """What a barrel tells of itself."""

    is_ready: bool = False
    place: int = 0
    documents: int = 0
    answered: int = 0
    seconds: float = 0.0


class Living(NamedTuple):
    """A barrel that was heard of lately."""

    id: int
    address: str
    is_ready: bool
    place: int


class Presence:
    """A barrel's row, as long as it lives."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._me = 0

    def tell(self, connection: Connection, figures: Figures) -> None:
        """Give a sign of life; whoever was late, and was removed, comes back."""
        now = clock(connection)
        told = update(Barrel).where(Barrel.id == self._me).values(heartbeat_at=now, **figures._asdict())
        if not connection.execute(told).rowcount:
            self._join(connection, figures)

    def leave(self, connection: Connection) -> None:
        """Be no barrel any more."""
        connection.execute(delete(Barrel).where(Barrel.id == self._me))

    def _join(self, connection: Connection, figures: Figures) -> None:
        now = clock(connection)
        connection.execute(delete(Barrel).where(Barrel.heartbeat_at < now - timedelta(seconds=KEPT)))
        values = {"address": self._address, "host": this_machine(), "pid": os.getpid(), "started_at": now}
        row = insert(Barrel).values(**values, heartbeat_at=now, **figures._asdict())
        self._me = connection.execute(row.returning(Barrel.id)).scalar_one()


# Made once: gateways ask for every question.
_TABLE = Barrel.__table__.c
_ALL = select(*(_TABLE[name] for name in ("id", "address", "is_ready", "place", "host", "pid"))).order_by(_TABLE.id)
_LIVING = _ALL.where(_TABLE.heartbeat_at > bindparam("since"))
_LIVING_BY_ITS_CLOCK = _ALL.where(_TABLE.heartbeat_at > func.clock_timestamp() - timedelta(seconds=DEAD))


def living(connection: Connection) -> list[Living]:
    """Return the barrels that were heard of lately, without those whose processes are known to be gone."""
    if connection.dialect.name == "postgresql":
        rows = connection.execute(_LIVING_BY_ITS_CLOCK)
    else:
        rows = connection.execute(_LIVING, {"since": clock(connection) - timedelta(seconds=DEAD)})
    here = this_machine()
    return [
        Living(number, address, is_ready, place)
        for number, address, is_ready, place, host, pid in rows
        if host != here or is_running(pid)
    ]
