"""What the pages of an item are made of, and what of it is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import CTE, ColumnElement, Select, and_, case, func, or_, select
from sqlalchemy.orm import Session

from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.store.listings import IS_COLLECTED, IS_REDIRECT
from tarantula.tables.publications import Document, Item, LinkRow

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
