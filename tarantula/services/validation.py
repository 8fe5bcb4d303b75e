"""Accepting and rejecting items."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy import select

from tarantula.archive.quality import validation
from tarantula.archive.quality.decision_hooks import decide_and_call_hooks
from tarantula.archive.quality.indicators import Indicators, fired_rules, load_indicators
from tarantula.archive.quality.review_list import ReviewEntry, make_review_list
from tarantula.archive.quality.validation import ItemDecision
from tarantula.core.states import Validation
from tarantula.models import Item
from tarantula.publications.attention import FiredRule, attention_reasons, is_complete
from tarantula.services.context import ServiceContext
from tarantula.store.listings import find_item

MAX_UNDECIDED = 200
"""Undecided items that are listed, the newest."""


class ItemAttention(BaseModel):
    """What helps to decide about an item."""

    urn: str
    publication: str
    state: str
    validation: str
    complete: bool
    ended: bool
    """Whether it can be decided about."""
    rules: list[FiredRule]
    """Those that it breaks, the grave ones first."""
    indicators: Indicators
    looks: list[ReviewEntry]
    """What needs a look first."""


def item_attention(context: ServiceContext, urn: str) -> ItemAttention:
    """Return what helps to decide about an item; on a large one it takes seconds."""
    with context.reading() as session:
        item = find_item(session, urn)
        indicators = load_indicators(session, item)
        fired = fired_rules(item, indicators)
        return ItemAttention(
            urn=urn,
            publication=item.publication.name,
            state=item.state,
            validation=item.validation,
            complete=is_complete(item.state, [one.effect for one in fired]),
            ended=item.state in validation.ENDED_STATES,
            rules=fired,
            indicators=indicators,
            looks=make_review_list(session, item, indicators),
        )


def list_decisions(context: ServiceContext, urn: str) -> list[ItemDecision]:
    """Return what was decided about an item, oldest first."""
    with context.reading() as session:
        return validation.list_decisions(session, find_item(session, urn))


def validate(context: ServiceContext, urn: str, why: str = "", anyway: bool = False) -> ItemDecision:
    """Accept an item; *anyway* accepts one that is not complete."""
    changing = context.changing("item.validate", urn, why=why, anyway=anyway)
    return decide_and_call_hooks(
        context.installation, changing, urn, Validation.VALID, by=context.person.name, why=why, anyway=anyway
    )


def reject(context: ServiceContext, urn: str, why: str) -> ItemDecision:
    """Refuse an item."""
    changing = context.changing("item.reject", urn, why=why)
    return decide_and_call_hooks(
        context.installation, changing, urn, Validation.REJECTED, by=context.person.name, why=why
    )


class UndecidedItem(NamedTuple):
    """An item that somebody should decide about."""

    urn: str
    publication: str
    finished_at: datetime | None
    attention: list[str]
    """Why somebody should look."""


def list_undecided(context: ServiceContext) -> list[UndecidedItem]:
    """Return the items that have ended and nobody decided about, those that ask for attention first."""
    with context.reading() as session:
        chosen = (
            select(Item)
            .where(Item.validation == Validation.PENDING, Item.state.in_(validation.ENDED_STATES))
            .order_by(Item.planned_at.desc(), Item.id.desc())
            .limit(MAX_UNDECIDED)
        )
        rows = [
            UndecidedItem(item.urn, item.publication.name, item.finished_at, attention_reasons(item))
            for item in session.scalars(chosen)
        ]
    return sorted(rows, key=lambda row: not row.attention)
