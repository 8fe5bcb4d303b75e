"""Server leases: each server belongs to one collector at a time, across items and machines.

`ItemLeases` are for a collector of an item, `ReaderLeases` for the process that reads streams.
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
from tarantula.store import bulk
from tarantula.store.liveness import (
    HEARTBEAT_TIMEOUT_SECONDS,
    database_time,
    is_alive,
    is_running,
    lock_collector,
    machine_id,
    remove_collectors,
)

HEARTBEAT_SECONDS = 1.0
"""Seconds between two signs of life."""
LEASE_SAFE_SECONDS = HEARTBEAT_TIMEOUT_SECONDS - HEARTBEAT_SECONDS
"""Seconds after a sign of life for which nobody can take a collector for dead; then it visits nobody until the next."""
MAX_LEASED_SERVERS = 256
"""Servers that one collector has on lease at a time."""
MAX_LEASE_WAIT_SECONDS = 30.0
"""Seconds; a server that must be left alone for longer is not taken."""
YIELD_SECONDS = 2.0
"""Seconds during which a server that was given up for others is not taken again."""
WISH_LIFETIME_SECONDS = 10.0
"""Seconds for which a wish to visit a server is heard, unless it is made again."""


class Lease(NamedTuple):
    """A server that may be visited, and in how many seconds."""

    server: str
    wait: float
    read_ago: float = inf
    """Seconds since a stream was read there: whoever wants longer pauses than those who read waits for the rest."""


class ServerLeases:
    """What one collector has on lease, for an item or for nothing in particular."""

    def __init__(self, item_id: int | None, most: int = MAX_LEASED_SERVERS) -> None:
        self._collects = item_id
        self._me = 0
        self._share = most
        self._avoided: dict[int, float] = {}
        self.held: dict[str, int] = {}
        """The servers on lease, with their ids."""
        self.noted: dict[str, ServerPause] = {}
        """Their pauses, as far as they are unusual and others can see them."""

    def join(self, connection: Connection) -> None:
        """Become known as a collector."""
        self._bury(connection)
        now = database_time(connection)
        self._me = connection.execute(
            insert(Collector)
            .values(item_id=self._collects, host=machine_id(), pid=os.getpid(), started_at=now, heartbeat_at=now)
            .returning(Collector.id)
        ).scalar_one()

    def beat(self, connection: Connection) -> list[str]:
        """Give a sign of life; return the servers that were lost to others meanwhile."""
        alive = connection.execute(
            update(Collector).where(Collector.id == self._me).values(heartbeat_at=database_time(connection))
        ).rowcount
        rows = connection.execute(select(Server.name).where(Server.collector_id == self._me)) if alive else ()
        lost = self.held.keys() - {name for (name,) in rows}
        for name in lost:
            del self.held[name]
        if not alive:
            self.join(connection)
        return sorted(lost)

    def take(self, connection: Connection, ids: Collection[int]) -> list[Lease]:
        """Take those of some servers that nobody has."""
        room = self._share - len(self.held)
        wanted = [identity for identity in ids if not self._is_avoided(identity)]
        if room <= 0 or not wanted or not lock_collector(connection, self._me):
            return []
        remove_collectors(connection, ~is_alive(connection))
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
            mine = update(Server).where(Server.id.in_(taken)).values(collector_id=self._me, wished_at=None)
            connection.execute(mine)
            self._wait_again(connection, taken)
            self.held.update((row.name, row.id) for row in rows)
        return [Lease(row.name, _seconds(now, row.not_before), _seconds(row.read_at, now, inf)) for row in rows]

    def give_back(self, connection: Connection, waits: dict[str, float], shy: bool = False) -> None:
        """Let go of servers, each to be left alone for some more seconds; a *shy* collector lets others come first."""
        given = {self.held.pop(name): wait for name, wait in waits.items() if name in self.held}
        if not given or not lock_collector(connection, self._me):
            return
        if shy:
            self._avoided.update(dict.fromkeys(given, time.monotonic() + YIELD_SECONDS))
        self._wait_again(connection, given)
        now = database_time(connection)
        connection.execute(
            update(Server)
            .where(Server.id == bindparam("server"), Server.collector_id == self._me)
            .values(collector_id=None, not_before=bindparam("until"), pause=None, backoff=None),
            [{"server": identity, "until": now + timedelta(seconds=given[identity])} for identity in sorted(given)],
        )

    def note_visits(self, connection: Connection, waits: dict[str, float]) -> None:
        """Write down until when servers must be left alone, should this collector die."""
        noted = {name: wait for name, wait in sorted(waits.items()) if name in self.held}
        if not noted or not lock_collector(connection, self._me):
            return
        now = database_time(connection)
        for name, wait in noted.items():
            until = now + timedelta(seconds=wait)
            connection.execute(update(Server).where(Server.id == self.held[name]).values(not_before=until))

    def note_pauses(self, connection: Connection, unusual: Callable[[str], ServerPause | None]) -> None:
        """Let others see whose pauses are not those of the publication; only what is new is written."""
        now = {name: pause for name in self.held if (pause := unusual(name)) is not None}
        changed = [name for name in self.held if now.get(name) != self.noted.get(name)]
        if changed and lock_collector(connection, self._me):
            values = {self.held[name]: now.get(name) or (None, None) for name in changed}
            connection.execute(
                update(Server)
                .where(Server.id == bindparam("server"), Server.collector_id == self._me)
                .values(pause=bindparam("seconds"), backoff=bindparam("trouble")),
                [{"server": server, "seconds": one[0], "trouble": one[1]} for server, one in sorted(values.items())],
            )
        self.noted = now

    def leave(self, connection: Connection) -> None:
        """Give back everything, and be no collector any more."""
        self._wait_again(connection, list(self.held.values()))
        nobody = {"collector_id": None, "pause": None, "backoff": None}
        connection.execute(update(Server).where(Server.collector_id == self._me).values(nobody))
        self.held.clear()
        connection.execute(delete(Collector).where(Collector.id == self._me))
        self._bury(connection)

    def _bury(self, connection: Connection) -> None:
        """Remove collectors of this machine whose processes are gone: nobody need wait until they are missed."""
        rows = connection.execute(select(Collector.id, Collector.pid).where(Collector.host == machine_id()))
        remove_collectors(connection, Collector.id.in_([identity for identity, pid in rows if not is_running(pid)]))

    def _wait_again(self, connection: Connection, servers: Iterable[int]) -> None:
        """Undo what whoever had these servers did not finish; of whoever only visits, that is nothing."""

    def _is_avoided(self, identity: int) -> bool:
        until = self._avoided.get(identity)
        if until is None:
            return False
        if until <= time.monotonic():
            del self._avoided[identity]
            return False
        return True


def _seconds(earlier: datetime | None, later: datetime | None, unknown: float = 0.0) -> float:
    return unknown if earlier is None or later is None else max((later - earlier).total_seconds(), 0.0)


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
