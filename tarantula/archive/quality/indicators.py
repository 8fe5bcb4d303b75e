"""Quality indicators of an item, computed when it ends: errors, missing requisites, change against earlier items."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import CTE, ColumnElement, Select, and_, case, func, or_, select
from sqlalchemy.orm import Session

from tarantula.archive.quality.baseline import (
    BaseDocument,
    BaselineComparison,
    base_document,
    compare_with_baseline,
    percent,
    previous_items,
)
from tarantula.archive.quality.report import StateCount, state_counts
from tarantula.core.states import COLLECTED_STATES, DocumentState, Validation
from tarantula.links.link import LinkKind
from tarantula.models import Decision, Document, Item, LinkRow
from tarantula.publications.attention import FiredRule, evaluate_rules
from tarantula.publications.config import PublicationConfig
from tarantula.store.listings import IS_COLLECTED, IS_REDIRECT

MAX_EXAMPLES = 20
"""How many missing documents are named."""

FAILURE_STATES = (
    DocumentState.INVALID_RESPONSE,
    DocumentState.NO_CODE,
    DocumentState.TIMEOUT,
    DocumentState.SYSTEM_ERROR,
)
"""The states of what was asked for in vain, beside HTTP's own."""

IS_FAILURE = or_(Document.state >= 400, Document.state.in_(FAILURE_STATES))
IS_UNFINISHED = Document.state.in_((DocumentState.WAITING, DocumentState.COLLECTING))


@dataclass(frozen=True, slots=True)
class MissingRequisite:
    """A document that pages need and that could not be had."""

    url: str
    state: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Requisites:
    """What collected pages and stylesheets need: images, styles, scripts, frames, fonts."""

    wanted: int
    collected: int
    refused: int
    """Left out by a rule of the publication or of the server."""
    missing: int
    """Wanted, and not had."""
    examples: list[MissingRequisite] = field(default_factory=list)


def count_requisites(session: Session, item: Item) -> Requisites:
    """Count what pages need, each once, whatever they are redirected to."""
    needed = _needed(item.id)
    is_missing = or_(IS_FAILURE, IS_UNFINISHED)
    total, collected, missing = session.execute(
        _found(needed, item.id).with_only_columns(
            func.count(), func.count(case((IS_COLLECTED, 1))), func.count(case((is_missing, 1)))
        )
    ).one()
    rows = (
        session.execute(
            _found(needed, item.id, is_missing)
            .with_only_columns(Document.url, Document.state, Document.reason)
            .order_by(Document.id)
            .limit(MAX_EXAMPLES)
        )
        if missing
        else ()
    )
    return Requisites(total, collected, total - collected - missing, missing, [MissingRequisite(*row) for row in rows])


def _needed(item_id: int) -> CTE:
    """Return the keys of what pages need, and of what those are redirected to."""
    of_pages = (
        select(LinkRow.target.label("key"))
        .join(Document, Document.id == LinkRow.document_id)
        .where(Document.item_id == item_id, IS_COLLECTED, LinkRow.kind.in_((LinkKind.REQUISITE, LinkKind.IN_STYLE)))
    )
    needed = of_pages.cte("needed", recursive=True)
    onward = (
        select(LinkRow.target)
        .join(Document, Document.id == LinkRow.document_id)
        .join(needed, Document.key == needed.c.key)
        .where(Document.item_id == item_id, IS_REDIRECT, LinkRow.kind == LinkKind.REDIRECT)
    )
    return needed.union(onward)


def _found(needed: CTE, item_id: int, *conditions: ColumnElement[bool]) -> Select[int]:
    """Join the keys with their rows; one without a row was refused, and a redirect is not the thing itself."""
    return (
        select(Document.id)
        .select_from(needed)
        .outerjoin(Document, and_(Document.item_id == item_id, Document.key == needed.c.key))
        .where(or_(Document.id.is_(None), ~IS_REDIRECT), *conditions)
    )


PROGRAM_NAME = "tarantula"
"""Who decides when no person does."""


@dataclass(frozen=True, slots=True)
class Indicators:
    """An item in figures, beside those of the items before it."""

    documents: int
    """Every URL of it, in any state."""
    collected: int
    bytes: int
    """Of collected documents."""
    asked: int
    """Documents that were asked for, with or without an answer."""
    errors: int
    """Of these, the ones that could not be had: 400 and over, broken answers, timeouts, system errors."""
    waiting: int
    states: list[StateCount]
    requisites: Requisites
    base: BaseDocument
    before: BaselineComparison | None
    """None for the first item of a publication."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return asdict(self)

    def values(self) -> dict[str, float | None]:
        """Return what rules look at."""
        before = self.before
        known = {
            "errors": percent(self.errors, self.asked),
            "waiting": percent(self.waiting, self.documents),
            "collected": float(self.collected),
            "documents": before.documents_change if before else None,
            "bytes": before.bytes_change if before else None,
            "missing-requisites": percent(self.requisites.missing, self.requisites.wanted),
            "vanished-servers": before.servers.percent if before else None,
            "vanished-types": before.types.percent if before else None,
            "base-missing": float(self.base.missing),
            "base-changed": None if self.base.changed is None else float(self.base.changed),
        }
        return known | {str(row.state): percent(row.documents, self.documents) for row in self.states}


_STORED = TypeAdapter(Indicators)


def compute_indicators(session: Session, item: Item) -> Indicators:
    """Count an item, in a few passes over its rows."""
    tally = _tally(session, item.id)
    states = Counter[int]()
    for row in tally:
        states[row.state] += row.documents
    collected = [row for row in tally if row.state in COLLECTED_STATES]
    number, size = sum(row.documents for row in collected), sum(row.bytes for row in collected)
    earlier = previous_items(session, item)
    kinds = {(row.server_id, row.type) for row in collected}
    return Indicators(
        documents=states.total(),
        collected=number,
        bytes=size,
        asked=sum(documents for state, documents in states.items() if state > 0 or state in FAILURE_STATES),
        errors=sum(documents for state, documents in states.items() if state >= 400 or state in FAILURE_STATES),
        waiting=states[DocumentState.WAITING],
        states=state_counts(states),
        requisites=count_requisites(session, item),
        base=base_document(session, item, earlier[0] if earlier else None),
        before=compare_with_baseline(session, earlier, number, size, kinds) if earlier else None,
    )


def store_indicators(session: Session, item: Item, indicators: Indicators | None = None) -> list[FiredRule]:
    """Store the indicators of an item that ended, and return the rules that it breaks.

    On a large item they are better computed in a session that only reads, and handed over.
    """
    indicators = indicators or compute_indicators(session, item)
    stored = indicators.as_dict()
    _reopen(session, item, stored)
    fired = fired_rules(item, indicators)
    item.indicators = stored
    item.attention = [asdict(one) for one in fired]
    session.flush()
    return fired


def load_indicators(session: Session, item: Item) -> Indicators:
    """Return the indicators that were stored, or those of this moment."""
    return compute_indicators(session, item) if item.indicators is None else _STORED.validate_python(item.indicators)


def fired_rules(item: Item, indicators: Indicators) -> list[FiredRule]:
    """Return the rules of its publication that an item breaks, the grave ones first."""
    config = PublicationConfig.model_validate(item.configuration)
    return evaluate_rules(indicators.values(), config.attention, config.incomplete)


class _Tally(NamedTuple):
    """Documents that are alike in all that is counted."""

    state: int
    server_id: int
    type: str | None
    documents: int
    bytes: int


def _tally(session: Session, item_id: int) -> list[_Tally]:
    rows = session.execute(
        select(Document.state, Document.server_id, Document.type, func.count(), func.sum(Document.size))
        .where(Document.item_id == item_id)
        .group_by(Document.state, Document.server_id, Document.type)
    )
    return [_Tally(state, server, mime, number, int(size or 0)) for state, server, mime, number, size in rows]


def _reopen(session: Session, item: Item, indicators: dict[str, Any]) -> None:
    """Take back what was decided about an item that is another one now: it was collected further."""
    if item.validation == Validation.PENDING or item.indicators is None:
        return
    if item.indicators["states"] != indicators["states"] or item.indicators["bytes"] != indicators["bytes"]:
        item.validation = Validation.PENDING
        why = "It was collected further after the decision."
        now = datetime.now(UTC)
        session.add(Decision(item_id=item.id, validation=Validation.PENDING, by=PROGRAM_NAME, at=now, why=why))
