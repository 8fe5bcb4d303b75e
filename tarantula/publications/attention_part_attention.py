"""Which items somebody should look at, and which are complete."""

from __future__ import annotations

from collections.abc import Iterable

from tarantula.core.states import ItemState, Validation
from tarantula.publications.attention import RuleEffect
from tarantula.tables.publications import Item


def attention_reasons(item: Item) -> list[str]:
    """Return why somebody should look at an item, one sentence a rule; nothing once somebody has decided."""
    if item.validation != Validation.PENDING:
        return []
    return [fired["reason"] for fired in item.attention or ()]


def is_complete(state: str, effects: Iterable[str]) -> bool:
    """Whether an item of that state is called complete: archived, and no rule that fired stands against it."""
    return state == ItemState.ARCHIVED and RuleEffect.INCOMPLETE not in effects


def fired_effects(item: Item) -> list[str]:
    """Return the effects of the rules that an item broke when it ended."""
    return [fired["effect"] for fired in item.attention or ()]
