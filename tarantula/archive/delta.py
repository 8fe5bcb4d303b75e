"""Two items joined once, by the keys of their URLs; what differs is kept for as long as the session lasts."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
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

from tarantula.listings import COLLECTED, IS_COLLECTED
from tarantula.models import Document

BEFORE, AFTER = aliased(Document, name="earlier"), aliased(Document, name="later")


class Change(StrEnum):
    """What became of a URL that was collected."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"


DELTA = Table(
    "delta",
    MetaData(),
    Column("change", String(10)),
    Column("before_id", BigInteger),
    Column("after_id", BigInteger),
    Column("before_digest", String(60)),
    Column("after_digest", String(60)),
    prefixes=["TEMPORARY"],
)
"""What is not the same in both items. A row's other document may be there without having been collected."""

SHOWN = (BEFORE.url, BEFORE.state, BEFORE.type, BEFORE.size, AFTER.url, AFTER.state, AFTER.type, AFTER.size)
"""What is told of the two documents of a URL."""


def make(session: Session, before: int, after: int) -> None:
    """Join two items, and keep what differs."""
    connection = session.connection()
    DELTA.create(connection)
    columns = [column.name for column in DELTA.columns]
    connection.execute(DELTA.insert().from_select(columns, _new_and_changed(before, after)))
    connection.execute(DELTA.insert().from_select(columns, _gone(before, after)))
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE delta"))


def count_collected(session: Session, item: int) -> int:
    """Return how many documents an item collected."""
    return session.scalar(select(func.count()).where(Document.item_id == item, IS_COLLECTED)) or 0


def same(before: int, after: int) -> Select[*tuple[Any, ...]]:
    """Select the documents that both items have with the same bytes."""
    return (
        select(*SHOWN)
        .join_from(AFTER, BEFORE, and_(BEFORE.item_id == before, BEFORE.key == AFTER.key))
        .where(AFTER.item_id == after, is_collected(AFTER), is_collected(BEFORE), AFTER.digest == BEFORE.digest)
        .order_by(AFTER.id)
    )


def is_collected(document: Any) -> ColumnElement[bool]:
    """Say that one of the two documents was collected."""
    found: ColumnElement[bool] = document.state.between(COLLECTED.start, COLLECTED.stop - 1)
    return found


def _new_and_changed(before: int, after: int) -> Select[*tuple[Any, ...]]:
    was_there = and_(BEFORE.id.is_not(None), is_collected(BEFORE))
    change = case((was_there, Change.CHANGED.value), else_=Change.NEW.value)
    differs = or_(~was_there, BEFORE.digest.is_(None), AFTER.digest.is_(None), AFTER.digest != BEFORE.digest)
    return (
        select(change, BEFORE.id, AFTER.id, case((was_there, BEFORE.digest)), AFTER.digest)
        .select_from(AFTER)
        .outerjoin(BEFORE, and_(BEFORE.item_id == before, BEFORE.key == AFTER.key))
        .where(AFTER.item_id == after, is_collected(AFTER), differs)
    )


def _gone(before: int, after: int) -> Select[*tuple[Any, ...]]:
    return (
        select(literal(Change.GONE.value), BEFORE.id, AFTER.id, BEFORE.digest, null())
        .select_from(BEFORE)
        .outerjoin(AFTER, and_(AFTER.item_id == after, AFTER.key == BEFORE.key))
        .where(BEFORE.item_id == before, is_collected(BEFORE), or_(AFTER.id.is_(None), ~is_collected(AFTER)))
    )
