"""What a condition is made of: a tree, kept as JSON. People write it as a sentence (`reading`, `writing`)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_PARTS = 60
"""Parts of one condition, of whatever kind."""
DEEPEST = 20
"""Parts within one another."""
LONGEST = 2000
"""Letters of one condition."""
CENTURY = 36_500 * 86_400

Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Seconds = Annotated[int, Field(ge=1, le=CENTURY)]
Amount = Annotated[str, Field(max_length=100, pattern=r"^[^%]*$")]
Percent = Annotated[str, Field(max_length=20, pattern=r"^([0-9]{1,9}(\.[0-9]{1,9})?)?$")]


class Sign(StrEnum):
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


class Way(StrEnum):
    """In which direction a value went."""

    EITHER = "changed"
    UP = "rose"
    DOWN = "fell"


class Rows(StrEnum):
    """Of which rows a condition speaks."""

    EACH = "each"
    """Of each on its own: it fires for one row, and again for another."""
    ANY = "any"
    """Of all together: it is true as long as it is true of one of them."""
    ONE = "one"
    """Of one that is named."""


class Part(BaseModel):
    """What all parts of a condition have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Compare(Part):
    """A value, held against one that somebody wrote."""

    kind: Literal["compare"] = "compare"
    field: Key
    sign: Sign
    value: Text
    """As it was written: 30 °C."""


class Changed(Part):
    """A value that is not what it was."""

    kind: Literal["changed"] = "changed"
    field: Key
    way: Way = Way.EITHER
    amount: Amount = ""
    """By how much at least, as it was written; nothing for any change."""
    percent: Percent = ""
    """The same, of what it was, in percent."""
    within: Seconds | None = None
    """Against the value so many seconds ago; against the one before unless told."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.amount and self.percent:
            raise ValueError("A change is by an amount or by a percentage, not by both.")
        return self


class Record(Part):
    """A value as there was none before."""

    kind: Literal["record"] = "record"
    field: Key
    high: bool
    within: Seconds | None = None
    """In the last so many seconds; ever unless told."""


class Silent(Part):
    """Nothing happened for a time."""

    kind: Literal["silent"] = "silent"
    field: Key | None = None
    """Of which nothing was heard; of the whole source, or row, unless told."""
    seconds: Seconds


class Not(Part):
    """The contrary."""

    kind: Literal["not"] = "not"
    of: Condition


class All(Part):
    """All of several."""

    kind: Literal["all"] = "all"
    of: Annotated[tuple[Condition, ...], Field(min_length=2, max_length=MOST_PARTS)]


class Either(Part):
    """One of several, or more."""

    kind: Literal["either"] = "either"
    of: Annotated[tuple[Condition, ...], Field(min_length=2, max_length=MOST_PARTS)]


Condition = Annotated[Compare | Changed | Record | Silent | Not | All | Either, Field(discriminator="kind")]
Leaf = Compare | Changed | Record | Silent


class Rule(Part):
    """A condition, and the rows of which it speaks."""

    rows: Rows = Rows.EACH
    row: Annotated[str, Field(max_length=300)] = ""
    """Its name, where it is one."""
    when: Condition

    @model_validator(mode="after")
    def _is_of_some_size(self) -> Self:
        left: list[tuple[Condition, int]] = [(self.when, 1)]
        for count, (part, depth) in enumerate(left, 1):
            if count > MOST_PARTS or depth > DEEPEST:
                raise ValueError(f"A condition has at most {MOST_PARTS} parts, and {DEEPEST} within one another.")
            within = (part.of,) if isinstance(part, Not) else part.of if isinstance(part, All | Either) else ()
            left += [(one, depth + 1) for one in within]
        return self


for _model in (Not, All, Either, Rule):
    _model.model_rebuild()


def leaves(condition: Condition) -> Iterator[Leaf]:
    """Yield the parts that look at values, in their order."""
    if isinstance(condition, Not):
        yield from leaves(condition.of)
    elif isinstance(condition, All | Either):
        for part in condition.of:
            yield from leaves(part)
    else:
        yield condition


def fields(condition: Condition) -> list[str]:
    """Return the fields that a condition looks at, each once."""
    return list(dict.fromkeys(leaf.field for leaf in leaves(condition) if leaf.field is not None))


def is_momentary(condition: Condition) -> bool:
    """Whether some of it is true only at the moment at which a value comes: a change, a record."""
    return any(
        isinstance(leaf, Record) or (isinstance(leaf, Changed) and leaf.within is None) for leaf in leaves(condition)
    )
