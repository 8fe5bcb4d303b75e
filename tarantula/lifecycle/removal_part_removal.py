"""An item is removed: its files first, its rows last, so that a removal that was cut short can be repeated."""

from __future__ import annotations

import shutil

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.core.states import REMOVABLE_ITEM_STATES, ItemState
from tarantula.lifecycle.removal import copy_referred_records, hand_over
from tarantula.store.journal import JournalKind, append_item_to_journal
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item
from tarantula.tables.publications import Base, Document, Item, LinkRow, LinkWeight, ReadText, Visit


def check_removable(item: Item) -> None:
    """Refuse to remove an item that somebody may be at work on."""
    if ItemState(item.state) not in REMOVABLE_ITEM_STATES:
        raise ConflictError(
            f"Item {item.urn} is {item.state} and cannot be removed. "
            f"Stop it first with `tarantula item stop {item.urn}`."
        )


def remove_item(installation: Config, database: Database, urn: str) -> list[str]:
    """Remove an item for good: what was collected, what was made of it, and every row.

    Records that later items refer to are given into their care; return why some could not be, a sentence each.
    """
    with database.reading() as session:
        item = find_item(session, urn)
        check_removable(item)
        copied = copy_referred_records(session, installation, item)
    with database.session() as session:
        item = lock_item(session, urn)
        check_removable(item)
        handover = hand_over(session, installation, item, copied)
    for directory in (installation.archived / urn, installation.items / urn):
        if directory.exists():
            shutil.rmtree(directory)
    with database.session() as session:
        _remove_rows(session, lock_item(session, urn))
    return list(handover.lost.values())


def _remove_rows(session: Session, item: Item) -> None:
    check_removable(item)
    append_item_to_journal(item, JournalKind.REMOVED)
    session.execute(delete(ReadText).where(ReadText.item_id == item.id))
    session.execute(delete(LinkWeight).where(LinkWeight.item_id == item.id))
    documents = select(Document.id).where(Document.item_id == item.id)
    session.execute(delete(LinkRow).where(LinkRow.document_id.in_(documents)))
    session.execute(delete(Document).where(Document.item_id == item.id))
    session.execute(delete(Visit).where(Visit.item_id == item.id))
    for table in reversed(Base.metadata.sorted_tables):
        for key in table.foreign_keys:
            if key.column is Item.__table__.c.id:
                session.execute(delete(table).where(key.parent == item.id))
    session.delete(item)
