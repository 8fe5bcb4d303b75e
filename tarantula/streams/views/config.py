"""Configuration of a view (dashboard and API), and which kinds of view can show which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from string import ascii_lowercase
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import messages
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import check_source_name
from tarantula.streams.views.cells import ViewColumn
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


TIME_KINDS = frozenset({ViewKind.LINE, ViewKind.AREA, ViewKind.SCATTER})
"""What shows a window rather than a moment."""
UNIVERSAL_KINDS = frozenset({ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD, ViewKind.NETWORK})
LATITUDE_NAMES = ("latitude", "lat")
LONGITUDE_NAMES = ("longitude", "lon", "lng", "long")


def is_numeric_column(column: ViewColumn) -> bool:
    """Whether a column's values are numbers that mean something beside one another."""
    return column.kind.is_number and column.kind != ValueKind.MOMENT


def misfit_reason(view: ViewConfig, columns: Sequence[ViewColumn]) -> str:
    """Say why values cannot be shown in this way; nothing if they can."""
    numbers = [column for column in columns if is_numeric_column(column)]
    if view.kind in UNIVERSAL_KINDS:
        return ""
    if view.kind == ViewKind.MAP:
        return "" if coordinate_columns(columns) else "A map needs two numbers, a latitude and a longitude."
    counted = view.function == WindowFunction.COUNT and view.kind not in TIME_KINDS
    if not numbers and not counted:
        return f"This way of showing ({view.kind}) needs a number, and there is none. Text and tables show anything."
    return ""


def coordinate_columns(columns: Sequence[ViewColumn]) -> tuple[ViewColumn, ViewColumn] | None:
    """Return the columns of latitude and longitude: told by their names, or else the first two numbers."""
    numbers = [column for column in columns if is_numeric_column(column)]
    latitude, longitude = _named(numbers, LATITUDE_NAMES), _named(numbers, LONGITUDE_NAMES)
    if latitude is not None and longitude is not None:
        return latitude, longitude
    return (numbers[0], numbers[1]) if len(numbers) > 1 else None


def has_named_coordinates(columns: Sequence[ViewColumn]) -> bool:
    """Whether a latitude and a longitude are called so."""
    numbers = [column for column in columns if is_numeric_column(column)]
    return all(_named(numbers, names) is not None for names in (LATITUDE_NAMES, LONGITUDE_NAMES))


def _named(columns: Sequence[ViewColumn], names: tuple[str, ...]) -> ViewColumn | None:
    def words(column: ViewColumn) -> list[str]:
        return column.title.casefold().replace("_", " ").replace(":", " ").replace("·", " ").split()

    return next((column for column in columns if any(name in words(column) for name in names)), None)
