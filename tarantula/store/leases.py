"""Leases: a server belongs to one collector at a time, across publications and machines.

Whoever has a server on lease alone visits it. A collector that is not heard of for a few
seconds is dead: its servers are free, and what it was collecting waits again. All times
are the database's, so that collectors need not agree on the hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, func, insert, or_, select, text, update

from tarantula.models import Collector, Document, Item, Server
from tarantula.politeness import Pause
from tarantula.states import DocumentState, ItemState
from tarantula.store.collectors import DEAD, bury, clock, is_alive, stay
from tarantula.store.machine import is_running, this_machine

BEAT = 1.0
"""Seconds between two signs of life."""
SURE = DEAD - BEAT
"""Seconds after a sign of life for which nobody can take a collector for dead; then it visits nobody until the next."""
MOST = 256
"""Servers that one collector has on lease at a time."""
LOOKS = 10
"""How often in a second the collectors of an item, all together, look for their fair share."""
FAR = 30.0
"""Seconds; a server that must be left alone for longer is not taken."""
SHY = 2.0
"""Seconds during which a server that was given up for others is not taken again."""

# A skip scan: one probe of the index for each server, however many rows wait there.
_WITH_WORK = text(
    "WITH RECURSIVE working (id) AS ("
    " SELECT (SELECT min(server_id) FROM document WHERE item_id = :item AND state = -6 AND server_id > :after)"
    " UNION ALL"
    " SELECT (SELECT min(server_id) FROM document WHERE item_id = :item AND state = -6 AND server_id > working.id)"
    " FROM working WHERE working.id IS NOT NULL"
    ") SELECT id FROM working WHERE id IS NOT NULL LIMIT :most"
)


class Lease(NamedTuple):
    """A server that may be visited, and in how many seconds."""

    server: str
    wait: float


class Leases:
    """What one collector has on lease for one item."""

    def __init__(self, item_id: int) -> None:
        self._item_id = item_id
        self._me = 0
        self._after = 0
        self._avoided: dict[int, float] = {}
        self._share = MOST
        self._look_again = 0.0
        self.held: dict[str, int] = {}
        """The servers on lease, with their ids."""
        self.noted: dict[str, Pause] = {}
        """Their pauses, as far as they are unusual and others can see them."""

    def join(self, connection: Connection) -> None:
        """Become known as a collector of the item."""
        self._bury(connection)
        now = clock(connection)
        self._me = connection.execute(
            insert(Collector)
            .values(item_id=self._item_id, host=this_machine(), pid=os.getpid(), started_at=now, heartbeat_at=now)
            .returning(Collector.id)
        ).scalar_one()

    def beat(self, connection: Connection) -> list[str]:
        """Give a sign of life; return the servers that were lost to others meanwhile."""
        alive = connection.execute(
            update(Collector).where(Collector.id == self._me).values(heartbeat_at=clock(connection))
        ).rowcount
        rows = connection.execute(select(Server.name).where(Server.collector_id == self._me)) if alive else ()
        lost = self.held.keys() - {name for (name,) in rows}
        for name in lost:
            del self.held[name]
        if not alive:
            self.join(connection)
        return sorted(lost)

    def surplus(self, connection: Connection) -> list[str]:
        """Return the servers on lease that are more than a fair share among the item's collectors."""
        mine = select(Collector.id).where(Collector.item_id == self._item_id, is_alive(connection))
        living = len(connection.execute(mine).all())
        if living <= 1:
            self._share = MOST
        elif self._look_again <= time.monotonic():
            # Many collectors look less often each, so that together they do not look more often.
            self._look_again = time.monotonic() + BEAT * living / LOOKS
            working = len(self._with_work(connection, 0))
            if working == 2 * MOST:
                # There may be many more than one look finds: at least those on lease.
                leased = select(func.count()).select_from(Server).where(Server.collector_id.in_(mine))
                working += connection.execute(leased).scalar_one()
            self._share = min(MOST, max(1, -(-working // living)))
        return list(self.held)[self._share :]

    def seek(self, connection: Connection) -> list[Lease]:
        """Take servers that have work and that nobody has, going on from where the last search ended."""
        if len(self.held) >= self._share:
            return []
        ids = self._with_work(connection, self._after)
        self._after = ids[-1] if len(ids) == 2 * MOST else 0
        return self.take(connection, {*ids, *self._under_way(connection)})

    def take(self, connection: Connection, ids: Collection[int]) -> list[Lease]:
        """Take those of some servers that nobody has."""
        room = self._share - len(self.held)
        wanted = [identity for identity in ids if not self._is_avoided(identity)]
        if room <= 0 or not wanted or not stay(connection, self._me):
            return []
        bury(connection, ~is_alive(connection))
        now = clock(connection)
        rows = connection.execute(
            select(Server.id, Server.name, Server.not_before)
            .where(
                Server.id.in_(wanted),
                Server.collector_id.is_(None),
                or_(Server.not_before.is_(None), Server.not_before < now + timedelta(seconds=FAR)),
            )
            .order_by(Server.id)
            .limit(room)
            .with_for_update(skip_locked=True)
        ).all()
        if rows:
            taken = [row.id for row in rows]
            connection.execute(update(Server).where(Server.id.in_(taken)).values(collector_id=self._me))
            self._wait_again(connection, taken)
            self.held.update((row.name, row.id) for row in rows)
        return [
            Lease(row.name, max((row.not_before - now).total_seconds(), 0.0) if row.not_before else 0.0) for row in rows
        ]

    def give_back(self, connection: Connection, waits: dict[str, float], shy: bool = False) -> None:
        """Let go of servers, each to be left alone for some more seconds; a *shy* collector lets others come first."""
        given = {self.held.pop(name): wait for name, wait in waits.items() if name in self.held}
        if not given or not stay(connection, self._me):
            return
        if shy:
            self._avoided.update(dict.fromkeys(given, time.monotonic() + SHY))
        self._wait_again(connection, given)
        now = clock(connection)
        connection.execute(
            update(Server)
            .where(Server.id == bindparam("server"), Server.collector_id == self._me)
            .values(collector_id=None, not_before=bindparam("until"), pause=None, backoff=None),
            [{"server": identity, "until": now + timedelta(seconds=given[identity])} for identity in sorted(given)],
        )

    def note_visits(self, connection: Connection, waits: dict[str, float]) -> None:
        """Write down until when servers must be left alone, should this collector die."""
        noted = {name: wait for name, wait in sorted(waits.items()) if name in self.held}
        if not noted or not stay(connection, self._me):
            return
        now = clock(connection)
        for name, wait in noted.items():
            until = now + timedelta(seconds=wait)
            connection.execute(update(Server).where(Server.id == self.held[name]).values(not_before=until))

    def note_pauses(self, connection: Connection, unusual: Callable[[str], Pause | None]) -> None:
        """Let others see whose pauses are not those of the publication; only what is new is written."""
        now = {name: pause for name in self.held if (pause := unusual(name)) is not None}
        changed = [name for name in self.held if now.get(name) != self.noted.get(name)]
        if changed and stay(connection, self._me):
            values = {self.held[name]: now.get(name) or (None, None) for name in changed}
            connection.execute(
                update(Server)
                .where(Server.id == bindparam("server"), Server.collector_id == self._me)
                .values(pause=bindparam("seconds"), backoff=bindparam("trouble")),
                [{"server": server, "seconds": one[0], "trouble": one[1]} for server, one in sorted(values.items())],
            )
        self.noted = now

    def contested(self, connection: Connection) -> list[str]:
        """Return the servers on lease at which another item's documents wait."""
        other = select(Item.id).where(Item.state == ItemState.COLLECTING, Item.id != self._item_id).subquery()
        waiting = exists().where(
            Document.item_id == other.c.id,
            Document.server_id == Server.id,
            Document.state == DocumentState.WAITING,
        )
        rows = connection.execute(
            select(Server.name).join(other, text("1 = 1")).where(Server.collector_id == self._me, waiting).distinct()
        )
        return list(rows.scalars())

    def work_left(self, connection: Connection) -> bool:
        """Whether some document of the item waits or is being collected, by anybody."""
        return is_unfinished(connection, self._item_id)

    def leave(self, connection: Connection) -> None:
        """Give back everything, and be no collector any more."""
        self._wait_again(connection, list(self.held.values()))
        nobody = {"collector_id": None, "pause": None, "backoff": None}
        connection.execute(update(Server).where(Server.collector_id == self._me).values(nobody))
        self.held.clear()
        connection.execute(delete(Collector).where(Collector.id == self._me))
        self._bury(connection)
        bury(connection, (Collector.item_id == self._item_id) & ~is_alive(connection))

    def are_of_others(self, connection: Connection) -> ColumnElement[bool]:
        """Return the condition that a server is on lease to another collector of the item that is alive."""
        other = select(Collector.id).where(Collector.item_id == self._item_id, Collector.id != self._me)
        return exists(other.where(Collector.id == Server.collector_id, is_alive(connection)))

    def others(self, connection: Connection) -> bool:
        """Whether somebody else collects the item, as far as is known."""
        other = exists().where(Collector.item_id == self._item_id, Collector.id != self._me)
        return bool(connection.execute(select(other)).scalar_one())

    def _bury(self, connection: Connection) -> None:
        """Remove collectors of this machine whose processes are gone: nobody need wait until they are missed."""
        rows = connection.execute(select(Collector.id, Collector.pid).where(Collector.host == this_machine()))
        bury(connection, Collector.id.in_([identity for identity, pid in rows if not is_running(pid)]))

    def _with_work(self, connection: Connection, after: int) -> list[int]:
        parameters = {"item": self._item_id, "after": after, "most": 2 * MOST}
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

    def _is_avoided(self, identity: int) -> bool:
        until = self._avoided.get(identity)
        if until is None:
            return False
        if until <= time.monotonic():
            del self._avoided[identity]
            return False
        return True


def is_unfinished(connection: Connection, item_id: int) -> bool:
    """Whether some document of an item waits or is being collected, by anybody."""
    states = (DocumentState.WAITING, DocumentState.COLLECTING)
    return any(
        connection.execute(select(exists().where(Document.item_id == item_id, Document.state == state))).scalar_one()
        for state in states
    )
