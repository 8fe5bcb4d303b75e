"""Two items joined once, by the keys of their URLs; what differs is kept for as long as the session lasts."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    MetaData,
    Select,
    String,
    Table,
    and_,
    case,
    func,
    literal,
    null,
    or_,
    select,
    text,
)
from sqlalchemy.orm import Session, aliased

from tarantula.core.states import COLLECTED_STATES
from tarantula.store.listings import IS_COLLECTED
from tarantula.tables.publications import Document

BEFORE, AFTER = aliased(Document, name="earlier"), aliased(Document, name="later")


class DocumentChange(StrEnum):
    """What became of a URL that was collected."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"


SHOWN_COLUMNS = (BEFORE.url, BEFORE.state, BEFORE.type, BEFORE.size, AFTER.url, AFTER.state, AFTER.type, AFTER.size)
"""What is told of the two documents of a URL."""


def _side(name: str) -> Table:
    """Describe a copy of what matters of an item, small and in the order of its keys: rows are looked up once only."""
    return Table(
        name,
        MetaData(),
        Column("key", LargeBinary(16), primary_key=True),
        Column("id", BigInteger),
        Column("digest", String(60)),
        prefixes=["TEMPORARY"],
        sqlite_with_rowid=False,
    )


EARLIER, LATER = _side("earlier_side"), _side("later_side")
"""What each of the two items collected."""

DELTA_TABLE = Table(
    "delta",
    MetaData(),
    Column("change", String(10)),
    Column("key", LargeBinary(16)),
    Column("before_id", BigInteger),
    Column("after_id", BigInteger),
    Column("before_digest", String(60)),
    Column("after_digest", String(60)),
    prefixes=["TEMPORARY"],
)
"""What is not the same in both items."""


def fill_delta_table(session: Session, before: int, after: int) -> None:
    """Join two items, and keep what differs for as long as the session lasts."""
    connection = session.connection()
    for table, item in ((EARLIER, before), (LATER, after)):
        table.create(connection)
        connection.execute(table.insert().from_select(["key", "id", "digest"], _collected(item)))
    _analyze(connection, EARLIER, LATER)
    DELTA_TABLE.create(connection)
    columns = [column.name for column in DELTA_TABLE.columns]
    connection.execute(DELTA_TABLE.insert().from_select(columns, _new_and_changed()))
    connection.execute(DELTA_TABLE.insert().from_select(columns, _gone()))
    _analyze(connection, DELTA_TABLE)


def select_unchanged(before: int, after: int) -> Select[*tuple[Any, ...]]:
    """Select the documents that both items have with the same bytes."""
    return (
        select(*SHOWN_COLUMNS)
        .join_from(AFTER, BEFORE, and_(BEFORE.item_id == before, BEFORE.key == AFTER.key))
        .where(
            AFTER.item_id == after, side_is_collected(AFTER), side_is_collected(BEFORE), AFTER.digest == BEFORE.digest
        )
        .order_by(AFTER.id)
    )


def side_is_collected(document: Any) -> ColumnElement[bool]:
    """Say that one of the two documents was collected."""
    found: ColumnElement[bool] = document.state.between(COLLECTED_STATES.start, COLLECTED_STATES.stop - 1)
    return found


def _collected(item: int) -> Select[*tuple[Any, ...]]:
    chosen = select(Document.key, Document.id, Document.digest).where(Document.item_id == item, IS_COLLECTED)
    return chosen.order_by(Document.key)


def _new_and_changed() -> Select[*tuple[Any, ...]]:
    change = case((EARLIER.c.id.is_(None), DocumentChange.NEW.value), else_=DocumentChange.CHANGED.value)
    # A digest that is not known equals none.
    is_same = and_(EARLIER.c.digest.is_not(None), EARLIER.c.digest == func.coalesce(LATER.c.digest, ""))
    return (
        select(change, LATER.c.key, EARLIER.c.id, LATER.c.id, EARLIER.c.digest, LATER.c.digest)
        .select_from(LATER)
        .outerjoin(EARLIER, EARLIER.c.key == LATER.c.key)
        .where(or_(EARLIER.c.id.is_(None), ~is_same))
    )


def _gone() -> Select[*tuple[Any, ...]]:
    return (
        select(literal(DocumentChange.GONE.value), EARLIER.c.key, EARLIER.c.id, null(), EARLIER.c.digest, null())
        .select_from(EARLIER)
        .outerjoin(LATER, LATER.c.key == EARLIER.c.key)
        .where(LATER.c.id.is_(None))
    )


def _analyze(connection: Connection, *tables: Table) -> None:
    """Tell PostgreSQL how large new tables are; it would take them for small ones."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            connection.execute(text(f"ANALYZE {table.name}"))
