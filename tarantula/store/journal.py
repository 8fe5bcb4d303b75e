"""The journal: what happened to documents, for programs that follow.

An entry is written in the transaction of what it tells, behind it. Numbers are given before a transaction is
committed, so one entry may become visible after another with a higher number. Whoever follows takes every entry as soon
as it is visible, and goes on from a place before which none can come any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from struct import pack, unpack
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, text, true
from sqlalchemy.orm import object_session

from tarantula.models import Item, JournalEntry


class JournalKind(IntEnum):
    """What an entry tells."""

    COLLECTED = 1
    """Documents were collected."""
    READ = 2
    """What documents say was read, and is in the table of read texts."""
    ENDED = 3
    """An item has ended: no further document of it is collected."""
    RANKED = 4
    """What leads to an item's documents is known, and how much they weigh."""
    REMOVED = 5
    """An item was removed."""


class JournalRecord(NamedTuple):
    """One entry."""

    id: int
    kind: JournalKind
    item_id: int
    documents: list[int]
    """Those that it happened to; none if it happened to all of the item."""


def append_to_journal(connection: Connection, kind: JournalKind, item_id: int, documents: Iterable[int] = ()) -> None:
    """Write an entry, behind what it tells: a transaction that gave away no number yet must have written something."""
    numbers = list(documents)
    packed = pack(f"<{len(numbers)}q", *numbers) or None
    connection.execute(insert(JournalEntry).values(kind=kind, item_id=item_id, documents=packed))


def append_item_to_journal(item: Item, kind: JournalKind) -> None:
    """Write an entry about an item, in the transaction in which it is held."""
    session = object_session(item)
    assert session is not None
    session.add(JournalEntry(kind=kind, item_id=item.id))


class JournalFollower:
    """Reads the journal from a place on; every entry is handed out once, unless it begins anew.

    Whoever follows *in order* is handed no entry before all that have lower numbers: two that are at the same place
    were handed the same. They wait for every transaction that began before an entry's own has ended.
    """

    def __init__(self, place: int, kinds: Iterable[JournalKind], *, in_order: bool = False) -> None:
        self.place = place
        """Every entry up to here was handed out, and no other can come. Whoever has dealt with them may begin here."""
        self._kinds = [int(kind) for kind in kinds]
        self._in_order = in_order
        self._handed_out: set[int] = set()
        self._watermarks: list[_Watermark] = []

    def next(self, connection: Connection, most: int) -> list[JournalRecord]:
        """Return entries that became visible, at most so many; none if there are none yet."""
        # First: what is settled now, the query below surely sees.
        settled = self._settled(connection)
        looked_for = most + len(self._handed_out)
        rows = connection.execute(
            select(JournalEntry.id, JournalEntry.kind, JournalEntry.item_id, JournalEntry.documents)
            .where(JournalEntry.id > self.place, JournalEntry.kind.in_(self._kinds))
            .where(JournalEntry.id <= settled if self._in_order else true())
            .order_by(JournalEntry.id)
            .limit(looked_for)
        ).all()
        new = [row for row in rows if row.id not in self._handed_out]
        self._handed_out |= {row.id for row in new}
        seen_to = rows[-1].id if len(rows) == looked_for else settled
        self.place = max(self.place, min(settled, seen_to))
        self._handed_out = {number for number in self._handed_out if number > self.place}
        return [JournalRecord(row.id, JournalKind(row.kind), row.item_id, _unpacked(row.documents)) for row in new]

    def _settled(self, connection: Connection) -> int:
        """Return the highest number such that no entry with it or a lower one can still become visible."""
        last = last_assigned_id(connection)
        if connection.dialect.name != "postgresql":
            # Who writes to SQLite, writes alone.
            return last
        if last > (self._watermarks[-1].last if self._watermarks else self.place):
            # Behind the number: who gave it away has begun before.
            self._watermarks.append(_Watermark(last, connection.scalar(_NEXT_TRANSACTION)))
        oldest = connection.scalar(_OLDEST_TRANSACTION)
        done = [mark for mark in self._watermarks if mark.before <= oldest]
        self._watermarks = self._watermarks[len(done) :]
        return done[-1].last if done else self.place


class _Watermark(NamedTuple):
    """Every transaction that was given a number up to *last* began before this one."""

    last: int
    before: int


_GIVEN_AWAY = text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM journal_id_seq")
_NEXT_TRANSACTION = text("SELECT pg_current_xact_id()::text::bigint")
_OLDEST_TRANSACTION = text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")


def last_visible_id(connection: Connection) -> int:
    """Return the number of the last entry that is visible; 0 if there is none."""
    return int(connection.scalar(select(func.coalesce(func.max(JournalEntry.id), 0))) or 0)


def last_assigned_id(connection: Connection) -> int:
    """Return the highest number that an entry was given, whether it is visible or will never be."""
    if connection.dialect.name != "postgresql":
        return last_visible_id(connection)
    return int(connection.scalar(_GIVEN_AWAY) or 0)


def _unpacked(packed: bytes | None) -> list[int]:
    return list(unpack(f"<{len(packed) // 8}q", packed)) if packed else []
