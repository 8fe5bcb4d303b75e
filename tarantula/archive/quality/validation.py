"""What librarians decide about items: valid or rejected, by whom, when and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState, Validation
from tarantula.models import Decision, Item
from tarantula.publications.attention import RuleEffect, fired_effects, is_complete
from tarantula.publications.fields import check_text
from tarantula.store.listings import find_item

MAX_BY_LENGTH = 100
"""Letters of a name."""
MAX_WHY_LENGTH = 10_000

ENDED_STATES = frozenset({ItemState.ARCHIVED, ItemState.INTERRUPTED})
"""The states of items that can be decided about."""


class ItemDecision(NamedTuple):
    """A decision about an item, as hooks are told of it."""

    urn: str
    publication: str
    validation: str
    by: str
    at: datetime
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return {**self._asdict(), "at": self.at.isoformat()}


def decide_item(
    session: Session, urn: str, validation: Validation, *, by: str, why: str = "", anyway: bool = False
) -> ItemDecision:
    """Store a decision about an item, or say why it cannot be taken; *anyway* accepts one that is not complete."""
    by, why = _text(by, "The name", MAX_BY_LENGTH), _text(why, "The reason", MAX_WHY_LENGTH)
    if not by:
        raise TarantulaError("A decision needs the name of whoever takes it. Say it with --by.")
    session.execute(select(Item.id).where(Item.urn == urn).with_for_update())
    item = find_item(session, urn)
    if item.state not in ENDED_STATES:
        raise ConflictError(f"Item {urn} is {item.state}: there is nothing to decide before it has ended.")
    if item.indicators is None:
        store_indicators(session, item)
    _check_reason(session, item, validation, why)
    if validation == Validation.VALID and not anyway:
        _check_complete(item)
    decision = Decision(item_id=item.id, validation=validation, by=by, at=datetime.now(UTC), why=why)
    session.add(decision)
    item.validation = validation
    session.flush()
    return _decided(item, decision)


def list_decisions(session: Session, item: Item) -> list[ItemDecision]:
    """Return what was decided about an item, oldest first."""
    rows = session.scalars(select(Decision).where(Decision.item_id == item.id).order_by(Decision.id))
    return [_decided(item, row) for row in rows]


def _check_reason(session: Session, item: Item, validation: Validation, why: str) -> None:
    if why:
        return
    if validation == Validation.REJECTED:
        raise TarantulaError("A rejection needs a reason. Say it with --why.")
    if item.validation == Validation.REJECTED:
        last = list_decisions(session, item)[-1]
        raise ConflictError(
            f"Item {item.urn} was rejected by {last.by} ({last.why}). Say with --why what makes it valid now."
        )


def _check_complete(item: Item) -> None:
    if is_complete(item.state, fired_effects(item)):
        return
    reason = item.reason or "Its collector exited."
    broken = [f"It is interrupted: {reason}"] if item.state == ItemState.INTERRUPTED else []
    broken += [fired["reason"] for fired in item.attention or () if fired["effect"] == RuleEffect.INCOMPLETE]
    raise ConflictError(
        f"Item {item.urn} is not complete. {' '.join(broken)} Reject it, or accept it as it is with --anyway."
    )


def _text(text: str, what: str, longest: int) -> str:
    try:
        text = check_text(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if len(text) > longest:
        raise TarantulaError(f"{what} has {len(text):,} letters, and {longest:,} is the limit.")
    if "\0" in text:
        raise TarantulaError(f"{what} holds a zero byte, which is no text.")
    return text


def _decided(item: Item, decision: Decision) -> ItemDecision:
    return ItemDecision(item.urn, item.publication.name, decision.validation, decision.by, decision.at, decision.why)
