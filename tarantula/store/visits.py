"""Visits of a refresh item: release those that are due, and store whether the document changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import expm1
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, bindparam, exists, func, select, text, update

from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.items import FrontierEntry
from tarantula.models import UNDER_WAY, Document, LinkRow, Server, Visit
from tarantula.store.bulk import chunks, execute_rows
from tarantula.store.commit_group import FinishedDocument
from tarantula.store.documents import DocumentOutcome
from tarantula.store.liveness import database_time

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


RELEASE_INTERVAL_SECONDS = 0.25
"""Seconds between two looks for visits that are due."""
COUNT_INTERVAL_SECONDS = 5.0
"""Seconds between two counts of how many visits were made."""
REDIRECT_STATES = range(300, 400)
UNINFORMATIVE_STATES = UNREACHED_STATES | {
    DocumentState.INVALID_RESPONSE,
    DocumentState.NO_CODE,
    DocumentState.EXCLUDED_BY_ROBOTS,
    DocumentState.OVER_LIMIT,
}
"""The states that say nothing of a document that was collected before: what was collected stays."""


@dataclass(slots=True)
class _Rows:
    """What is written of some documents and visits."""

    whole: list[DocumentOutcome] = field(default_factory=list)
    """Documents of which everything is written."""
    kept: list[dict[str, Any]] = field(default_factory=list)
    """Documents that stay what they were."""
    waiting: list[dict[str, Any]] = field(default_factory=list)
    """Documents that are to be tried again."""
    visits: list[dict[str, Any]] = field(default_factory=list)


class VisitSettlement:
    """Settles the visits of one item."""

    def __init__(self, visits: VisitTable) -> None:
        self._visits = visits
        self._look_again = self._count_again = 0.0
        self.standing = VisitProgress(0, 0, None)
        """How far they are, for those who watch."""
        self.nothing_waits = False
        """Whether nothing was left but visits that are to come, when somebody last looked."""

    def release(self, connection: Connection, left_out: Callable[[], ColumnElement[bool]]) -> list[FrontierEntry]:
        """Let the documents wait whose visits are due, unless one looked just now; return them."""
        now = monotonic()
        if now < self._look_again:
            return []
        self._look_again = now + RELEASE_INTERVAL_SECONDS
        released = self._visits.release(connection, left_out())
        if self._count_again <= now:
            self._count_again = now + COUNT_INTERVAL_SECONDS
            self.standing = self._visits.standing(connection)
        else:
            self.standing = self.standing._replace(next_due=self._visits.next_due(connection))
        return released

    def work_left(self, connection: Connection, documents_wait: bool) -> bool:
        """Whether a document waits or is being collected, or a visit is still to be released."""
        self.nothing_waits = not documents_wait
        return documents_wait or self._visits.are_to_come(connection)

    def settle(self, connection: Connection, finished: Iterable[FinishedDocument]) -> list[DocumentOutcome]:
        """Write what visits found; return the documents of which everything is to be written, as of any other."""
        by_id = {one.outcome.id: one for one in finished}
        visits = self._visits.under_way(connection, by_id)
        rows = _Rows()
        for identity, one in by_id.items():
            visit, outcome = visits.get(identity), one.outcome
            if visit is None:
                rows.whole.append(outcome)
            elif outcome.state == DocumentState.WAITING:
                rows.waiting.append({"document": identity, "again": outcome.tries})
            else:
                changed = _changed(visit, outcome)
                if changed is False and outcome.state in REDIRECT_STATES:
                    changed = _leads_elsewhere(connection, one)
                _settle(visit, outcome, changed, rows)
        _write(connection, rows)
        return rows.whole


def _settle(visit: Row[Any], outcome: DocumentOutcome, changed: bool | None, rows: _Rows) -> None:
    rows.visits.append(_found(visit, outcome, changed))
    if outcome.state in UNINFORMATIVE_STATES:
        words = f"It could not be visited again, and is kept as it was collected before: {outcome.reason}"
        rows.kept.append({"document": visit.document_id, "back": visit.before, "why": words, "again": outcome.tries})
    elif outcome.refers_to_id is not None and visit.warc is not None:
        # The item has a record of this body, of which its row tells; this one is told of by the visit.
        rows.kept.append(
            {"document": visit.document_id, "back": visit.before, "why": outcome.reason, "again": outcome.tries}
        )
    else:
        rows.whole.append(outcome)


def _found(visit: Row[Any], outcome: DocumentOutcome, changed: bool | None) -> dict[str, Any]:
    at: Any = outcome.collected_at
    before = max((moment for moment in (visit.collected_at, visit.last_made) if moment is not None), default=at)
    gap = max((at - before).total_seconds(), 0.0)
    return {
        "visit": visit.id,
        "made_at": at,
        "gap": gap,
        "believed": -expm1(-visit.rate * gap),
        "state": outcome.state,
        "changed": changed,
        "reason": outcome.reason,
        "type": outcome.type,
        "digest": outcome.digest,
        "warc": outcome.warc,
        "warc_offset": outcome.warc_offset,
        "warc_length": outcome.warc_length,
        "refers_to_id": outcome.refers_to_id,
        "unmodified": outcome.unmodified,
    }


def _changed(visit: Row[Any], outcome: DocumentOutcome) -> bool | None:
    """Whether a document is another one now; a server in trouble says nothing of it."""
    if outcome.state in UNINFORMATIVE_STATES or outcome.state >= 500 or outcome.state in (408, 429):
        return None
    return bool((outcome.state, outcome.digest) != (visit.before, visit.digest))


def _leads_elsewhere(connection: Connection, redirect: FinishedDocument) -> bool:
    """Whether a redirect leads to another address than before; it has no body that would tell."""
    before = connection.execute(select(LinkRow.target).where(LinkRow.document_id == redirect.outcome.id))
    return {bytes(target) for (target,) in before} != set(redirect.links)


def _write(connection: Connection, rows: _Rows) -> None:
    document = update(Document).where(Document.id == bindparam("document"))
    if rows.waiting:
        connection.execute(document.values(state=DocumentState.WAITING, tries=bindparam("again")), rows.waiting)
    if rows.kept:
        kept: dict[str, Any] = {"state": bindparam("back"), "reason": bindparam("why"), "tries": bindparam("again")}
        connection.execute(document.values(kept), rows.kept)
    if rows.visits:
        names = [name for name in rows.visits[0] if name != "visit"]
        found = {name: bindparam(f"new_{name}", type_=Visit.__table__.columns[name].type) for name in names}
        given = [{"visit": one["visit"], **{f"new_{name}": one[name] for name in names}} for one in rows.visits]
        connection.execute(update(Visit).where(Visit.id == bindparam("visit")).values(found), given)
