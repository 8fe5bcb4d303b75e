"""Removal of an item: its records go to the items that need them, then its rows, then its files, then its own row.

Every step is repeatable and in short transactions, so an interrupted removal is continued by doing it again. Before
the item is marked as being removed nothing is lost; from then on nothing else uses it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Column, Table, delete, func, select, tuple_
from sqlalchemy.orm import Session

from tarantula.archive.export.exporter import existing_exports
from tarantula.archive.mirror.copier import MirrorWorkspace
from tarantula.archive.quality.indicators import refresh_fixity
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import Message
from tarantula.core.states import REMOVABLE_ITEM_STATES, ItemState
from tarantula.lifecycle.handover import Handover, HandoverCheck, check_referred_records
from tarantula.models import (
    Base,
    Decision,
    Document,
    InheritedRecord,
    Item,
    LinkRow,
    LinkWeight,
    Publication,
    ReadText,
    SkippedText,
    Visit,
)
from tarantula.store.backup.backup import removing_files
from tarantula.store.homes import require_files
from tarantula.store.journal import JournalKind, append_item_to_journal
from tarantula.store.listings import find_item

DOCUMENTS_PER_QUERY = 1000
ROWS_PER_TRANSACTION = 10_000
"""Rows that a transaction deletes; the links of one document are deleted together, however many there are."""
MAX_NAMES_IN_MESSAGE = 10


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """Data that the removal of an item destroys, as far as it was checked."""

    urn: str
    state: str
    documents: int
    decisions: int
    exports: list[str]
    """Paths of its exports in the home. Exports that were written elsewhere are not known."""
    referred: int
    """Number of its records that other items refer to."""
    unreadable: int
    """Number of these records that cannot be read: other items would lose them."""
    unreadable_files: dict[str, int]
    """Number of unreadable records by file."""
    losing_items: dict[str, int]
    """Number of documents and visits that would lose their body, by item."""
    example: str
    """Message of the first unreadable record."""

    def refusal(self) -> str:
        """Return why the item is not removed without force."""
        return (
            f"Item {self.urn} is not removed: other items need {self.referred:,} bodies that it stores, and "
            f"{self.unreadable:,} of them cannot be read, in {_list(self.unreadable_files)}. "
            f"These items would lose them: {_list(self.losing_items)}. The first: {self.example} Put the files back, "
            f"or lose these bodies for good with `tarantula item remove {self.urn} --force`."
        )


class LostBodies(NamedTuple):
    """Bodies that other items lost by a removal."""

    number: int
    messages: list[str]
    """A sentence for each of the first."""


def _list(numbers: dict[str, int]) -> str:
    named = ", ".join(f"{name} ({number:,})" for name, number in islice(numbers.items(), MAX_NAMES_IN_MESSAGE))
    left_out = len(numbers) - MAX_NAMES_IN_MESSAGE
    return f"{named} and {left_out:,} more" if left_out > 0 else named


def check_removable(item: Item) -> None:
    """Raise an error if the state of an item does not allow its removal, or its continuation."""
    if ItemState(item.state) not in {*REMOVABLE_ITEM_STATES, ItemState.REMOVING}:
        raise ConflictError(
            "Item {urn} is {state} and cannot be removed. Stop it first with `tarantula item stop {urn}`.",
            urn=item.urn,
            state=Message(item.state),
        )


def plan_removal(installation: Config, database: Database, urn: str) -> RemovalPlan:
    """Return what the removal of an item destroys. Reads every record that other items refer to; changes nothing."""
    with database.reading() as session:
        item = find_item(session, urn, removing=True)
        check_removable(item)
        require_files(session, installation, item)
        if item.state != ItemState.REMOVING:
            _Surroundings.of(session, item)
        documents = session.scalar(select(func.count()).where(Document.item_id == item.id)) or 0
        decisions = session.scalar(select(func.count()).where(Decision.item_id == item.id)) or 0
    check = HandoverCheck()
    if item.state != ItemState.REMOVING:
        check = check_referred_records(installation, database, item)
    return _plan(installation, database, item, check, documents, decisions)


def _plan(
    installation: Config, database: Database, item: Item, check: HandoverCheck, documents: int = 0, decisions: int = 0
) -> RemovalPlan:
    with database.reading() as session:
        urns = dict(session.execute(select(Item.id, Item.urn).where(Item.id.in_(list(check.items)))).all())
    return RemovalPlan(
        urn=item.urn,
        state=item.state,
        documents=documents,
        decisions=decisions,
        exports=[str(path) for path in existing_exports(installation, item.urn)],
        referred=check.referred,
        unreadable=check.unreadable,
        unreadable_files=dict(check.files),
        losing_items={urns[number]: count for number, count in sorted(check.items.items())},
        example=check.example,
    )


def remove_item(installation: Config, database: Database, urn: str, *, force: bool = False) -> LostBodies:
    """Remove an item with its files, exports and rows, or continue an interrupted removal.

    Records that other items refer to are handed over. If one of them cannot be read, nothing is removed, unless
    *force* is set. Return the bodies that other items lost; a continued removal loses none.
    """
    lost = LostBodies(0, [])
    with removing_files(installation), MirrorWorkspace(installation.archived, urn) as lock:
        with database.reading() as session:
            item = find_item(session, urn, removing=True)
            check_removable(item)
            require_files(session, installation, item)
        if item.state != ItemState.REMOVING:
            lost = _hand_over_and_mark(installation, database, item, force)
        _delete_rows(database, item.id)
        _delete_files(installation, urn)
        with database.session() as session:
            _delete_item(session, urn)
        # A process of the daemon writes its log there.
        shutil.rmtree(installation.items / urn, ignore_errors=True)
        shutil.rmtree(lock.folder)
    return lost


def interrupted_removals(installation: Config, database: Database) -> list[str]:
    """Return the items of this home whose removal was interrupted."""
    with database.reading() as session:
        urns = session.scalars(select(Item.urn).where(Item.state == ItemState.REMOVING).order_by(Item.id)).all()
    return [urn for urn in urns if _is_interrupted(installation, urn)]


def _is_interrupted(installation: Config, urn: str) -> bool:
    workspace = MirrorWorkspace(installation.archived, urn)
    # Another home has the files of an item that has no such folder here.
    if not workspace.folder.is_dir():
        return False
    try:
        with workspace:
            return True
    except TarantulaError:
        return False


def _hand_over_and_mark(installation: Config, database: Database, item: Item, force: bool) -> LostBodies:
    """Hand over all records that others refer to, and mark the item; return the bodies that others lost."""
    handover = Handover(installation, database, item)
    while True:
        with database.reading() as session:
            before = _Surroundings.of(session, item)
        check = handover.run(lose_unreadable=force)
        if check.unreadable and not force:
            raise ConflictError(_plan(installation, database, item, check).refusal())
        for number in sorted(check.items):
            with database.session() as session:
                # It may have been complete until now.
                refresh_fixity(session, session.get_one(Item, number, with_for_update=True))
        with database.session() as session:
            session.execute(select(Publication.id).where(Publication.id == item.publication_id).with_for_update())
            now = _Surroundings.of(session, item, lock=True)
            if now == before.after(check):
                _mark(session, item.urn)
                return LostBodies(check.unreadable, check.messages)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What must not change while records are handed over, because an item may begin to refer to others."""

    others: list[Any]
    inherited: int

    @classmethod
    def of(cls, session: Session, item: Item, *, lock: bool = False) -> _Surroundings:
        """Read them; raise an error if another item is being collected, since it may refer to this one."""
        columns = (Item.id, Item.urn, Item.state, Item.started_at, Item.finished_at)
        others = select(*columns).where(Item.publication_id == item.publication_id, Item.id != item.id)
        rows = session.execute(others.order_by(Item.id).with_for_update() if lock else others.order_by(Item.id)).all()
        for row in rows:
            if row.state == ItemState.COLLECTING:
                raise ConflictError(
                    "Item {urn} is being collected, and may refer to {item_urn}. Wait until it has ended, or stop it.",
                    urn=row.urn,
                    item_urn=item.urn,
                )
        inherited = select(func.count()).select_from(InheritedRecord).where(InheritedRecord.item_id == item.id)
        return cls(list(rows), session.scalar(inherited) or 0)

    def after(self, check: HandoverCheck) -> _Surroundings:
        """Return what they are after a hand-over, if nothing else happened."""
        return _Surroundings(self.others, self.inherited - check.moved)


def _mark(session: Session, urn: str) -> None:
    """Mark an item as being removed: from now on nothing else uses it."""
    item = session.scalars(select(Item).where(Item.urn == urn).with_for_update()).one()
    session.refresh(item)
    check_removable(item)
    item.state = ItemState.REMOVING
    item.finished_at = item.finished_at or datetime.now(UTC)
    item.news = None
    append_item_to_journal(item, JournalKind.REMOVED)


def _delete_rows(database: Database, item_id: int) -> None:
    for ids in _document_groups(database, item_id):
        with database.session() as session:
            connection = session.connection()
            for column in _COLUMNS_WITH_DOCUMENT:
                connection.execute(delete(column.table).where(column.in_(ids)))
    for column in _columns_with_item():
        while _delete_some(database, column, item_id):
            pass


_COLUMNS_WITH_DOCUMENT: tuple[Any, ...] = (
    LinkRow.__table__.c.document_id,
    ReadText.__table__.c.document_id,
    SkippedText.__table__.c.document_id,
    LinkWeight.__table__.c.document_id,
    Visit.__table__.c.document_id,
    Document.__table__.c.id,
)


def _columns_with_item() -> list[Column[Any]]:
    """Return the columns of other tables that have the id of an item; each table's own rows come before it."""
    without_key = [table.__table__.c.item_id for table in (ReadText, SkippedText, LinkWeight, Visit)]
    tables = reversed(Base.metadata.sorted_tables)
    keys = [key for table in tables for key in table.foreign_keys if key.column is Item.__table__.c.id]
    return [*without_key, *(key.parent for key in keys)]


def _document_groups(database: Database, item_id: int) -> Iterator[list[int]]:
    """Yield the ids of an item's documents in groups with about `ROWS_PER_TRANSACTION` rows."""
    first: int | None
    with database.reading() as session:
        first, last = session.execute(
            select(func.min(Document.id), func.max(Document.id)).where(Document.item_id == item_id)
        ).one()
    # The sum prevents use of the item index, which would sort all documents of the item for every batch.
    of_item = select(Document.id).where(Document.item_id + 0 == item_id)
    while first is not None:
        with database.reading() as session:
            some = of_item.where(Document.id.between(first, last)).order_by(Document.id).limit(DOCUMENTS_PER_QUERY)
            ids = list(session.scalars(some))
            counted = select(LinkRow.document_id, func.count()).where(LinkRow.document_id.in_(ids))
            links = dict(session.execute(counted.group_by(LinkRow.document_id)).all())
        group: list[int] = []
        rows = 0
        for number in ids:
            if group and rows + links.get(number, 0) >= ROWS_PER_TRANSACTION:
                yield group
                group, rows = [], 0
            group.append(number)
            rows += 1 + links.get(number, 0)
        if group:
            yield group
        first = ids[-1] + 1 if len(ids) == DOCUMENTS_PER_QUERY else None


def _delete_some(database: Database, column: Column[Any], item_id: int) -> bool:
    """Delete some rows of an item; return whether there may be more."""
    table = column.table
    assert isinstance(table, Table)
    key = tuple(table.primary_key.columns)
    some = select(*key).where(column == item_id).limit(DOCUMENTS_PER_QUERY)
    with database.reading() as session:
        if session.execute(some.limit(1)).first() is None:
            return False
    with database.session() as session:
        session.connection().execute(delete(table).where(tuple_(*key).in_(some)))
    return True


def _delete_files(installation: Config, urn: str) -> None:
    """Delete the WARC files, the mirror and the exports of an item."""
    workspace = MirrorWorkspace(installation.archived, urn)
    for path in (*existing_exports(installation, urn), workspace.mirror, workspace.old, installation.items / urn):
        _delete_path(path)


def _delete_path(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise TarantulaError(
            "{path} cannot be removed ({error}). Correct its permissions, then repeat the removal.",
            path=path,
            error=error.strerror,
        ) from error


def _delete_item(session: Session, urn: str) -> None:
    item = session.scalars(select(Item).where(Item.urn == urn).with_for_update()).one()
    # An index that read documents of the item meanwhile drops them now.
    append_item_to_journal(item, JournalKind.REMOVED)
    for column in _columns_with_item():
        session.connection().execute(delete(column.table).where(column == item.id))
    session.connection().execute(delete(Item).where(Item.id == item.id))
    session.expunge(item)
