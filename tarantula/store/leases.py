"""Server leases: each server belongs to one collector at a time, across items and machines.

`ItemLeases` are for a collector of an item, `ReaderLeases` for the process that reads streams. Of several stream
readers the first one alive reads; the others stand by.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, func, insert, or_, select, text, update

from tarantula.core.states import DocumentState, ItemState
from tarantula.fetch.politeness import ServerPause
from tarantula.models import Collector, Document, Item, Server
from tarantula.store.documents import insert_servers
from tarantula.store.liveness import (
    HEARTBEAT_TIMEOUT_SECONDS,
    database_time,
    host_name,
    is_alive,
    is_drained,
    is_running,
    lock_collector,
    machine_id,
    remove_collectors,
)

HEARTBEAT_SECONDS = 1.0
LEASE_SAFE_SECONDS = HEARTBEAT_TIMEOUT_SECONDS - HEARTBEAT_SECONDS
"""Seconds after a heartbeat in which no other collector can consider this one dead; later it makes no requests."""
MAX_LEASED_SERVERS = 256
"""Maximum number of servers leased by one collector."""
MAX_LEASE_WAIT_SECONDS = 30.0
"""A server that may not be visited for longer than this is not leased."""
YIELD_SECONDS = 2.0
"""Time during which a server released in favour of others is not leased again."""
WISH_LIFETIME_SECONDS = 10.0
"""Time for which a request for a leased server is valid, unless repeated."""
SHARE_CHECKS_PER_SECOND = 10
"""How often per second all collectors of an item together recompute their fair share."""
MAX_READER_SERVERS = 5000
"""Maximum number of servers leased by a stream reader."""


class Lease(NamedTuple):
    """A server that may be visited, after *wait* seconds."""

    server: str
    wait: float
    read_ago: float = inf
    """Seconds since a stream was read there, to be counted against a collector's longer pause."""


class ServerLeases:
    """Servers leased by one collector, for an item or for reading streams."""

    def __init__(self, item_id: int | None, most: int = MAX_LEASED_SERVERS) -> None:
        self._collects = item_id
        self._collector_id = 0
        self._share = most
        self._yielded: dict[int, float] = {}
        self.held: dict[str, int] = {}
        """Leased servers, with their ids."""
        self.stored_pauses: dict[str, ServerPause] = {}
        """Pauses that differ from the publication's, as last written to the database."""
        self.is_drained = False
        """Whether this machine was being emptied at the last heartbeat."""
        self.paused_for: str | None = None
        """Why this collector pauses, for display."""

    def join(self, connection: Connection) -> None:
        """Insert the collector's row."""
        self._remove_gone(connection)
        now = database_time(connection)
        self._collector_id = connection.execute(
            insert(Collector)
            .values(item_id=self._collects, host=machine_id(), pid=os.getpid(), started_at=now, heartbeat_at=now)
            .returning(Collector.id)
        ).scalar_one()

    def beat(self, connection: Connection) -> list[str]:
        """Write a heartbeat; return the servers that were lost to other collectors."""
        alive = connection.execute(
            update(Collector)
            .where(Collector.id == self._collector_id)
            .values(heartbeat_at=database_time(connection), paused_for=self.paused_for)
        ).rowcount
        rows = connection.execute(select(Server.name).where(Server.collector_id == self._collector_id)) if alive else ()
        lost = self.held.keys() - {name for (name,) in rows}
        for name in lost:
            del self.held[name]
        if not alive:
            self.join(connection)
        self.is_drained = is_drained(connection, host_name())
        return sorted(lost)

    def take(self, connection: Connection, ids: Collection[int]) -> list[Lease]:
        """Lease those of some servers that are free."""
        room = self._share - len(self.held)
        wanted = [identity for identity in ids if not self._is_yielded(identity)]
        if room <= 0 or not wanted or not lock_collector(connection, self._collector_id):
            return []
        # Its own heartbeat may be old by now, in a transaction that takes long: the lock above keeps its row.
        remove_collectors(connection, ~is_alive(connection) & (Collector.id != self._collector_id))
        now = database_time(connection)
        rows = connection.execute(
            select(Server.id, Server.name, Server.not_before, Server.read_at)
            .where(
                Server.id.in_(wanted),
                Server.collector_id.is_(None),
                or_(Server.not_before.is_(None), Server.not_before < now + timedelta(seconds=MAX_LEASE_WAIT_SECONDS)),
            )
            .order_by(Server.id)
            .limit(room)
            .with_for_update(skip_locked=True)
        ).all()
        if rows:
            taken = [row.id for row in rows]
            mine = update(Server).where(Server.id.in_(taken)).values(collector_id=self._collector_id, wished_at=None)
            connection.execute(mine)
            self._reset_unfinished(connection, taken)
            self.held.update((row.name, row.id) for row in rows)
        return [Lease(row.name, _seconds(now, row.not_before), _seconds(row.read_at, now, inf)) for row in rows]

    def give_back(self, connection: Connection, waits: dict[str, float], yielding: bool = False) -> None:
        """Release servers that must not be visited for some seconds; with *yielding*, let other collectors take them
        first."""
        given = {self.held.pop(name): wait for name, wait in waits.items() if name in self.held}
        if not given or not lock_collector(connection, self._collector_id):
            return
        if yielding:
            self._yielded.update(dict.fromkeys(given, time.monotonic() + YIELD_SECONDS))
        self._reset_unfinished(connection, given)
        now = database_time(connection)
        connection.execute(
            update(Server)
            .where(Server.id == bindparam("server"), Server.collector_id == self._collector_id)
            .values(collector_id=None, not_before=bindparam("until"), pause=None, backoff=None),
            [{"server": identity, "until": now + timedelta(seconds=given[identity])} for identity in sorted(given)],
        )

    def store_waits(self, connection: Connection, waits: dict[str, float]) -> None:
        """Store until when servers must not be visited, in case this collector dies."""
        noted = {name: wait for name, wait in sorted(waits.items()) if name in self.held}
        if not noted or not lock_collector(connection, self._collector_id):
            return
        now = database_time(connection)
        for name, wait in noted.items():
            until = now + timedelta(seconds=wait)
            connection.execute(update(Server).where(Server.id == self.held[name]).values(not_before=until))

    def store_pauses(self, connection: Connection, unusual: Callable[[str], ServerPause | None]) -> None:
        """Write pauses that differ from the publication's, for display; only changes are written."""
        now = {name: pause for name in self.held if (pause := unusual(name)) is not None}
        changed = [name for name in self.held if now.get(name) != self.stored_pauses.get(name)]
        if changed and lock_collector(connection, self._collector_id):
            values = {self.held[name]: now.get(name) or (None, None) for name in changed}
            connection.execute(
                update(Server)
                .where(Server.id == bindparam("server"), Server.collector_id == self._collector_id)
                .values(pause=bindparam("seconds"), backoff=bindparam("trouble")),
                [{"server": server, "seconds": one[0], "trouble": one[1]} for server, one in sorted(values.items())],
            )
        self.stored_pauses = now

    def leave(self, connection: Connection) -> None:
        """Release all servers and delete the collector's row."""
        self._reset_unfinished(connection, list(self.held.values()))
        unleased = {"collector_id": None, "pause": None, "backoff": None}
        connection.execute(update(Server).where(Server.collector_id == self._collector_id).values(unleased))
        self.held.clear()
        connection.execute(delete(Collector).where(Collector.id == self._collector_id))
        self._remove_gone(connection)

    def _remove_gone(self, connection: Connection) -> None:
        """Remove collectors of this machine whose processes are gone, without waiting for the heartbeat timeout."""
        rows = connection.execute(select(Collector.id, Collector.pid).where(Collector.host == machine_id()))
        remove_collectors(connection, Collector.id.in_([identity for identity, pid in rows if not is_running(pid)]))

    def _reset_unfinished(self, connection: Connection, servers: Iterable[int]) -> None:
        """Undo unfinished work at servers; a stream reader has none."""

    def _is_yielded(self, identity: int) -> bool:
        until = self._yielded.get(identity)
        if until is None:
            return False
        if until <= time.monotonic():
            del self._yielded[identity]
            return False
        return True


def _seconds(earlier: datetime | None, later: datetime | None, unknown: float = 0.0) -> float:
    return unknown if earlier is None or later is None else max((later - earlier).total_seconds(), 0.0)


# A skip scan: one index probe per server, however many documents wait there.
_SERVERS_WITH_WORK = text(
    "WITH RECURSIVE working (id) AS ("
    " SELECT (SELECT min(server_id) FROM document WHERE item_id = :item AND state = -6 AND server_id > :after)"
    " UNION ALL"
    " SELECT (SELECT min(server_id) FROM document WHERE item_id = :item AND state = -6 AND server_id > working.id)"
    " FROM working WHERE working.id IS NOT NULL"
    ") SELECT id FROM working WHERE id IS NOT NULL LIMIT :most"
)


class ItemLeases(ServerLeases):
    """Servers leased by one collector of an item."""

    def __init__(self, item_id: int) -> None:
        super().__init__(item_id, MAX_LEASED_SERVERS)
        self._item_id = item_id
        self._after = 0
        self._next_share_check = 0.0

    def surplus(self, connection: Connection) -> list[str]:
        """Return the leased servers that exceed a fair share among the item's collectors."""
        mine = select(Collector.id).where(Collector.item_id == self._item_id, is_alive(connection))
        living = len(connection.execute(mine).all())
        if living <= 1:
            self._share = MAX_LEASED_SERVERS
        elif self._next_share_check <= time.monotonic():
            # With more collectors each checks less often, so that the total stays the same.
            self._next_share_check = time.monotonic() + HEARTBEAT_SECONDS * living / SHARE_CHECKS_PER_SECOND
            working = len(self._servers_with_work(connection, 0))
            if working == 2 * MAX_LEASED_SERVERS:
                # The query is limited and there may be many more servers with work: add at least the leased ones.
                leased = select(func.count()).select_from(Server).where(Server.collector_id.in_(mine))
                working += connection.execute(leased).scalar_one()
            self._share = min(MAX_LEASED_SERVERS, max(1, -(-working // living)))
        return list(self.held)[self._share :]

    def seek(self, connection: Connection) -> list[Lease]:
        """Lease free servers that have waiting documents, continuing where the last search ended."""
        if len(self.held) >= self._share:
            return []
        ids = self._servers_with_work(connection, self._after)
        self._after = ids[-1] if len(ids) == 2 * MAX_LEASED_SERVERS else 0
        return self.take(connection, {*ids, *self._servers_in_progress(connection)})

    def contested(self, connection: Connection) -> list[str]:
        """Return the leased servers at which documents of another item wait, or that the stream reader needs."""
        other = select(Item.id).where(Item.state == ItemState.COLLECTING, Item.id != self._item_id).subquery()
        waiting = exists().where(
            Document.item_id == other.c.id,
            Document.server_id == Server.id,
            Document.state == DocumentState.WAITING,
        )
        mine = select(Server.name).where(Server.collector_id == self._collector_id)
        rows = connection.execute(mine.join(other, text("1 = 1")).where(waiting).distinct())
        requested = mine.where(Server.wished_at > database_time(connection) - timedelta(seconds=WISH_LIFETIME_SECONDS))
        return list({*rows.scalars(), *connection.execute(requested).scalars()})

    def work_left(self, connection: Connection) -> bool:
        """Whether any document of the item waits or is being collected, by any collector."""
        return is_unfinished(connection, self._item_id)

    def leave(self, connection: Connection) -> None:
        """Release all servers, delete the collector's row and those of dead collectors of the item."""
        super().leave(connection)
        remove_collectors(connection, (Collector.item_id == self._item_id) & ~is_alive(connection))

    def leased_to_others(self, connection: Connection) -> ColumnElement[bool]:
        """Return the condition that a server is leased to another live collector of the item."""
        other = select(Collector.id).where(Collector.item_id == self._item_id, Collector.id != self._collector_id)
        return exists(other.where(Collector.id == Server.collector_id, is_alive(connection)))

    def has_others(self, connection: Connection) -> bool:
        """Whether another collector works on the item, dead ones included."""
        other = exists().where(Collector.item_id == self._item_id, Collector.id != self._collector_id)
        return bool(connection.execute(select(other)).scalar_one())

    def _servers_with_work(self, connection: Connection, after: int) -> list[int]:
        parameters = {"item": self._item_id, "after": after, "most": 2 * MAX_LEASED_SERVERS}
        return list(connection.execute(_SERVERS_WITH_WORK, parameters).scalars())

    def _servers_in_progress(self, connection: Connection) -> set[int]:
        """Return the servers with documents being collected: a dead collector may have left only those."""
        rows = connection.execute(
            select(Document.server_id)
            .where(Document.item_id == self._item_id, Document.state == DocumentState.COLLECTING)
            .distinct()
        )
        return set(rows.scalars()) - set(self.held.values())

    def _reset_unfinished(self, connection: Connection, servers: Iterable[int]) -> None:
        """Set documents that were being collected at these servers back to waiting."""
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
    """Whether any document of an item waits or is being collected, by any collector."""
    states = (DocumentState.WAITING, DocumentState.COLLECTING)
    return any(
        connection.execute(select(exists().where(Document.item_id == item_id, Document.state == state))).scalar_one()
        for state in states
    )


class ReaderLeases(ServerLeases):
    """Servers leased by a process that reads streams: each for one visit, released to collections in between."""

    def __init__(self) -> None:
        super().__init__(None, MAX_READER_SERVERS)
        self._released_until: dict[str, datetime] = {}
        """`not_before` of released servers, as written by this reader."""

    def is_reading(self, connection: Connection) -> bool:
        """Whether this reader is the active one."""
        self._remove_gone(connection)
        others = Collector.item_id.is_(None) & (Collector.id != self._collector_id)
        remove_collectors(connection, others & ~is_alive(connection))
        first = select(func.min(Collector.id)).where(Collector.item_id.is_(None))
        return connection.execute(first).scalar_one() == self._collector_id

    @property
    def collector_id(self) -> int:
        """The id of its collector row."""
        return self._collector_id

    def take_named(self, connection: Connection, pauses: dict[str, float]) -> list[Lease]:
        """Lease those of some servers that are free; *pauses* also count from the visits of other collectors."""
        names = sorted(pauses)
        insert_servers(connection, names)
        found = connection.execute(
            select(Server.id, Server.name, Server.not_before).where(
                Server.name.in_(names), Server.collector_id.is_(None)
            )
        ).all()
        now = database_time(connection)
        before = {row.name: row.not_before for row in found}
        return [
            lease._replace(wait=max(lease.wait, self._remaining_pause(before[lease.server], lease.server, pauses, now)))
            for lease in self.take(connection, [row.id for row in found])
        ]

    def give_back_read(self, connection: Connection, waits: dict[str, float], ago: dict[str, float]) -> None:
        """Release servers, and store how many seconds *ago* a stream was read there."""
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
        self._released_until.update((name, moment) for name, moment in rows if moment is not None)

    def request_release(self, connection: Connection, names: Collection[str]) -> None:
        """Ask the collectors that hold some servers to release them for a moment."""
        connection.execute(
            update(Server)
            .where(Server.name.in_(names), Server.collector_id.is_not(None), Server.collector_id != self._collector_id)
            .values(wished_at=database_time(connection))
        )

    def contested(self, connection: Connection) -> list[str]:
        """Return the leased servers at which documents of an item wait, or that another collector needs."""
        if not self.held:
            return []
        mine = select(Server.name).where(Server.collector_id == self._collector_id)
        requested = mine.where(Server.wished_at > database_time(connection) - timedelta(seconds=WISH_LIFETIME_SECONDS))
        found = list(connection.execute(requested).scalars())
        items = connection.execute(select(Item.id).where(Item.state == ItemState.COLLECTING)).scalars().all()
        if not items:
            return found
        waiting = exists().where(
            Document.item_id.in_(items), Document.server_id == Server.id, Document.state == DocumentState.WAITING
        )
        return [*found, *connection.execute(mine.where(waiting)).scalars()]

    def _remaining_pause(self, before: datetime | None, name: str, pauses: dict[str, float], now: datetime) -> float:
        """Return the seconds to wait because of others, whose last visit may have been as late as `not_before`."""
        if before is None or self._released_until.pop(name, None) == before:
            return 0.0
        return (before - now).total_seconds() + pauses.get(name, 0.0)
