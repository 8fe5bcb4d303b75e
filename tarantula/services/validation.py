"""Accept and reject items, and list those that wait for a decision."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import select

from tarantula.archive.quality import validation
from tarantula.archive.quality.indicators import Indicators, fired_rules, load_indicators
from tarantula.archive.quality.validation import ItemDecision, ReviewEntry, decide_and_call_hooks, make_review_list
from tarantula.core.states import Validation
from tarantula.models import Item
from tarantula.publications.attention import FiredRule
from tarantula.services.context import ServiceContext
from tarantula.store.listings import attention_fields, find_item, is_complete, is_undecided

MAX_UNDECIDED = 200


class ItemAttention(BaseModel):
    """Everything that helps to decide about an item."""

    urn: str
    publication: str
    state: str
    validation: str
    complete: bool
    ended: bool
    """Whether a decision is possible."""
    later_damage: dict[str, Any] | None
    """Reason that damage was found after the item was accepted: `code` and `parameters`."""
    rules: list[FiredRule]
    """Rules that the item breaks, the most serious first."""
    indicators: Indicators
    looks: list[ReviewEntry]
    """Documents to review first."""
    egress: dict[str, Any] | None = None
    """Which addresses its collectors may connect to, a reason; ``None`` before its first collector."""


class UndecidedItem(NamedTuple):
    """An item that waits for a decision, or was damaged after it was accepted."""

    urn: str
    publication: str
    finished_at: datetime | None
    attention: list[str]
    """Why it needs attention: English sentences of `attention_reasons`."""
    attention_reasons: list[dict[str, Any]]


def item_attention(context: ServiceContext, urn: str, *, review: bool = True) -> ItemAttention:
    """Return the indicators, the fired rules and, with *review*, the review list; takes seconds on a large item."""
    with context.reading() as session:
        item = find_item(session, urn)
        indicators = load_indicators(session, item)
        fired = fired_rules(item, indicators)
        return ItemAttention(
            urn=urn,
            publication=item.publication.name,
            state=item.state,
            validation=item.validation,
            complete=is_complete(item, [rule.effect for rule in fired]),
            ended=item.state in validation.ENDED_STATES,
            later_damage=item.later_damage,
            rules=fired,
            indicators=indicators,
            looks=make_review_list(session, item, indicators) if review else [],
            egress=item.egress,
        )


def list_decisions(context: ServiceContext, urn: str) -> list[ItemDecision]:
    """Return the decisions about an item, oldest first."""
    with context.reading() as session:
        return validation.list_decisions(session, find_item(session, urn))


def validate(
    context: ServiceContext, urn: str, why: str = "", anyway: bool = False, by: str | None = None
) -> ItemDecision:
    """Accept an item; *anyway* accepts an incomplete one. *by* names who decided, if not the person who acts."""
    who = context.person.name if by is None else by
    changing = context.changing("item.validate", urn, by=who, why=why, anyway=anyway)
    return decide_and_call_hooks(context.installation, changing, urn, Validation.VALID, by=who, why=why, anyway=anyway)


def reject(context: ServiceContext, urn: str, why: str, by: str | None = None) -> ItemDecision:
    """Reject an item. *by* names who decided, if not the person who acts."""
    who = context.person.name if by is None else by
    changing = context.changing("item.reject", urn, by=who, why=why)
    return decide_and_call_hooks(context.installation, changing, urn, Validation.REJECTED, by=who, why=why)


def list_undecided(context: ServiceContext) -> list[UndecidedItem]:
    """Return the newest ended items without a decision, or damaged since; those that need attention first."""
    with context.reading() as session:
        query = (
            select(Item)
            .where(is_undecided(), Item.state.in_(validation.ENDED_STATES))
            .order_by(Item.planned_at.desc(), Item.id.desc())
            .limit(MAX_UNDECIDED)
        )
        rows = [
            UndecidedItem(item.urn, item.publication.name, item.finished_at, **attention_fields(item))
            for item in session.scalars(query)
        ]
    return sorted(rows, key=lambda row: not row.attention)
