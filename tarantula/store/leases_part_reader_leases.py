"""The leases of whoever reads streams: a server is had for a visit, and left to collections in between.

Of several who could read one does: the one that came first and is alive. The others stand by.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, exists, func, select, update

from tarantula.core.states import DocumentState, ItemState
from tarantula.store import bulk
from tarantula.store.leases_part_server_leases import WISH_LIFETIME_SECONDS, Lease, ServerLeases
from tarantula.store.liveness_part_collectors import database_time, is_alive, remove_collectors
from tarantula.tables.publications import Collector, Document, Item, Server

MAX_READER_SERVERS = 5000
"""Servers that whoever reads has on lease at a time."""
_INSERT_SERVERS = "INSERT INTO server (name) {rows} ON CONFLICT (name) DO NOTHING"


class ReaderLeases(ServerLeases):
    """What whoever reads streams has on lease."""

    def __init__(self) -> None:
        super().__init__(None, MAX_READER_SERVERS)
        self._given: dict[str, datetime] = {}
        """Until when servers were to be left alone that were given back, as it was written."""

    def is_reading(self, connection: Connection) -> bool:
        """Whether it is this one that reads."""
        self._bury(connection)
        remove_collectors(connection, Collector.item_id.is_(None) & ~is_alive(connection))
        first = select(func.min(Collector.id)).where(Collector.item_id.is_(None))
        return connection.execute(first).scalar_one() == self._me

    @property
    def me(self) -> int:
        """Its number among collectors."""
        return self._me

    def take_named(self, connection: Connection, pauses: dict[str, float]) -> list[Lease]:
        """Take those of some servers that nobody has; a pause is kept from what others did there, too."""
        names = sorted(pauses)
        for some in bulk.chunks(names):
            bulk.execute_rows(connection, _INSERT_SERVERS, [(name,) for name in some], ("text",))
        found = connection.execute(
            select(Server.id, Server.name, Server.not_before).where(
                Server.name.in_(names), Server.collector_id.is_(None)
            )
        ).all()
        now = database_time(connection)
        before = {row.name: row.not_before for row in found}
        return [
            lease._replace(wait=max(lease.wait, self._rest(before[lease.server], lease.server, pauses, now)))
            for lease in self.take(connection, [row.id for row in found])
        ]

    def give_back_read(self, connection: Connection, waits: dict[str, float], ago: dict[str, float]) -> None:
        """Let go of servers, and say how long ago a stream was read there."""
        ids = {name: self.held[name] for name in waits if name in self.held}
        now = database_time(connection)
        self.give_back(connection, waits)
        read = [
            {"server": ids[name], "moment": now - timedelta(seconds=ago[name])} for name in sorted(ids) if name in ago
        ]
        if read:
            connection.execute(
                update(Server).where(Server.id == bindparam("server")).values(read_at=bindparam("moment")), read
            )
        rows = connection.execute(select(Server.name, Server.not_before).where(Server.id.in_(ids.values())))
        self._given.update((name, moment) for name, moment in rows if moment is not None)

    def wish(self, connection: Connection, names: Collection[str]) -> None:
        """Ask whoever has some servers to leave them for a moment."""
        connection.execute(
            update(Server)
            .where(Server.name.in_(names), Server.collector_id.is_not(None), Server.collector_id != self._me)
            .values(wished_at=database_time(connection))
        )

    def contested(self, connection: Connection) -> list[str]:
        """Return the servers on lease at which an item's documents wait, or somebody else wants to read."""
        if not self.held:
            return []
        mine = select(Server.name).where(Server.collector_id == self._me)
        wished = mine.where(Server.wished_at > database_time(connection) - timedelta(seconds=WISH_LIFETIME_SECONDS))
        found = list(connection.execute(wished).scalars())
        items = connection.execute(select(Item.id).where(Item.state == ItemState.COLLECTING)).scalars().all()
        if not items:
            return found
        waiting = exists().where(
            Document.item_id.in_(items), Document.server_id == Server.id, Document.state == DocumentState.WAITING
        )
        return [*found, *connection.execute(mine.where(waiting)).scalars()]

    def _rest(self, before: datetime | None, name: str, pauses: dict[str, float], now: datetime) -> float:
        """Return the seconds to wait because of others, who may have been there as late as it was to be left alone."""
        if before is None or self._given.pop(name, None) == before:
            return 0.0
        return (before - now).total_seconds() + pauses.get(name, 0.0)
