"""The one model of a view, behind the dashboard and the API."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from string import ascii_lowercase
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import messages
from tarantula.streams.sources.config_part_names import check_source_name
from tarantula.streams.views.expression import ExpressionError, parse_expression

VIEW_MODEL_CONFIG = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
MAX_VIEW_PARTS = 20
MAX_FORMULAS = 6
MAX_VIEW_CONDITIONS = 20
PART_LETTERS = ascii_lowercase
ROW, AT = "row", "at"
"""What rows are also told apart and ordered by."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
SHORTEST, LONGEST = 10.0, 36525 * DAY
"""Seconds of a window."""


class ViewKind(StrEnum):
    """How values are shown."""

    TEXT = "text"
    ONE_LINE = "one line"
    TABLE = "table"
    LINE = "line"
    AREA = "area"
    BAR = "bar"
    PIE = "pie"
    GAUGE = "gauge"
    SCATTER = "scatter"
    TREEMAP = "treemap"
    TAG_CLOUD = "tag cloud"
    MAP = "map"
    NETWORK = "network"


class WindowFunction(StrEnum):
    """What is made of the values of a window."""

    LAST = "last"
    """The newest, whenever it was read."""
    FIRST = "first"
    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    CHANGE = "change"
    """From the first to the last."""


class ViewOperator(StrEnum):
    """How a value is held against another."""

    EQUAL = "="
    UNEQUAL = "≠"
    LESS = "<"
    AT_MOST = "≤"
    MORE = ">"
    AT_LEAST = "≥"
    CONTAINS = "contains"
    CONTAINS_NOT = "does not contain"


def _check_formula(text: str) -> str:
    try:
        parse_expression(text)
    except ExpressionError as error:
        raise ValueError(str(error)) from error
    return text


class ViewPart(BaseModel):
    """A field of a source; in formulas it is a letter: the first one a, the second one b."""

    model_config = VIEW_MODEL_CONFIG

    source: Annotated[str, AfterValidator(check_source_name)]
    """Its name."""
    field: Annotated[str, Field(max_length=60)]
    """The key of the field."""
    row: Annotated[str, Field(max_length=300)] | None = None
    """The only row that is wanted; all of them unless said."""


class ViewFormula(BaseModel):
    """Something that is worked out of the parts."""

    model_config = VIEW_MODEL_CONFIG

    text: Annotated[str, Field(max_length=500), AfterValidator(_check_formula)]
    """Arithmetic on letters: (a - b) / b * 100."""
    title: Annotated[str, Field(max_length=200)] = ""
    """What people call it."""


class ViewCondition(BaseModel):
    """What a value has to be to be shown."""

    model_config = VIEW_MODEL_CONFIG

    of: Annotated[str, Field(max_length=3)]
    """The letter of a part, or ``row``."""
    operator: ViewOperator
    value: Annotated[str, Field(max_length=300)]


class ViewConfig(BaseModel):
    """What is shown of which sources, and how."""

    model_config = VIEW_MODEL_CONFIG

    kind: ViewKind = ViewKind.TEXT
    """How it is shown."""
    title: Annotated[str, Field(max_length=200)] = ""
    """What people call it; the sources' titles unless said."""
    parts: Annotated[tuple[ViewPart, ...], Field(min_length=1, max_length=MAX_VIEW_PARTS)]
    """The values."""
    formulas: Annotated[tuple[ViewFormula, ...], Field(max_length=MAX_FORMULAS)] = ()
    """What is worked out of them."""
    function: WindowFunction = WindowFunction.LAST
    """Which value stands for those of the window, where one is shown."""
    window: Annotated[float, Field(ge=SHORTEST, le=LONGEST)] = DAY
    """Seconds of history."""
    events: bool = False
    """Whether a table has what happened in the window, rather than how it is now."""
    conditions: Annotated[tuple[ViewCondition, ...], Field(max_length=MAX_VIEW_CONDITIONS)] = ()
    """All of which what is shown fulfils."""
    order: Annotated[str, Field(max_length=3)] = ""
    """What rows are ordered by: a letter, ``row`` or ``at``."""
    descending: bool = False
    """Whether the largest comes first."""
    folded: bool = False
    """Whether only its title is shown."""

    @property
    def sources(self) -> list[str]:
        """The names of the sources, each once."""
        return list(dict.fromkeys(part.source for part in self.parts))

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the parts and, behind them, of the formulas."""
        return tuple(PART_LETTERS[: len(self.parts) + len(self.formulas)])

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        of_parts = self.letters[: len(self.parts)]
        for formula in self.formulas:
            if unknown := parse_expression(formula.text).letters - set(of_parts):
                raise ValueError(f"The formula {formula.text!r} has {min(unknown)}, and no value is called so.")
        for of in (*(condition.of for condition in self.conditions), *([self.order] if self.order else [])):
            if of not in (*self.letters, ROW, AT):
                raise ValueError(f"Nothing is called {of!r} here. Values are called {', '.join(self.letters)}.")
        return self


def read_view(values: Mapping[str, Any]) -> ViewConfig:
    """Validate what a person wrote, or say what is wrong."""
    try:
        return ViewConfig.model_validate(dict(values))
    except ValidationError as error:
        raise messages.validation_error(error, ViewConfig.model_fields) from error
