"""Condition of an alert: a tree of pydantic models, stored as JSON. `condition_text` parses and formats it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_CONDITION_PARTS = 60
"""Parts of one condition, of whatever kind."""
MAX_CONDITION_DEPTH = 20
"""Parts within one another."""
MAX_CONDITION_CHARS = 2000
"""Letters of one condition."""
MAX_WINDOW_SECONDS = 36_500 * 86_400

FieldKey = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
LiteralText = Annotated[str, Field(min_length=1, max_length=MAX_CONDITION_CHARS)]
WindowSeconds = Annotated[int, Field(ge=1, le=MAX_WINDOW_SECONDS)]
ChangeAmount = Annotated[str, Field(max_length=100, pattern=r"^[^%]*$")]
ChangePercent = Annotated[str, Field(max_length=20, pattern=r"^([0-9]{1,9}(\.[0-9]{1,9})?)?$")]


class ComparisonSign(StrEnum):
    """How a value is held against another."""

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
    """In which direction a value went."""

    EITHER = "changed"
    UP = "rose"
    DOWN = "fell"


class RowScope(StrEnum):
    """Of which rows a condition speaks."""

    EACH = "each"
    """Of each on its own: it fires for one row, and again for another."""
    ANY = "any"
    """Of all together: it is true as long as it is true of one of them."""
    ONE = "one"
    """Of one that is named."""


class ConditionPart(BaseModel):
    """What all parts of a condition have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CompareCondition(ConditionPart):
    """A value, held against one that somebody wrote."""

    kind: Literal["compare"] = "compare"
    field: FieldKey
    sign: ComparisonSign
    value: LiteralText
    """As it was written: 30 °C."""


class ChangeCondition(ConditionPart):
    """A value that is not what it was."""

    kind: Literal["changed"] = "changed"
    field: FieldKey
    way: ChangeDirection = ChangeDirection.EITHER
    amount: ChangeAmount = ""
    """By how much at least, as it was written; nothing for any change."""
    percent: ChangePercent = ""
    """The same, of what it was, in percent."""
    within: WindowSeconds | None = None
    """Against the value so many seconds ago; against the one before unless told."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.amount and self.percent:
            raise ValueError("A change is by an amount or by a percentage, not by both.")
        return self


class RecordCondition(ConditionPart):
    """A value as there was none before."""

    kind: Literal["record"] = "record"
    field: FieldKey
    high: bool
    within: WindowSeconds | None = None
    """In the last so many seconds; ever unless told."""


class SilenceCondition(ConditionPart):
    """Nothing happened for a time."""

    kind: Literal["silent"] = "silent"
    field: FieldKey | None = None
    """Of which nothing was heard; of the whole source, or row, unless told."""
    seconds: WindowSeconds


class NotCondition(ConditionPart):
    """The contrary."""

    kind: Literal["not"] = "not"
    of: AlertCondition


class AllCondition(ConditionPart):
    """All of several."""

    kind: Literal["all"] = "all"
    of: Annotated[tuple[AlertCondition, ...], Field(min_length=2, max_length=MAX_CONDITION_PARTS)]


class AnyCondition(ConditionPart):
    """One of several, or more."""

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
    """A condition, and the rows of which it speaks."""

    rows: RowScope = RowScope.EACH
    row: Annotated[str, Field(max_length=300)] = ""
    """Its name, where it is one."""
    when: AlertCondition

    @model_validator(mode="after")
    def _is_of_some_size(self) -> Self:
        left: list[tuple[AlertCondition, int]] = [(self.when, 1)]
        for count, (part, depth) in enumerate(left, 1):
            if count > MAX_CONDITION_PARTS or depth > MAX_CONDITION_DEPTH:
                raise ValueError(
                    f"A condition has at most {MAX_CONDITION_PARTS} parts, "
                    f"and {MAX_CONDITION_DEPTH} within one another."
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
    """Yield the parts that look at values, in their order."""
    if isinstance(condition, NotCondition):
        yield from leaf_conditions(condition.of)
    elif isinstance(condition, AllCondition | AnyCondition):
        for part in condition.of:
            yield from leaf_conditions(part)
    else:
        yield condition


def condition_fields(condition: AlertCondition) -> list[str]:
    """Return the fields that a condition looks at, each once."""
    return list(dict.fromkeys(leaf.field for leaf in leaf_conditions(condition) if leaf.field is not None))


def is_momentary(condition: AlertCondition) -> bool:
    """Whether some of it is true only at the moment at which a value comes: a change, a record."""
    return any(
        isinstance(leaf, RecordCondition) or (isinstance(leaf, ChangeCondition) and leaf.within is None)
        for leaf in leaf_conditions(condition)
    )
