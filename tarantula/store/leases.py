"""The leases of an item's collectors: which servers have work, whose turn it is, and what the dead left unfinished."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, exists, func, select, text, update

from tarantula.core.states import DocumentState, ItemState
from tarantula.store.leases_part_server_leases import (
    HEARTBEAT_SECONDS,
    MAX_LEASED_SERVERS,
    WISH_LIFETIME_SECONDS,
    Lease,
    ServerLeases,
)
from tarantula.store.liveness_part_collectors import database_time, is_alive, remove_collectors
from tarantula.tables.publications import Collector, Document, Item, Server

SHARE_CHECKS_PER_SECOND = 10
"""How often in a second the collectors of an item, all together, look for their fair share."""

# A skip scan: one probe of the index for each server, however many rows wait there.
_WITH_WORK = text(
    "WITH RECURSIVE working (id) AS ("
    " SELECT (SELECT min(server_id) FROM document WHERE item_id = :item AND state = -6 AND server_id > :after)"
    " UNION ALL"
    " SELECT (SELECT min(server_id) FROM document WHERE item_id = :item AND state = -6 AND server_id > working.id)"
    " FROM working WHERE working.id IS NOT NULL"
    ") SELECT id FROM working WHERE id IS NOT NULL LIMIT :most"
)


class ItemLeases(ServerLeases):
    """What one collector has on lease for one item."""

    def __init__(self, item_id: int) -> None:
        super().__init__(item_id, MAX_LEASED_SERVERS)
        self._item_id = item_id
        self._after = 0
        self._look_again = 0.0

    def surplus(self, connection: Connection) -> list[str]:
        """Return the servers on lease that are more than a fair share among the item's collectors."""
        mine = select(Collector.id).where(Collector.item_id == self._item_id, is_alive(connection))
        living = len(connection.execute(mine).all())
        if living <= 1:
            self._share = MAX_LEASED_SERVERS
        elif self._look_again <= time.monotonic():
            # Many collectors look less often each, so that together they do not look more often.
            self._look_again = time.monotonic() + HEARTBEAT_SECONDS * living / SHARE_CHECKS_PER_SECOND
            working = len(self._with_work(connection, 0))
            if working == 2 * MAX_LEASED_SERVERS:
                # There may be many more than one look finds: at least those on lease.
                leased = select(func.count()).select_from(Server).where(Server.collector_id.in_(mine))
                working += connection.execute(leased).scalar_one()
            self._share = min(MAX_LEASED_SERVERS, max(1, -(-working // living)))
        return list(self.held)[self._share :]

    def seek(self, connection: Connection) -> list[Lease]:
        """Take servers that have work and that nobody has, going on from where the last search ended."""
        if len(self.held) >= self._share:
            return []
        ids = self._with_work(connection, self._after)
        self._after = ids[-1] if len(ids) == 2 * MAX_LEASED_SERVERS else 0
        return self.take(connection, {*ids, *self._under_way(connection)})

    def contested(self, connection: Connection) -> list[str]:
        """Return the servers on lease at which another item's documents wait, or a stream is to be read."""
        other = select(Item.id).where(Item.state == ItemState.COLLECTING, Item.id != self._item_id).subquery()
        waiting = exists().where(
            Document.item_id == other.c.id,
            Document.server_id == Server.id,
            Document.state == DocumentState.WAITING,
        )
        mine = select(Server.name).where(Server.collector_id == self._me)
        rows = connection.execute(mine.join(other, text("1 = 1")).where(waiting).distinct())
        wished = mine.where(Server.wished_at > database_time(connection) - timedelta(seconds=WISH_LIFETIME_SECONDS))
        return list({*rows.scalars(), *connection.execute(wished).scalars()})

    def work_left(self, connection: Connection) -> bool:
        """Whether some document of the item waits or is being collected, by anybody."""
        return is_unfinished(connection, self._item_id)

    def leave(self, connection: Connection) -> None:
        """Give back everything, and be no collector any more."""
        super().leave(connection)
        remove_collectors(connection, (Collector.item_id == self._item_id) & ~is_alive(connection))

    def are_of_others(self, connection: Connection) -> ColumnElement[bool]:
        """Return the condition that a server is on lease to another collector of the item that is alive."""
        other = select(Collector.id).where(Collector.item_id == self._item_id, Collector.id != self._me)
        return exists(other.where(Collector.id == Server.collector_id, is_alive(connection)))

    def others(self, connection: Connection) -> bool:
        """Whether somebody else collects the item, as far as is known."""
        other = exists().where(Collector.item_id == self._item_id, Collector.id != self._me)
        return bool(connection.execute(select(other)).scalar_one())

    def _with_work(self, connection: Connection, after: int) -> list[int]:
        parameters = {"item": self._item_id, "after": after, "most": 2 * MAX_LEASED_SERVERS}
        return list(connection.execute(_WITH_WORK, parameters).scalars())

    def _under_way(self, connection: Connection) -> set[int]:
        """Return the servers at which documents are being collected: a dead collector may have left only such."""
        rows = connection.execute(
            select(Document.server_id)
            .where(Document.item_id == self._item_id, Document.state == DocumentState.COLLECTING)
            .distinct()
        )
        return set(rows.scalars()) - set(self.held.values())

    def _wait_again(self, connection: Connection, servers: Iterable[int]) -> None:
        """Make waiting again what whoever had these servers did not finish."""
        connection.execute(
            update(Document)
            .where(
                Document.item_id == self._item_id,
                Document.server_id.in_(list(servers)),
                Document.state == DocumentState.COLLECTING,
            )
            .values(state=DocumentState.WAITING)
        )


def is_unfinished(connection: Connection, item_id: int) -> bool:
    """Whether some document of an item waits or is being collected, by anybody."""
    states = (DocumentState.WAITING, DocumentState.COLLECTING)
    return any(
        connection.execute(select(exists().where(Document.item_id == item_id, Document.state == state))).scalar_one()
        for state in states
    )
