"""Configuration of an alert, and the literals of its condition as values of the fields: ``1.234,56 €`` is 1234.56."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import messages, validation
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.publications.fields import AddressesField, DurationField, TextField
from tarantula.streams.alerts.condition import (
    AlertRule,
    ChangeCondition,
    ChangeDirection,
    CompareCondition,
    ComparisonSign,
    LeafCondition,
    RecordCondition,
    SilenceCondition,
    is_momentary,
    leaf_conditions,
)
from tarantula.streams.alerts.condition_text import format_rule, parse_rule
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import SourceField
from tarantula.streams.texts import check_pattern
from tarantula.streams.values.value import Value, ValueParseError

MAX_ALERT_NAME_CHARS = 200
MAX_ADDRESSES = 10
RecentTexts = Callable[[str], Sequence[str]]
"""Returns recent texts of a field, given its key."""
TEXT_SIGNS = (ComparisonSign.CONTAINS, ComparisonSign.LACKS, ComparisonSign.MATCHES)


def _read_condition(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_rule(value)
    except TarantulaError as error:
        raise ValueError(str(error)) from error


def _read_margin(value: object) -> object:
    """Accept a decimal comma: 0.5 or 0,5."""
    return value.strip().replace(",", ".") or "0" if isinstance(value, str) else value


class TypedLiteral(BaseModel):
    """A literal of a condition as a value of the field that it is compared with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    number: Decimal | None = None
    kind: ValueKind | None = None
    """Kind of the field when the literal was parsed; ``None`` if it was unknown."""
    unit: str = ""


class AlertConfig(BaseModel):
    """Configuration of an alert."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)

    name: Annotated[TextField, Field(max_length=MAX_ALERT_NAME_CHARS)] = ""
    """Name for people; by default the condition."""
    condition: Annotated[AlertRule, BeforeValidator(_read_condition)]
    """Condition, such as: temperature > 30 and not wind > 50."""
    margin: Annotated[Decimal, BeforeValidator(_read_margin), Field(ge=0, lt=10**15)] = Decimal(0)
    """How far numbers must come back before the alert can fire again."""
    hold: DurationField = None
    """How long the condition must be true before the alert fires: 10m."""
    pause: DurationField = None
    """Minimum time between two firings: 1h."""
    at_first: bool = False
    """Whether the alert fires if the condition is true for the first values."""
    notify: Annotated[AddressesField, Field(max_length=MAX_ADDRESSES)] = Field(default_factory=list)
    """Recipients: Apprise addresses."""
    on: bool = True
    """Whether the alert is active."""
    understood: dict[str, TypedLiteral] = Field(default_factory=dict)
    """Literals of the condition as values, by field and text."""

    @property
    def title(self) -> str:
        return self.name or format_rule(self.condition)[:MAX_ALERT_NAME_CHARS]

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.hold is not None and is_momentary(self.condition.when):
            raise ValueError(
                Message(
                    "A change or a record is momentary and cannot be held. Remove the hold, or change the condition."
                )
            )
        for leaf in leaf_conditions(self.condition.when):
            if isinstance(leaf, CompareCondition) and leaf.sign == ComparisonSign.MATCHES:
                check_pattern(leaf.value)
        return self


def read_alert(values: Mapping[str, Any]) -> AlertConfig:
    """Validate the configuration of an alert; raise an error with a sentence for each invalid field."""
    try:
        return AlertConfig.model_validate(dict(values))
    except ValidationError as error:
        raise validation.validation_error(error, AlertConfig.model_fields) from error


def type_literals(rule: AlertRule, fields: Mapping[str, SourceField], texts: RecentTexts) -> dict[str, TypedLiteral]:
    """Return the literals of a rule as values; raise an error for unknown fields and invalid values."""
    literals = dict[str, TypedLiteral]()
    for leaf in leaf_conditions(rule.when):
        if leaf.field is None:
            continue
        if leaf.field not in fields:
            near = messages.did_you_mean(leaf.field, fields)
            raise TarantulaError(
                "The source has no field {field}.{hint} It has: {known}.",
                field=leaf.field,
                hint=near,
                known=", ".join(fields),
            )
        literals |= _of_leaf(leaf, fields[leaf.field], texts)
    return literals


def literal_key(field: str, written: str) -> str:
    return f"{field} {written}"


def _of_leaf(leaf: LeafCondition, field: SourceField, texts: RecentTexts) -> dict[str, TypedLiteral]:
    if isinstance(leaf, SilenceCondition):
        return {}
    history = texts(field.key)
    kind, unit = _kind(field, history)
    if kind is not None and not kind.is_number and _counts(leaf):
        raise TarantulaError(
            "{field} is not a number: use =, ≠, contains, matches, changed or silent.", field=field.key
        )
    if isinstance(leaf, CompareCondition) and leaf.sign not in TEXT_SIGNS:
        return {literal_key(field.key, leaf.value): _value(leaf.value, kind, unit, history, field.key)}
    if isinstance(leaf, ChangeCondition) and leaf.amount:
        return {literal_key(field.key, f"by {leaf.amount}"): _amount(leaf.amount, kind, unit, history, field.key)}
    return {}


def _kind(field: SourceField, history: Sequence[str]) -> tuple[ValueKind | None, str]:
    if field.kind is not None or not history:
        return field.kind, field.unit
    from tarantula.streams.values import guess_field

    guessed = guess_field(history)
    return guessed.kind, field.unit or guessed.unit


def _counts(leaf: LeafCondition) -> bool:
    """Whether a condition applies to numbers only."""
    if isinstance(leaf, CompareCondition):
        return leaf.sign not in (*TEXT_SIGNS, ComparisonSign.EQUAL, ComparisonSign.OTHER)
    if isinstance(leaf, ChangeCondition):
        return bool(leaf.amount or leaf.percent or leaf.way != ChangeDirection.EITHER)
    return isinstance(leaf, RecordCondition)


def _value(text: str, kind: ValueKind | None, unit: str, history: Sequence[str], key: str) -> TypedLiteral:
    if kind is None:
        return TypedLiteral(text=text, number=plain_number(text), unit=unit)
    if not kind.is_number:
        return TypedLiteral(text=text, kind=kind)
    value = _read(text, kind, unit, history, key)
    return TypedLiteral(text=value.text, number=value.number, kind=kind, unit=unit)


def _amount(text: str, kind: ValueKind | None, unit: str, history: Sequence[str], key: str) -> TypedLiteral:
    """Parse a difference of values: a difference of ten degrees is not a temperature of ten degrees."""
    number = plain_number(text)
    if kind is not None:
        value = _read(text, ValueKind.DURATION if kind == ValueKind.MOMENT else kind, unit, history, key)
        number = value.number
        if number is not None and kind == ValueKind.QUANTITY and value.unit and unit:
            number -= _converted(Decimal(0), value.unit, unit)
    if number is None or number <= 0:
        raise TarantulaError(
            "{text!r} is not an amount by which {key} can change: write a number greater than zero.",
            text=text[:80],
            key=key,
        )
    return TypedLiteral(text=f"{number:f}", number=number, kind=kind, unit=unit)


def _read(text: str, kind: ValueKind, unit: str, history: Sequence[str], key: str) -> Value:
    from tarantula.streams.values import parse_value

    # A limit on integers can be a decimal.
    wide = ValueKind.DECIMAL if kind == ValueKind.INTEGER else kind
    try:
        return parse_value(text, wide, unit, history)
    except ValueParseError as error:
        raise TarantulaError(
            "{text!r} is not a value of {key}: {error}", text=text[:80], key=key, error=error
        ) from error


def _converted(number: Decimal, from_: str, to: str) -> Decimal:
    from tarantula.streams.values import convert_unit

    return convert_unit(number, from_, to)


def plain_number(text: str) -> Decimal | None:
    """Return a number in plain notation; ``None`` if the text is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
