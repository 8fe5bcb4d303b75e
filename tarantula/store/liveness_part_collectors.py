"""Who collects: signs of life by the database's clock, and what the dead leave behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, select, update

from tarantula.tables.publications import Collector, Server

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
