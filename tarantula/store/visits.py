"""Visits of a refresh item: those that are due are released, and what each of them found is written.

A document waits because its row says so. While its visit is not due the row says what the last capture found; when it
is, the row becomes a waiting one, and the visit remembers what to go back to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, exists, func, select, text, update

from tarantula.core.states import DocumentState
from tarantula.items import FrontierEntry
from tarantula.store.bulk import chunks, execute_rows
from tarantula.store.liveness_part_collectors import database_time
from tarantula.tables.publications import UNDER_WAY, Document, Server, Visit

MAX_RELEASED_VISITS = 1000
"""Visits that are released at a time."""

_UNDONE = (DocumentState.WAITING, DocumentState.COLLECTING)
_RELEASE_VISITS = (
    "UPDATE visit SET released_at = done.column2, before = done.column3 FROM ({rows}) AS done"
    " WHERE visit.id = done.column1"
)
_RELEASE_DOCUMENTS = (
    "UPDATE document SET state = -6, tries = 0, rank = due.column2 FROM ({rows}) AS due WHERE document.id = due.column1"
)
_PUT_BACK = text(
    "UPDATE document SET state = visit.before FROM visit"
    f" WHERE visit.item_id = :item AND {UNDER_WAY.replace('released_at', 'visit.released_at')}"
    " AND document.id = visit.document_id AND document.state IN (0, -6)"
)


class VisitProgress(NamedTuple):
    """How far the visits of an item are."""

    planned: int
    made: int
    next_due: datetime | None
    """When the next one is due that is not released; nothing if none is to come."""


class VisitTable:
    """The visits of one item."""

    def __init__(self, item_id: int, since: datetime) -> None:
        self._item_id = item_id
        self._since = since
        """What ranks are counted from: the visit that is due first comes first."""

    def release(self, connection: Connection, left_out: ColumnElement[bool] | None = None) -> list[FrontierEntry]:
        """Let the documents wait whose visits are due, but those of servers that are *left_out*; return them."""
        now = database_time(connection)
        chosen = select(Visit.id, Visit.document_id, Visit.due_at).where(
            Visit.item_id == self._item_id, Visit.released_at.is_(None), Visit.due_at <= now
        )
        if left_out is not None:
            servers = chosen.join(Document, Document.id == Visit.document_id).join(
                Server, Server.id == Document.server_id
            )
            chosen = servers.where(~left_out)
        first = chosen.order_by(Visit.due_at, Visit.id).limit(MAX_RELEASED_VISITS)
        due = connection.execute(first.with_for_update(of=Visit, skip_locked=True)).all()
        if not due:
            return []
        documents = self._documents(connection, sorted({visit.document_id for visit in due}))
        released: dict[int, FrontierEntry] = {}
        done: list[tuple[int, datetime, int | None]] = []
        for visit in due:
            document = documents[visit.document_id]
            # One whose document waits already has nothing to find that the other visit does not.
            falls_away = document.state in _UNDONE or document.id in released
            done.append((visit.id, now, None if falls_away else document.state))
            if not falls_away:
                released[document.id] = _entry(document, self._rank(visit.due_at))
        execute_rows(connection, _RELEASE_VISITS, done, ("bigint", "timestamptz", "smallint"))
        rows = [(entry.id, entry.rank) for entry in released.values()]
        if rows:
            execute_rows(connection, _RELEASE_DOCUMENTS, rows, ("bigint", "integer"))
        return list(released.values())

    def under_way(self, connection: Connection, documents: Iterable[int]) -> dict[int, Row[Any]]:
        """Return the visits because of which some documents wait or are being collected, with what these were."""
        found: dict[int, Row[Any]] = {}
        for chunk in chunks(documents):
            rows = connection.execute(
                select(
                    Visit.id,
                    Visit.document_id,
                    Visit.rate,
                    Visit.before,
                    Document.digest,
                    Document.warc,
                    Document.collected_at,
                    _last_made(),
                )
                .join(Document, Document.id == Visit.document_id)
                .where(Visit.item_id == self._item_id, text(UNDER_WAY), Visit.document_id.in_(chunk))
            )
            found |= {row.document_id: row for row in rows}
        return found

    def are_to_come(self, connection: Connection) -> bool:
        """Whether a visit is still to be released."""
        to_come = exists().where(Visit.item_id == self._item_id, Visit.released_at.is_(None))
        return bool(connection.execute(select(to_come)).scalar_one())

    def standing(self, connection: Connection) -> VisitProgress:
        """Count them."""
        planned, made = connection.execute(
            select(func.count(), func.count(Visit.made_at)).where(Visit.item_id == self._item_id)
        ).one()
        return VisitProgress(planned, made, self.next_due(connection))

    def next_due(self, connection: Connection) -> datetime | None:
        """Return when the next one is due, of those that are to come."""
        to_come = select(func.min(Visit.due_at)).where(Visit.item_id == self._item_id, Visit.released_at.is_(None))
        return connection.execute(to_come).scalar_one()

    def _documents(self, connection: Connection, ids: Sequence[int]) -> dict[int, Any]:
        rows = connection.execute(
            select(
                Document.id,
                Document.state,
                Document.url,
                Document.depth,
                Document.kind,
                Document.redirects,
                Server.name.label("server"),
            )
            .join(Server, Server.id == Document.server_id)
            .where(Document.id.in_(ids))
            # Always in the same order: two that release must not wait for each other.
            .order_by(Document.id)
            .with_for_update(of=Document)
        )
        return {row.id: row for row in rows}

    def _rank(self, due: datetime) -> int:
        return max(int((due - self._since) / timedelta(seconds=1)), 0)


def reset_released_visits(connection: Connection, item_id: int) -> None:
    """Let documents whose visits are not made be again what they were; the visits are to come."""
    connection.execute(_PUT_BACK, {"item": item_id})
    connection.execute(
        update(Visit).where(Visit.item_id == item_id, text(UNDER_WAY)).values(released_at=None, before=None)
    )


def _last_made() -> Any:
    """Select when a document was last found to be as its row says, if that was later than the row's own capture."""
    other = Visit.__table__.alias("other")
    return (
        select(func.max(other.c.made_at))
        .where(other.c.document_id == Visit.document_id, other.c.changed.is_not(None))
        .scalar_subquery()
        .label("last_made")
    )


def _entry(document: Any, rank: int) -> FrontierEntry:
    return FrontierEntry(
        document.id, document.url, document.server, document.depth, document.kind, rank, document.redirects
    )
