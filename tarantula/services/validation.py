"""Accepting and rejecting items."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy import select

from tarantula.archive.quality import validation
from tarantula.archive.quality.decision_hooks import decide_and_tell
from tarantula.archive.quality.indicators import Indicators, fired_rules, indicators_of
from tarantula.archive.quality.review_list import Look, looks
from tarantula.archive.quality.validation import Decided
from tarantula.core.states import Validation
from tarantula.publications.attention import Fired
from tarantula.publications.attention_part_attention import attention_of, is_complete
from tarantula.services.context import Desk
from tarantula.store.listings import find_item
from tarantula.tables.publications import Item

MOST = 200
"""Undecided items that are listed, the newest."""


class Attention(BaseModel):
    """What helps to decide about an item."""

    urn: str
    publication: str
    state: str
    validation: str
    complete: bool
    ended: bool
    """Whether it can be decided about."""
    rules: list[Fired]
    """Those that it breaks, the grave ones first."""
    indicators: Indicators
    looks: list[Look]
    """What needs a look first."""


def attention(desk: Desk, urn: str) -> Attention:
    """Return what helps to decide about an item; on a large one it takes seconds."""
    with desk.reading() as session:
        item = find_item(session, urn)
        indicators = indicators_of(session, item)
        fired = fired_rules(item, indicators)
        return Attention(
            urn=urn,
            publication=item.publication.name,
            state=item.state,
            validation=item.validation,
            complete=is_complete(item.state, [one.effect for one in fired]),
            ended=item.state in validation.ENDED,
            rules=fired,
            indicators=indicators,
            looks=looks(session, item, indicators),
        )


def decisions(desk: Desk, urn: str) -> list[Decided]:
    """Return what was decided about an item, oldest first."""
    with desk.reading() as session:
        return validation.decisions(session, find_item(session, urn))


def validate(desk: Desk, urn: str, why: str = "", anyway: bool = False) -> Decided:
    """Accept an item; *anyway* accepts one that is not complete."""
    changing = desk.changing("item.validate", urn, why=why, anyway=anyway)
    return decide_and_tell(
        desk.installation, changing, urn, Validation.VALID, by=desk.person.name, why=why, anyway=anyway
    )


def reject(desk: Desk, urn: str, why: str) -> Decided:
    """Refuse an item."""
    changing = desk.changing("item.reject", urn, why=why)
    return decide_and_tell(desk.installation, changing, urn, Validation.REJECTED, by=desk.person.name, why=why)


class Undecided(NamedTuple):
    """An item that somebody should decide about."""

    urn: str
    publication: str
    finished_at: datetime | None
    attention: list[str]
    """Why somebody should look."""


def undecided(desk: Desk) -> list[Undecided]:
    """Return the items that have ended and nobody decided about, those that ask for attention first."""
    with desk.reading() as session:
        chosen = (
            select(Item)
            .where(Item.validation == Validation.PENDING, Item.state.in_(validation.ENDED))
            .order_by(Item.planned_at.desc(), Item.id.desc())
            .limit(MOST)
        )
        rows = [
            Undecided(item.urn, item.publication.name, item.finished_at, attention_of(item))
            for item in session.scalars(chosen)
        ]
    return sorted(rows, key=lambda row: not row.attention)
