"""Comparison of two items: URLs and contents that are new, changed, same or gone.

The items are joined once by URL key; the differences stay in a temporary table for the length of the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    MetaData,
    Select,
    String,
    Subquery,
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

from tarantula.core.errors import TarantulaError
from tarantula.core.states import COLLECTED_STATES
from tarantula.core.urls import canonical, key_of
from tarantula.models import Document, Item
from tarantula.store.listings import IS_COLLECTED, ROWS_PER_FETCH
from tarantula.store.withholding import WithheldMark, withheld_mark

BEFORE, AFTER = aliased(Document, name="earlier"), aliased(Document, name="later")
SHOWN_COLUMNS = (BEFORE.url, BEFORE.state, BEFORE.type, BEFORE.size, AFTER.url, AFTER.state, AFTER.type, AFTER.size)
"""Columns shown of the two documents of a URL."""
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
"""Documents that differ between the items."""


class DocumentChange(StrEnum):
    """Change of a URL between two items."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"


def _side(name: str) -> Table:
    """Return a temporary table with keys and digests of one item, sorted by key, so that document rows are read only
    once."""
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
"""Collected documents of the two items."""


def fill_delta_table(session: Session, before: int, after: int) -> None:
    """Join two items and store the differences in temporary tables of the session."""
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
    """Select the documents with the same bytes in both items."""
    return (
        select(*SHOWN_COLUMNS)
        .join_from(AFTER, BEFORE, and_(BEFORE.item_id == before, BEFORE.key == AFTER.key))
        .where(
            AFTER.item_id == after, side_is_collected(AFTER), side_is_collected(BEFORE), AFTER.digest == BEFORE.digest
        )
        .order_by(AFTER.id)
    )


def side_is_collected(document: Any) -> ColumnElement[bool]:
    """Return the condition that a document of one side was collected."""
    found: ColumnElement[bool] = document.state.between(COLLECTED_STATES.start, COLLECTED_STATES.stop - 1)
    return found


def _collected(item: int) -> Select[*tuple[Any, ...]]:
    chosen = select(Document.key, Document.id, Document.digest).where(Document.item_id == item, IS_COLLECTED)
    return chosen.order_by(Document.key)


def _new_and_changed() -> Select[*tuple[Any, ...]]:
    change = case((EARLIER.c.id.is_(None), DocumentChange.NEW.value), else_=DocumentChange.CHANGED.value)
    # An unknown digest equals no other.
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
    """Update PostgreSQL's statistics, without which the planner assumes that new tables are small."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            connection.execute(text(f"ANALYZE {table.name}"))


@dataclass(frozen=True, slots=True)
class UrlCounts:
    """Number of URLs that are new, changed, unchanged and gone."""

    new: int
    changed: int
    same: int
    gone: int
    moved: int
    """New URLs with the bytes of a URL that is gone."""


@dataclass(frozen=True, slots=True)
class ContentCounts:
    """The same by content, regardless of the URL."""

    new: int
    """Documents of the later item whose bytes are nowhere in the earlier one."""
    same: int
    """Documents of the later item whose bytes are somewhere in the earlier one."""
    gone: int
    """Documents of the earlier item whose bytes are nowhere in the later one."""


@dataclass(frozen=True, slots=True)
class DiffSummary:
    """Numbers of differences between two items."""

    before: str
    after: str
    by_url: UrlCounts
    by_content: ContentCounts

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON; the keys are a stable interface."""
        return asdict(self)


class DocumentDifference(NamedTuple):
    """One URL in two items."""

    url: str
    change: str
    state_before: int | None
    """None if the item does not have the URL."""
    state_after: int | None
    type: str | None
    size_before: int | None
    size_after: int | None
    moved_from: str | None = None
    """The URL, now gone, that had the bytes of this new one."""
    withheld: WithheldMark | None = None
    """Whether the URL is withheld: then its text is not shown."""

    def as_dict(self) -> dict[str, Any]:
        """Return the difference for JSON; the keys are a stable interface."""
        return {**self._asdict(), "withheld": self.withheld.model_dump(mode="json") if self.withheld else None}


class ItemComparison:
    """Comparison of two items; at most one per session, because of its temporary tables."""

    def __init__(self, session: Session, before: Item, after: Item) -> None:
        self._session = session
        self._before, self._after = before, after

        fill_delta_table(session, before.id, after.id)

    def summary(self) -> DiffSummary:
        """Count new, changed, unchanged and gone documents."""
        counts = dict.fromkeys(DocumentChange, 0)
        for change, number in self._session.execute(
            select(DELTA_TABLE.c.change, func.count()).group_by(DELTA_TABLE.c.change)
        ):
            counts[DocumentChange(change)] = number
        collected = self._session.scalar(select(func.count()).select_from(LATER)) or 0
        new, changed, gone = counts[DocumentChange.NEW], counts[DocumentChange.CHANGED], counts[DocumentChange.GONE]
        fresh = new + changed - self._count_elsewhere(DELTA_TABLE.c.after_digest, EARLIER)
        lost = gone + changed - self._count_elsewhere(DELTA_TABLE.c.before_digest, LATER)
        return DiffSummary(
            self._before.urn,
            self._after.urn,
            UrlCounts(new, changed, collected - new - changed, gone, self._count_moved()),
            ContentCounts(fresh, collected - fresh, lost),
        )

    def differences(self, same: bool = False) -> Iterator[DocumentDifference]:
        """Yield changed, gone and new documents; then unchanged ones, if *same*."""
        gone_bodies, moved = _gone_bodies(), aliased(Document, name="moved")
        chosen = (
            select(DELTA_TABLE.c.change, *SHOWN_COLUMNS, moved.url)
            .select_from(DELTA_TABLE)
            .outerjoin(BEFORE, and_(BEFORE.item_id == self._before.id, BEFORE.key == DELTA_TABLE.c.key))
            .outerjoin(AFTER, and_(AFTER.item_id == self._after.id, AFTER.key == DELTA_TABLE.c.key))
            .outerjoin(
                gone_bodies,
                (gone_bodies.c.digest == DELTA_TABLE.c.after_digest) & (DELTA_TABLE.c.change == DocumentChange.NEW),
            )
            .outerjoin(moved, moved.id == gone_bodies.c.id)
            .order_by(
                DELTA_TABLE.c.change,
                case(
                    (DELTA_TABLE.c.change == DocumentChange.GONE, DELTA_TABLE.c.before_id), else_=DELTA_TABLE.c.after_id
                ),
            )
        )
        for change, *documents, moved_from in self._stream(chosen):
            yield self._marked(_difference(change, *documents)._replace(moved_from=moved_from))
        if same:
            for documents in self._stream(select_unchanged(self._before.id, self._after.id)):
                yield self._marked(_difference(DocumentChange.SAME, *documents))

    def _marked(self, difference: DocumentDifference) -> DocumentDifference:
        return difference._replace(withheld=withheld_mark(self._session, difference.url))

    def _count_elsewhere(self, digest: Column[str], side: Table) -> int:
        """Count the differing documents whose bytes the other item has at any URL."""
        digests = select(digest).where(digest.is_not(None))
        found = select(side.c.digest).where(side.c.digest.in_(digests))
        return self._session.scalar(select(func.count()).select_from(DELTA_TABLE).where(digest.in_(found))) or 0

    def _count_moved(self) -> int:
        gone_bodies = _gone_bodies()
        moved = (
            select(func.count())
            .select_from(DELTA_TABLE)
            .join(gone_bodies, gone_bodies.c.digest == DELTA_TABLE.c.after_digest)
            .where(DELTA_TABLE.c.change == DocumentChange.NEW)
        )
        return self._session.scalar(moved) or 0

    def _stream(self, chosen: Select[*tuple[Any, ...]]) -> Iterator[Any]:
        return iter(self._session.execute(chosen, execution_options={"yield_per": ROWS_PER_FETCH}))


def difference_at(
    session: Session, before: Item, after: Item, url: str
) -> tuple[DocumentDifference, Document, Document]:
    """Return the difference of one URL that both items collected, and its two documents."""
    earlier, later = (_document(session, item, url) for item in (before, after))
    same = earlier.digest is not None and earlier.digest == later.digest
    change = str(DocumentChange.SAME if same else DocumentChange.CHANGED)
    found = DocumentDifference(later.url, change, earlier.state, later.state, later.type, earlier.size, later.size)
    return found._replace(withheld=withheld_mark(session, later.url)), earlier, later


def _document(session: Session, item: Item, url: str) -> Document:
    key = key_of(canonical(url) or url)
    document = session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key))
    if document is None or document.state not in COLLECTED_STATES:
        has = "has no document" if document is None else f"did not collect (its state is {document.state})"
        raise TarantulaError(
            "Item {urn} {has} {url!r}. `tarantula documents {urn}` lists what it has.", urn=item.urn, has=has, url=url
        )
    return document


def _gone_bodies() -> Subquery:
    """Select one gone document per digest, ignoring empty bodies."""
    return (
        select(DELTA_TABLE.c.before_digest.label("digest"), func.min(DELTA_TABLE.c.before_id).label("id"))
        .join(BEFORE, BEFORE.id == DELTA_TABLE.c.before_id)
        .where(DELTA_TABLE.c.change == DocumentChange.GONE, or_(BEFORE.size.is_(None), BEFORE.size > 0))
        .group_by(DELTA_TABLE.c.before_digest)
        .subquery()
    )


def _difference(
    change: str,
    url_before: str | None,
    state_before: int | None,
    type_before: str | None,
    size_before: int | None,
    url_after: str | None,
    state_after: int | None,
    type_after: str | None,
    size_after: int | None,
) -> DocumentDifference:
    """Build a difference; a document that the other item did not collect has no size."""
    if change == DocumentChange.GONE:
        return DocumentDifference(url_before or "", change, state_before, state_after, type_before, size_before, None)
    known = size_before if change != DocumentChange.NEW else None
    return DocumentDifference(url_after or "", str(change), state_before, state_after, type_after, known, size_after)
