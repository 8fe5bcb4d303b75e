"""Condition of an alert: a tree of pydantic models, stored as JSON. `condition_text` parses and formats it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tarantula.core.messages import Message

MAX_CONDITION_PARTS = 60
"""Maximum number of nodes in the tree."""
MAX_CONDITION_DEPTH = 20
"""Maximum nesting."""
MAX_CONDITION_CHARS = 2000
MAX_WINDOW_SECONDS = 36_500 * 86_400

FieldKey = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
LiteralText = Annotated[str, Field(min_length=1, max_length=MAX_CONDITION_CHARS)]
WindowSeconds = Annotated[int, Field(ge=1, le=MAX_WINDOW_SECONDS)]
ChangeAmount = Annotated[str, Field(max_length=100, pattern=r"^[^%]*$")]
ChangePercent = Annotated[str, Field(max_length=20, pattern=r"^([0-9]{1,9}(\.[0-9]{1,9})?)?$")]


class ComparisonSign(StrEnum):
    """Comparison of a value with a literal."""

    EQUAL = "="
    OTHER = "≠"
    LESS = "<"
    AT_MOST = "≤"
    MORE = ">"
    AT_LEAST = "≥"
    CONTAINS = "contains"
    LACKS = "does not contain"
    MATCHES = "matches"


class ChangeDirection(StrEnum):
    EITHER = "changed"
    UP = "rose"
    DOWN = "fell"


class RowScope(StrEnum):
    """Rows that a rule applies to."""

    EACH = "each"
    """Each row separately: the alert can fire for one row and again for another."""
    ANY = "any"
    """All rows together: true while the condition is true for at least one."""
    ONE = "one"
    """One named row."""


class ConditionPart(BaseModel):
    """Base of all conditions."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CompareCondition(ConditionPart):
    """Comparison of a field with a literal."""

    kind: Literal["compare"] = "compare"
    field: FieldKey
    sign: ComparisonSign
    value: LiteralText
    """As written: 30 °C."""


class ChangeCondition(ConditionPart):
    """Change of a value."""

    kind: Literal["changed"] = "changed"
    field: FieldKey
    way: ChangeDirection = ChangeDirection.EITHER
    amount: ChangeAmount = ""
    """Minimum change, as written; empty for any change."""
    percent: ChangePercent = ""
    """Minimum change in percent of the earlier value; empty for any change."""
    within: WindowSeconds | None = None
    """Compare with the value this many seconds ago; with the previous value if ``None``."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.amount and self.percent:
            raise ValueError(Message("A change is by an amount or by a percentage, not by both."))
        return self


class RecordCondition(ConditionPart):
    """Value higher or lower than all earlier ones."""

    kind: Literal["record"] = "record"
    field: FieldKey
    high: bool
    within: WindowSeconds | None = None
    """Length of the window in seconds; all values if ``None``."""


class SilenceCondition(ConditionPart):
    """No events for a time."""

    kind: Literal["silent"] = "silent"
    field: FieldKey | None = None
    """Field without events; any field of the source or row if ``None``."""
    seconds: WindowSeconds


class NotCondition(ConditionPart):
    kind: Literal["not"] = "not"
    of: AlertCondition


class AllCondition(ConditionPart):
    kind: Literal["all"] = "all"
    of: Annotated[tuple[AlertCondition, ...], Field(min_length=2, max_length=MAX_CONDITION_PARTS)]


class AnyCondition(ConditionPart):
    kind: Literal["either"] = "either"
    of: Annotated[tuple[AlertCondition, ...], Field(min_length=2, max_length=MAX_CONDITION_PARTS)]


AlertCondition = Annotated[
    CompareCondition
    | ChangeCondition
    | RecordCondition
    | SilenceCondition
    | NotCondition
    | AllCondition
    | AnyCondition,
    Field(discriminator="kind"),
]
LeafCondition = CompareCondition | ChangeCondition | RecordCondition | SilenceCondition


class AlertRule(ConditionPart):
    """Condition of an alert, with the rows that it applies to."""

    rows: RowScope = RowScope.EACH
    row: Annotated[str, Field(max_length=300)] = ""
    """Row name, for `RowScope.ONE`."""
    when: AlertCondition

    @model_validator(mode="after")
    def _is_of_some_size(self) -> Self:
        left: list[tuple[AlertCondition, int]] = [(self.when, 1)]
        for count, (part, depth) in enumerate(left, 1):
            if count > MAX_CONDITION_PARTS or depth > MAX_CONDITION_DEPTH:
                raise ValueError(
                    Message(
                        "A condition has at most {limit} parts, nested at most {max_condition_depth} deep.",
                        limit=MAX_CONDITION_PARTS,
                        max_condition_depth=MAX_CONDITION_DEPTH,
                    )
                )
            within = (
                (part.of,)
                if isinstance(part, NotCondition)
                else part.of
                if isinstance(part, AllCondition | AnyCondition)
                else ()
            )
            left += [(one, depth + 1) for one in within]
        return self


for _model in (NotCondition, AllCondition, AnyCondition, AlertRule):
    _model.model_rebuild()


def leaf_conditions(condition: AlertCondition) -> Iterator[LeafCondition]:
    """Yield the leaf conditions in order."""
    if isinstance(condition, NotCondition):
        yield from leaf_conditions(condition.of)
    elif isinstance(condition, AllCondition | AnyCondition):
        for part in condition.of:
            yield from leaf_conditions(part)
    else:
        yield condition


def condition_fields(condition: AlertCondition) -> list[str]:
    """Return the distinct fields that a condition uses."""
    return list(dict.fromkeys(leaf.field for leaf in leaf_conditions(condition) if leaf.field is not None))


def is_momentary(condition: AlertCondition) -> bool:
    """Whether a part is true only at the moment of an event: a change from the previous value, or a record."""
    return any(
        isinstance(leaf, RecordCondition) or (isinstance(leaf, ChangeCondition) and leaf.within is None)
        for leaf in leaf_conditions(condition)
    )
