"""Decisions about items: valid or rejected, by whom, when and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import Message, join_messages
from tarantula.core.states import ItemState, Validation
from tarantula.models import Decision, Item
from tarantula.publications.attention import RuleEffect
from tarantula.publications.fields import check_text
from tarantula.store.listings import find_item, fired_effects, fired_reasons, is_complete

MAX_BY_LENGTH = 100
MAX_WHY_LENGTH = 10_000

ENDED_STATES = frozenset({ItemState.ARCHIVED, ItemState.INTERRUPTED})
"""States of items that can be decided about."""


class ItemDecision(NamedTuple):
    """A decision about an item, as passed to hooks."""

    urn: str
    publication: str
    validation: str
    by: str
    at: datetime
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Return the decision for JSON; the keys are a stable interface."""
        return {**self._asdict(), "at": self.at.isoformat()}


def decide_item(
    session: Session, urn: str, validation: Validation, *, by: str, why: str = "", anyway: bool = False
) -> ItemDecision:
    """Store a decision about an item; raise an error if it is not allowed. *anyway* accepts an incomplete item."""
    by, why = _text(by, "The name", MAX_BY_LENGTH), _text(why, "The reason", MAX_WHY_LENGTH)
    if not by:
        raise TarantulaError("A decision needs the name of the person who makes it. Say it with --by.")
    session.execute(select(Item.id).where(Item.urn == urn).with_for_update())
    item = find_item(session, urn)
    if item.state not in ENDED_STATES:
        raise ConflictError(
            "Item {urn} is {state}: it can be validated or rejected only after it has ended.",
            urn=urn,
            state=Message(item.state),
        )
    if item.indicators is None:
        store_indicators(session, item)
    _check_reason(session, item, validation, why)
    if validation == Validation.VALID and not anyway:
        _check_complete(item)
    decision = Decision(item_id=item.id, validation=validation, by=by, at=datetime.now(UTC), why=why)
    session.add(decision)
    item.validation, item.later_damage = validation, None
    session.flush()
    return _as_decision(item, decision)


def list_decisions(session: Session, item: Item) -> list[ItemDecision]:
    """Return the decisions about an item, oldest first."""
    rows = session.scalars(select(Decision).where(Decision.item_id == item.id).order_by(Decision.id))
    return [_as_decision(item, row) for row in rows]


def _check_reason(session: Session, item: Item, validation: Validation, why: str) -> None:
    if why:
        return
    if validation == Validation.REJECTED:
        raise TarantulaError("A rejection needs a reason. Say it with --why.")
    if item.validation == Validation.REJECTED:
        last = list_decisions(session, item)[-1]
        raise ConflictError(
            "Item {urn} was rejected by {by} ({why}). Say with --why what makes it valid now.",
            urn=item.urn,
            by=last.by,
            why=last.why,
        )


def _check_complete(item: Item) -> None:
    if is_complete(item, fired_effects(item)):
        return
    reason = item.reason or Message("Its collector exited.")
    reasons = [Message("It is interrupted: {reason}", reason=reason)] if item.state == ItemState.INTERRUPTED else []
    if item.verified_at is None:
        reasons.append(Message("Its files have not been read back: run `tarantula verify {urn}`.", urn=item.urn))
    reasons += [reason.sentence() for reason in fired_reasons(item, {RuleEffect.INCOMPLETE})]
    raise ConflictError(
        "Item {urn} is not complete. {reasons} Reject it, or accept it as it is with --anyway.",
        urn=item.urn,
        reasons=join_messages(reasons, " "),
    )


def _text(text: str, what: str, limit: int) -> str:
    try:
        text = check_text(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if len(text) > limit:
        raise TarantulaError(
            "{what} has {length:,} letters, and {limit:,} is the limit.", what=what, length=len(text), limit=limit
        )
    if "\0" in text:
        raise TarantulaError("{what} holds a zero byte, which is no text.", what=what)
    return text


def _as_decision(item: Item, decision: Decision) -> ItemDecision:
    return ItemDecision(item.urn, item.publication.name, decision.validation, decision.by, decision.at, decision.why)
