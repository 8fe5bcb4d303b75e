"""Visits of a refresh item: release those that are due, and store whether the document changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import expm1
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, bindparam, exists, func, select, text, update

from tarantula.core.reasons import Reason, stored_reason
from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.frontier.queues import FrontierEntry
from tarantula.models import UNDER_WAY, Document, LinkRow, Server, Visit
from tarantula.store.bulk import chunks, execute_rows
from tarantula.store.commit_group import FinishedDocument
from tarantula.store.documents import DocumentOutcome
from tarantula.store.liveness import database_time

MAX_RELEASED_VISITS = 1000
"""Maximum number of visits released at a time."""

_PENDING_STATES = (DocumentState.WAITING, DocumentState.COLLECTING)
_RELEASE_VISITS = (
    "UPDATE visit SET released_at = done.column2, before = done.column3 FROM ({rows}) AS done"
    " WHERE visit.id = done.column1"
)
_RELEASE_DOCUMENTS = (
    "UPDATE document SET state = -6, tries = 0, rank = due.column2 FROM ({rows}) AS due WHERE document.id = due.column1"
)
_RESTORE_DOCUMENTS = text(
    "UPDATE document SET state = visit.before FROM visit"
    f" WHERE visit.item_id = :item AND {UNDER_WAY.replace('released_at', 'visit.released_at')}"
    " AND document.id = visit.document_id AND document.state IN (0, -6)"
)
RELEASE_INTERVAL_SECONDS = 0.25
"""Interval of checks for visits that are due."""
COUNT_INTERVAL_SECONDS = 5.0
"""Interval of counting the visits made."""
REDIRECT_STATES = range(300, 400)
UNINFORMATIVE_STATES = UNREACHED_STATES | {
    DocumentState.INVALID_RESPONSE,
    DocumentState.NO_CODE,
    DocumentState.EXCLUDED_BY_ROBOTS,
    DocumentState.OVER_LIMIT,
}
"""States that say nothing about a document that was collected before: the earlier capture stays."""


class VisitProgress(NamedTuple):
    """Progress of the visits of an item."""

    planned: int
    made: int
    next_due: datetime | None
    """When the next unreleased visit is due; None if there is none."""


class VisitTable:
    """Visits of one item."""

    def __init__(self, item_id: int, since: datetime) -> None:
        self._item_id = item_id
        self._since = since
        """Origin of ranks: the visit that is due first has the lowest rank."""

    def release(self, connection: Connection, excluded: ColumnElement[bool] | None = None) -> list[FrontierEntry]:
        """Set documents whose visits are due to waiting, except at servers that match *excluded*; return them."""
        now = database_time(connection)
        chosen = select(Visit.id, Visit.document_id, Visit.due_at).where(
            Visit.item_id == self._item_id, Visit.released_at.is_(None), Visit.due_at <= now
        )
        if excluded is not None:
            servers = chosen.join(Document, Document.id == Visit.document_id).join(
                Server, Server.id == Document.server_id
            )
            chosen = servers.where(~excluded)
        first = chosen.order_by(Visit.due_at, Visit.id).limit(MAX_RELEASED_VISITS)
        due = connection.execute(first.with_for_update(of=Visit, skip_locked=True)).all()
        if not due:
            return []
        documents = self._documents(connection, sorted({visit.document_id for visit in due}))
        released: dict[int, FrontierEntry] = {}
        done: list[tuple[int, datetime, int | None]] = []
        for visit in due:
            document = documents[visit.document_id]
            # A visit to a document that waits already is dropped: it would find nothing that the other does not.
            is_dropped = document.state in _PENDING_STATES or document.id in released
            done.append((visit.id, now, None if is_dropped else document.state))
            if not is_dropped:
                released[document.id] = _entry(document, self._rank(visit.due_at))
        execute_rows(connection, _RELEASE_VISITS, done, ("bigint", "timestamptz", "smallint"))
        rows = [(entry.id, entry.rank) for entry in released.values()]
        if rows:
            execute_rows(connection, _RELEASE_DOCUMENTS, rows, ("bigint", "integer"))
        return list(released.values())

    def unmade(self, connection: Connection, documents: Iterable[int]) -> dict[int, Row[Any]]:
        """Return the released, unmade visits of documents, with the documents' previous values."""
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

    def has_unreleased(self, connection: Connection) -> bool:
        """Whether unreleased visits remain."""
        unreleased = exists().where(Visit.item_id == self._item_id, Visit.released_at.is_(None))
        return bool(connection.execute(select(unreleased)).scalar_one())

    def progress(self, connection: Connection) -> VisitProgress:
        """Return the number of planned and made visits."""
        planned, made = connection.execute(
            select(func.count(), func.count(Visit.made_at)).where(Visit.item_id == self._item_id)
        ).one()
        return VisitProgress(planned, made, self.next_due(connection))

    def next_due(self, connection: Connection) -> datetime | None:
        """Return when the next unreleased visit is due."""
        unreleased = select(func.min(Visit.due_at)).where(Visit.item_id == self._item_id, Visit.released_at.is_(None))
        return connection.execute(unreleased).scalar_one()

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
            # Always in the same order, so that two collectors do not deadlock.
            .order_by(Document.id)
            .with_for_update(of=Document)
        )
        return {row.id: row for row in rows}

    def _rank(self, due: datetime) -> int:
        return max(int((due - self._since) / timedelta(seconds=1)), 0)


def reset_released_visits(connection: Connection, item_id: int) -> None:
    """Restore documents whose released visits were not made, and make these visits unreleased."""
    connection.execute(_RESTORE_DOCUMENTS, {"item": item_id})
    connection.execute(
        update(Visit).where(Visit.item_id == item_id, text(UNDER_WAY)).values(released_at=None, before=None)
    )


def _last_made() -> Any:
    """Select when a document was last found unchanged, if later than its own capture."""
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


@dataclass(slots=True)
class _Rows:
    """Updates to be written for a group of visits."""

    whole: list[DocumentOutcome] = field(default_factory=list)
    """Documents whose whole row is written."""
    kept: list[dict[str, Any]] = field(default_factory=list)
    """Documents that keep their earlier capture."""
    waiting: list[dict[str, Any]] = field(default_factory=list)
    """Documents to be tried again."""
    visits: list[dict[str, Any]] = field(default_factory=list)


class VisitSettlement:
    """Writes the results of an item's visits."""

    def __init__(self, visits: VisitTable) -> None:
        self._visits = visits
        self._next_release = self._next_count = 0.0
        self.progress = VisitProgress(0, 0, None)
        """Progress of the visits, for display."""
        self.only_future_visits = False
        """Whether only unreleased visits were left at the last check."""

    def release(self, connection: Connection, excluded: Callable[[], ColumnElement[bool]]) -> list[FrontierEntry]:
        """Release the visits that are due, at most every RELEASE_INTERVAL_SECONDS; return the documents."""
        now = monotonic()
        if now < self._next_release:
            return []
        self._next_release = now + RELEASE_INTERVAL_SECONDS
        released = self._visits.release(connection, excluded())
        if self._next_count <= now:
            self._next_count = now + COUNT_INTERVAL_SECONDS
            self.progress = self._visits.progress(connection)
        else:
            self.progress = self.progress._replace(next_due=self._visits.next_due(connection))
        return released

    def work_left(self, connection: Connection, documents_wait: bool) -> bool:
        """Whether a document waits or is being collected, or a visit is unreleased."""
        self.only_future_visits = not documents_wait
        return documents_wait or self._visits.has_unreleased(connection)

    def settle(self, connection: Connection, finished: Iterable[FinishedDocument]) -> list[DocumentOutcome]:
        """Write the results of visits; return the outcomes whose whole document row is to be written."""
        by_id = {one.outcome.id: one for one in finished}
        visits = self._visits.unmade(connection, by_id)
        rows = _Rows()
        for identity, one in by_id.items():
            visit, outcome = visits.get(identity), one.outcome
            if visit is None:
                rows.whole.append(outcome)
            elif outcome.state == DocumentState.WAITING:
                rows.waiting.append({"document": identity, "again": outcome.tries})
            else:
                changed = _has_changed(visit, outcome)
                if changed is False and outcome.state in REDIRECT_STATES:
                    changed = _has_new_target(connection, one)
                _sort_outcome(visit, outcome, changed, rows)
        _write(connection, rows)
        return rows.whole


def _sort_outcome(visit: Row[Any], outcome: DocumentOutcome, changed: bool | None, rows: _Rows) -> None:
    rows.visits.append(_visit_values(visit, outcome, changed))
    if outcome.state in UNINFORMATIVE_STATES:
        rows.kept.append(_kept_values(visit, outcome, Reason.of("earlier_capture_kept", reason=outcome.reason)))
    elif outcome.refers_to_id is not None and visit.warc is not None:
        # The document row refers to the record of this body in this item; the visit refers to the new revisit record.
        rows.kept.append(_kept_values(visit, outcome, outcome.reason))
    else:
        rows.whole.append(outcome)


def _kept_values(visit: Row[Any], outcome: DocumentOutcome, reason: Reason | None) -> dict[str, Any]:
    stored = {f"new_{name}": value for name, value in stored_reason(reason).items()}
    return {"document": visit.document_id, "back": visit.before, "again": outcome.tries, **stored}


def _visit_values(visit: Row[Any], outcome: DocumentOutcome, changed: bool | None) -> dict[str, Any]:
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
        **stored_reason(outcome.reason),
        "type": outcome.type,
        "digest": outcome.digest,
        "warc": outcome.warc,
        "warc_offset": outcome.warc_offset,
        "warc_length": outcome.warc_length,
        "refers_to_id": outcome.refers_to_id,
        "unmodified": outcome.unmodified,
    }


def _has_changed(visit: Row[Any], outcome: DocumentOutcome) -> bool | None:
    """Whether a document has changed; None if the server had an error."""
    if outcome.state in UNINFORMATIVE_STATES or outcome.state >= 500 or outcome.state in (408, 429):
        return None
    return bool((outcome.state, outcome.digest) != (visit.before, visit.digest))


def _has_new_target(connection: Connection, redirect: FinishedDocument) -> bool:
    """Whether a redirect has another target than before: it has no body to compare."""
    before = connection.execute(select(LinkRow.target).where(LinkRow.document_id == redirect.outcome.id))
    return {bytes(target) for (target,) in before} != set(redirect.links)


def _write(connection: Connection, rows: _Rows) -> None:
    document = update(Document).where(Document.id == bindparam("document"))
    if rows.waiting:
        connection.execute(document.values(state=DocumentState.WAITING, tries=bindparam("again")), rows.waiting)
    if rows.kept:
        kept: dict[str, Any] = {"state": bindparam("back"), "tries": bindparam("again")}
        for name in ("reason_code", "reason_parameters"):
            kept[name] = bindparam(f"new_{name}", type_=Document.__table__.columns[name].type)
        connection.execute(document.values(kept), rows.kept)
    if rows.visits:
        names = [name for name in rows.visits[0] if name != "visit"]
        found = {name: bindparam(f"new_{name}", type_=Visit.__table__.columns[name].type) for name in names}
        given = [{"visit": one["visit"], **{f"new_{name}": one[name] for name in names}} for one in rows.visits]
        connection.execute(update(Visit).where(Visit.id == bindparam("visit")).values(found), given)
