"""Servers on lease: each belongs to one collector at a time, whatever it collects, on whichever machine.

Whoever has a server on lease alone visits it. A collector that is not heard of for a few
seconds is dead: its servers are free. All times are the database's, so that collectors need
not agree on the hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update

from tarantula.fetch.politeness import ServerPause
from tarantula.store.liveness_part_collectors import (
    HEARTBEAT_TIMEOUT_SECONDS,
    database_time,
    is_alive,
    lock_collector,
    remove_collectors,
)
from tarantula.store.liveness_part_machine import is_running, machine_id
from tarantula.tables.publications import Collector, Server

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
