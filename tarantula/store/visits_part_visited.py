"""What a visit found: whether the document changed, and what its row then says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import expm1
from time import monotonic
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, select, update

from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.items import FrontierEntry
from tarantula.store.commit_group_part_group import FinishedDocument
from tarantula.store.documents import DocumentOutcome
from tarantula.store.visits import VisitProgress, VisitTable
from tarantula.tables.publications import Document, LinkRow, Visit

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
