"""Configuration of a view (dashboard and API), and which kinds of view can show which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from string import ascii_lowercase
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import validation
from tarantula.core.messages import Message
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
"""Keys for conditions and order besides the letters: row name and time."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
SHORTEST, LONGEST = 10.0, 36525 * DAY
"""Limits of a window in seconds."""
LATITUDE_NAMES = ("latitude", "lat")
LONGITUDE_NAMES = ("longitude", "lon", "lng", "long")


class ViewKind(StrEnum):
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
    """Function over the values of a window."""

    LAST = "last"
    """Newest value, even if it was read before the window."""
    FIRST = "first"
    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    CHANGE = "change"
    """Difference between the last and the first value."""


class ViewOperator(StrEnum):
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
    """Field of a source; formulas refer to parts by letter: the first is a, the second b."""

    model_config = VIEW_MODEL_CONFIG

    source: Annotated[str, AfterValidator(check_source_name)]
    """Name of the source."""
    field: Annotated[str, Field(max_length=60)]
    """Key of the field."""
    row: Annotated[str, Field(max_length=300)] | None = None
    """Only this row; all rows if ``None``."""


class ViewFormula(BaseModel):
    """Formula on the parts of a view."""

    model_config = VIEW_MODEL_CONFIG

    text: Annotated[str, Field(max_length=500), AfterValidator(_check_formula)]
    """Arithmetic on letters: (a - b) / b * 100."""
    title: Annotated[str, Field(max_length=200)] = ""
    """Title for people."""


class ViewCondition(BaseModel):
    """Filter condition on values or row names."""

    model_config = VIEW_MODEL_CONFIG

    of: Annotated[str, Field(max_length=3)]
    """Letter of a part, or ``row``."""
    operator: ViewOperator
    value: Annotated[str, Field(max_length=300)]


class ViewConfig(BaseModel):
    """Configuration of a view."""

    model_config = VIEW_MODEL_CONFIG

    kind: ViewKind = ViewKind.TEXT
    """Kind of display."""
    title: Annotated[str, Field(max_length=200)] = ""
    """Title for people; by default the titles of the sources."""
    parts: Annotated[tuple[ViewPart, ...], Field(min_length=1, max_length=MAX_VIEW_PARTS)]
    """Values to show."""
    formulas: Annotated[tuple[ViewFormula, ...], Field(max_length=MAX_FORMULAS)] = ()
    """Formulas on the values."""
    function: WindowFunction = WindowFunction.LAST
    """Function that gives the value to show, where one value is shown."""
    window: Annotated[float, Field(ge=SHORTEST, le=LONGEST)] = DAY
    """Length of the window in seconds."""
    events: bool = False
    """Whether a table shows the events of the window instead of the current values."""
    conditions: Annotated[tuple[ViewCondition, ...], Field(max_length=MAX_VIEW_CONDITIONS)] = ()
    """Filter conditions, all of which must be met."""
    order: Annotated[str, Field(max_length=3)] = ""
    """Sort key of rows: a letter, ``row`` or ``at``."""
    descending: bool = False
    """Whether to sort in descending order."""
    folded: bool = False
    """Whether the card is collapsed to its title."""

    @property
    def sources(self) -> list[str]:
        """Distinct names of the sources, in order."""
        return list(dict.fromkeys(part.source for part in self.parts))

    @property
    def letters(self) -> tuple[str, ...]:
        """Letters of the parts, followed by those of the formulas."""
        return tuple(PART_LETTERS[: len(self.parts) + len(self.formulas)])

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        of_parts = self.letters[: len(self.parts)]
        for formula in self.formulas:
            if unknown := parse_expression(formula.text).letters - set(of_parts):
                raise ValueError(
                    Message(
                        "The formula {text!r} uses {letter}, which is not the letter of a value.",
                        text=formula.text,
                        letter=min(unknown),
                    )
                )
        for of in (*(condition.of for condition in self.conditions), *([self.order] if self.order else [])):
            if of not in (*self.letters, ROW, AT):
                raise ValueError(
                    Message(
                        "There is no value {of!r}. The values are {letters}.", of=of, letters=", ".join(self.letters)
                    )
                )
        return self


def read_view(values: Mapping[str, Any]) -> ViewConfig:
    """Validate the configuration of a view; raise an error that says what is invalid."""
    try:
        return ViewConfig.model_validate(dict(values))
    except ValidationError as error:
        raise validation.validation_error(error, ViewConfig.model_fields) from error


TIME_KINDS = frozenset({ViewKind.LINE, ViewKind.AREA, ViewKind.SCATTER})
"""Kinds that show a window rather than current values."""


UNIVERSAL_KINDS = frozenset({ViewKind.TEXT, ViewKind.ONE_LINE, ViewKind.TABLE, ViewKind.TAG_CLOUD, ViewKind.NETWORK})


def is_numeric_column(column: ViewColumn) -> bool:
    """Whether the values of a column can be compared as numbers; moments cannot."""
    return column.kind.is_number and column.kind != ValueKind.MOMENT


def misfit_reason(view: ViewConfig, columns: Sequence[ViewColumn]) -> str:
    """Return why a view cannot show the columns in its kind; empty if it can."""
    numbers = [column for column in columns if is_numeric_column(column)]
    if view.kind in UNIVERSAL_KINDS:
        return ""
    if view.kind == ViewKind.MAP:
        return "" if coordinate_columns(columns) else Message("A map needs two numbers, a latitude and a longitude.")
    counted = view.function == WindowFunction.COUNT and view.kind not in TIME_KINDS
    if not numbers and not counted:
        return Message(
            "This kind of view ({kind}) needs a number, and there is none. Text and tables show anything.",
            kind=view.kind,
        )
    return ""


def coordinate_columns(columns: Sequence[ViewColumn]) -> tuple[ViewColumn, ViewColumn] | None:
    """Return the columns of latitude and longitude: by their names, or else the first two numbers."""
    numbers = [column for column in columns if is_numeric_column(column)]
    latitude, longitude = _named(numbers, LATITUDE_NAMES), _named(numbers, LONGITUDE_NAMES)
    if latitude is not None and longitude is not None:
        return latitude, longitude
    return (numbers[0], numbers[1]) if len(numbers) > 1 else None


def has_named_coordinates(columns: Sequence[ViewColumn]) -> bool:
    numbers = [column for column in columns if is_numeric_column(column)]
    return all(_named(numbers, names) is not None for names in (LATITUDE_NAMES, LONGITUDE_NAMES))


def _named(columns: Sequence[ViewColumn], names: tuple[str, ...]) -> ViewColumn | None:
    def words(column: ViewColumn) -> list[str]:
        return column.title.casefold().replace("_", " ").replace(":", " ").replace("·", " ").split()

    return next((column for column in columns if any(name in words(column) for name in names)), None)
