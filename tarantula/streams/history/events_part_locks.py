"""Who waits for whom, on a database where several write at a time. SQLite has one writer, who need not wait."""

from __future__ import annotations

from sqlalchemy import Connection

_FORGETTING = 0x7A7261_666F7267
"""The number of the lock: nobody else's."""


def lock_out_retention(connection: Connection) -> None:
    """Until this transaction ends, what is there stays there: nobody stores below what somebody forgets."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock_shared(%s)", (_FORGETTING,))


def lock_out_storing(connection: Connection) -> None:
    """Until this transaction ends, no event is stored."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_FORGETTING,))
