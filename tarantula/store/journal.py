"""Journal of changes to documents, for processes that follow them (search index, barrels).

An entry is written at the end of the transaction that it describes. Ids are assigned before a transaction is committed,
so an entry may become visible after one with a higher id. A follower takes each entry as soon as it is visible, and
resumes from a position before which no entry can appear any more.
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
    """Kind of change that an entry describes."""

    COLLECTED = 1
    """Documents were collected."""
    READ = 2
    """Texts of documents were extracted and are in the table ``read_text``."""
    ENDED = 3
    """The item has ended: no more documents of it are collected."""
    RANKED = 4
    """Link weights of the item's documents are computed."""
    REMOVED = 5
    """The item was removed."""


class JournalRecord(NamedTuple):
    """One journal entry, unpacked."""

    id: int
    kind: JournalKind
    item_id: int
    documents: list[int]
    """Ids of the affected documents; empty if all documents of the item are affected."""


def append_to_journal(connection: Connection, kind: JournalKind, item_id: int, documents: Iterable[int] = ()) -> None:
    """Append an entry, after the changes that it describes.

    The order matters on PostgreSQL: the transaction must have its id before the entry gets one.
    """
    numbers = list(documents)
    packed = pack(f"<{len(numbers)}q", *numbers) or None
    connection.execute(insert(JournalEntry).values(kind=kind, item_id=item_id, documents=packed))


def append_item_to_journal(item: Item, kind: JournalKind) -> None:
    """Append an entry about an item, in the session of the item."""
    session = object_session(item)
    assert session is not None
    session.add(JournalEntry(kind=kind, item_id=item.id))


class JournalFollower:
    """Reads the journal from a position on and returns every entry once.

    With *in_order*, an entry is returned only after all entries with lower ids, so that two followers at the same
    position have seen the same entries. This waits until every transaction that began before the entry's own has ended.
    """

    def __init__(self, place: int, kinds: Iterable[JournalKind], *, in_order: bool = False) -> None:
        self.place = place
        """Position up to which all entries have been returned and none can appear. A follower can resume from here."""
        self._kinds = [int(kind) for kind in kinds]
        self._in_order = in_order
        self._handed_out: set[int] = set()
        self._watermarks: list[_Watermark] = []

    def next(self, connection: Connection, most: int) -> list[JournalRecord]:
        """Return at most *most* entries that became visible; an empty list if there are none."""
        # Computed before the query, so that the query sees all settled entries.
        settled = self._settled(connection)
        limit = most + len(self._handed_out)
        rows = connection.execute(
            select(JournalEntry.id, JournalEntry.kind, JournalEntry.item_id, JournalEntry.documents)
            .where(JournalEntry.id > self.place, JournalEntry.kind.in_(self._kinds))
            .where(JournalEntry.id <= settled if self._in_order else true())
            .order_by(JournalEntry.id)
            .limit(limit)
        ).all()
        new = [row for row in rows if row.id not in self._handed_out]
        self._handed_out |= {row.id for row in new}
        seen_to = rows[-1].id if len(rows) == limit else settled
        self.place = max(self.place, min(settled, seen_to))
        self._handed_out = {number for number in self._handed_out if number > self.place}
        return [JournalRecord(row.id, JournalKind(row.kind), row.item_id, _unpacked(row.documents)) for row in new]

    def _settled(self, connection: Connection) -> int:
        """Return the highest id up to which no further entry can become visible."""
        last = last_assigned_id(connection)
        if connection.dialect.name != "postgresql":
            # SQLite has one writer at a time.
            return last
        if last > (self._watermarks[-1].last if self._watermarks else self.place):
            # Read after the id: the transaction that was assigned it has begun before.
            self._watermarks.append(_Watermark(last, connection.scalar(_NEXT_TRANSACTION)))
        oldest = connection.scalar(_OLDEST_TRANSACTION)
        done = [mark for mark in self._watermarks if mark.before <= oldest]
        self._watermarks = self._watermarks[len(done) :]
        return done[-1].last if done else self.place


class _Watermark(NamedTuple):
    """Every transaction that was assigned an id up to *last* began before transaction *before*."""

    last: int
    before: int


_LAST_ASSIGNED = text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM journal_id_seq")
_NEXT_TRANSACTION = text("SELECT pg_current_xact_id()::text::bigint")
_OLDEST_TRANSACTION = text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")


def last_visible_id(connection: Connection) -> int:
    """Return the id of the last visible entry; 0 if there is none."""
    return int(connection.scalar(select(func.coalesce(func.max(JournalEntry.id), 0))) or 0)


def last_assigned_id(connection: Connection) -> int:
    """Return the highest assigned id, whether or not its entry is or becomes visible."""
    if connection.dialect.name != "postgresql":
        return last_visible_id(connection)
    return int(connection.scalar(_LAST_ASSIGNED) or 0)


def _unpacked(packed: bytes | None) -> list[int]:
    return list(unpack(f"<{len(packed) // 8}q", packed)) if packed else []
