"""The one model of a source, behind the commands, the API and the pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from tarantula import sentences
from tarantula.errors import TarantulaError
from tarantula.publications.fields import Addresses, Words, at_least, more_than_nothing
from tarantula.publications.times import parse_duration
from tarantula.streams.sources.kinds import Aggregation, Kind
from tarantula.streams.sources.retention import Retention
from tarantula.streams.sources.steps import STORED, Step
from tarantula.urls import canonical, is_web

MODEL = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
LONGEST_NAME = 200
OWN = "user"
"""The first part of the names of people's own sources: ``user.ana.hoquei``."""
SHORTEST_INTERVAL = 1.0
"""Seconds."""
INTERVAL = "The interval has to be between a second and a year: write seconds, or 30s, 5m, 2h, 1d."
MOST_FIELDS = 100
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
_VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def check_name(name: str) -> str:
    """Return a hierarchical name, in small letters, or say what is wrong with it."""
    lower = name.strip().lower()
    if len(lower) > LONGEST_NAME or not all(_PART.fullmatch(part) for part in lower.split(".")):
        raise ValueError(
            f"{name[:80]!r} is not the name of a source. Write words of letters, digits, - and _, "
            "with dots between them, as weather.lisboa."
        )
    return lower


def _check_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{key[:80]!r} is not the key of a field. Write small letters, digits and _, beginning with a letter."
        )
    return key


def _read_interval(value: object) -> object:
    """Read seconds, or as people write them: 5m."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return _duration(str(value))


def _duration(text: str) -> float:
    try:
        return float(parse_duration(text) or 0)
    except ValueError:
        raise ValueError(INTERVAL) from None


def _check_interval(seconds: float) -> float:
    if not SHORTEST_INTERVAL <= seconds <= 366 * 86400:
        raise ValueError(INTERVAL)
    return seconds


class SourceField(BaseModel):
    """One value that a source has, or that each of its rows has."""

    model_config = MODEL

    key: Annotated[str, AfterValidator(_check_key)]
    """By which it is known: small letters, digits and _."""
    title: Words = ""
    """What people call it."""
    kind: Kind | None = None
    """What it is; told from its texts unless said."""
    unit: str = ""
    """In which it is kept: a currency as EUR, a unit of measure as km/h."""
    aggregation: Aggregation | None = None
    """Which value stands for many; as usual for its kind unless said."""
    place: dict[str, Any] = Field(default_factory=dict)
    """Where it is, as the adapter wants it told."""

    @model_validator(mode="after")
    def _has_a_unit_that_is_known(self, info: ValidationInfo) -> Self:
        from tarantula.streams.types import check_unit

        if self.unit and self.kind is not None and info.context != STORED:
            try:
                check_unit(self.unit, self.kind)
            except TarantulaError as error:
                raise ValueError(str(error)) from None
        return self


class SourceConfig(BaseModel):
    """What is read, from where, how often, and for whom."""

    model_config = MODEL

    name: Annotated[str, AfterValidator(check_name)]
    """Words with dots between them: weather.lisboa."""
    url: str
    """Where it is read; {words} in braces stand for variables."""
    adapter: str = "page"
    """How it is read."""
    fields: tuple[SourceField, ...] = ()
    """The values."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What else the adapter wants to know."""
    variables: dict[str, str] = Field(default_factory=dict)
    """What stands in the place of {words} in the URL and in the steps."""
    steps: tuple[Step, ...] = ()
    """What a browser does before the page is read."""
    render: bool = False
    """Whether the page is read as a browser shows it."""
    interval: Annotated[float, BeforeValidator(_read_interval), AfterValidator(_check_interval)] = 300.0
    """Seconds between two readings."""
    title: Words = ""
    """What people call it."""
    description: Words = ""
    """What it is, in words."""
    tags: tuple[str, ...] = ()
    """Words by which it is found."""
    category: str = ""
    """The ready-made category that it came from."""
    private: bool = False
    """Whether only its owner sees it."""
    paused: bool = False
    """Whether it is left alone for now."""
    misses: Annotated[int, AfterValidator(at_least(1, "The misses"))] = 3
    """After how many readings without a value somebody is told."""
    notify: Addresses = Field(default_factory=list)
    """Whom to tell when it is not found any more: addresses of Apprise."""
    delay: Annotated[float, AfterValidator(at_least(0, "The delay"))] = 1.0
    """Seconds between two visits to its server."""
    timeout: Annotated[float, AfterValidator(more_than_nothing("The timeout"))] = 30.0
    """Seconds for one reading."""
    max_size: Annotated[int, AfterValidator(more_than_nothing("The largest size"))] = 5_000_000
    """Largest page, in bytes."""
    robots: bool = True
    """Whether robots.txt is obeyed."""
    allow_private: bool = False
    """Whether it may lead to private addresses although its own is a public one."""
    retention: Retention = Field(default_factory=Retention)
    """How long what was read is kept."""

    @property
    def address(self) -> str:
        """The URL that is asked for, with its variables filled in."""
        return filled(self.url, self.variables)

    def field(self, key: str) -> SourceField:
        """Return the field of that key."""
        return next(field for field in self.fields if field.key == key)

    @property
    def canonical_url(self) -> str:
        """The same as it is compared, or a sentence if nobody can ask for it."""
        url = canonical(self.address)
        if url is None or not is_web(url):
            raise TarantulaError(
                f"{self.url[:200]!r} is not an address of the web. Write it as http://example.org/page."
            )
        return url

    @model_validator(mode="after")
    def _makes_sense(self, info: ValidationInfo) -> Self:
        from tarantula.streams.adapters import check_adapter

        if info.context == STORED:
            return self
        keys = [field.key for field in self.fields]
        if len(keys) > MOST_FIELDS:
            raise ValueError(f"A source has at most {MOST_FIELDS} fields.")
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"Two fields have the key {key}. Give each its own.")
        if self.steps and not self.render:
            raise ValueError("Steps are done by a browser: say that the page is rendered.")
        check_adapter(self)
        _check_addresses(self)
        return self


def _check_addresses(source: SourceConfig) -> None:
    """Refuse an address that nobody can ask for, and variables that have no value."""
    try:
        _ = source.canonical_url
        for step in source.steps:
            filled(f"{step.where} {step.value}", source.variables)
    except TarantulaError as error:
        raise ValueError(str(error)) from None


def filled(template: str, variables: Mapping[str, str]) -> str:
    """Put variables into a text that has their names in braces, or say which one is missing."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            raise TarantulaError(f"The variable {found[1]} has no value. Give it one.")
        return variables[found[1]]

    return _VARIABLE.sub(value, template)


def read(values: Mapping[str, Any]) -> SourceConfig:
    """Validate what a person wrote, or say what is wrong, one sentence a field."""
    return _validated(values)


def read_stored(values: Mapping[str, Any]) -> SourceConfig:
    """Take what was stored as it is: whether it makes sense was asked then, and one that does not hinders no other."""
    return _validated(values, STORED)


def _validated(values: Mapping[str, Any], context: Mapping[str, bool] | None = None) -> SourceConfig:
    try:
        return SourceConfig.model_validate(dict(values), context=context)
    except ValidationError as error:
        raise sentences.not_valid(error, SourceConfig.model_fields) from error
