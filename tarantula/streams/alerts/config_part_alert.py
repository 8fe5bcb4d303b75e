"""The one model of an alert, behind the commands, the API and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import messages
from tarantula.core.errors import TarantulaError
from tarantula.publications.fields import AddressesField, DurationField, TextField
from tarantula.streams.alerts.condition import (
    AlertRule,
    CompareCondition,
    ComparisonSign,
    is_momentary,
    leaf_conditions,
)
from tarantula.streams.alerts.condition_text import parse_rule
from tarantula.streams.alerts.condition_text_part_writing import format_rule
from tarantula.streams.kinds import ValueKind
from tarantula.streams.texts_part_patterns import check_pattern

MAX_ALERT_NAME_CHARS = 200
MAX_ADDRESSES = 10


def _read_condition(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_rule(value)
    except TarantulaError as error:
        raise ValueError(str(error)) from error


def _read_margin(value: object) -> object:
    """Read a number as it is written here or there: 0.5 or 0,5."""
    return value.strip().replace(",", ".") or "0" if isinstance(value, str) else value


class TypedLiteral(BaseModel):
    """What somebody wrote, as a value of the field that it is held against."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    number: Decimal | None = None
    kind: ValueKind | None = None
    """What the field was when it was written; nothing if that was not known."""
    unit: str = ""


class AlertConfig(BaseModel):
    """What somebody wants to be told, when, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: Annotated[TextField, Field(max_length=MAX_ALERT_NAME_CHARS)] = ""
    """What people call it; the condition unless said."""
    condition: Annotated[AlertRule, BeforeValidator(_read_condition)]
    """When it fires, as in: temperature > 30 and not wind > 50."""
    margin: Annotated[Decimal, BeforeValidator(_read_margin), Field(ge=0, lt=10**15)] = Decimal(0)
    """How far numbers have to come back before it may fire again."""
    hold: DurationField = None
    """For how long it has to be true before it fires: 10m."""
    pause: DurationField = None
    """The least time between two firings: 1h."""
    at_first: bool = False
    """Whether it fires also when it is true from the first."""
    notify: Annotated[AddressesField, Field(max_length=MAX_ADDRESSES)] = Field(default_factory=list)
    """Whom to tell: addresses of Apprise."""
    on: bool = True
    """Whether it is watched."""
    understood: dict[str, TypedLiteral] = Field(default_factory=dict)
    """What the values in the condition mean, by the field and what was written."""

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name or format_rule(self.condition)[:MAX_ALERT_NAME_CHARS]

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.hold is not None and is_momentary(self.condition.when):
            raise ValueError("A change or a record is over at once, and cannot hold for a time. Leave out one of both.")
        for leaf in leaf_conditions(self.condition.when):
            if isinstance(leaf, CompareCondition) and leaf.sign == ComparisonSign.MATCHES:
                check_pattern(leaf.value)
        return self


def read_alert(values: Mapping[str, Any]) -> AlertConfig:
    """Validate what a person wrote, or say what is wrong, one sentence a field."""
    try:
        return AlertConfig.model_validate(dict(values))
    except ValidationError as error:
        raise messages.validation_error(error, AlertConfig.model_fields) from error
