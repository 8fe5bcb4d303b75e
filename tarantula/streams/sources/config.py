"""The configuration model of a source, used by commands, API and pages: name, URL, fields, interval, browser steps,
status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tarantula.core import messages
from tarantula.core.errors import TarantulaError
from tarantula.core.times import parse_duration
from tarantula.core.urls import canonical, is_web
from tarantula.publications.fields import AddressesField, TextField, at_least, more_than_zero
from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.sources.request import (
    SECRET_PLACEHOLDER,
    RequestMethod,
    SourceRequest,
    build_request,
    check_body,
    check_headers,
    check_method,
    fill_variables,
    is_secret,
)
from tarantula.streams.sources.retention import Retention

LONGEST_SOURCE_NAME = 200
PERSONAL_PREFIX = "user"
"""The first part of the names of people's own sources: ``user.ana.hoquei``."""
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")


def check_source_name(name: str) -> str:
    """Return a hierarchical name, in small letters, or say what is wrong with it."""
    lower = name.strip().lower()
    if len(lower) > LONGEST_SOURCE_NAME or not all(_PART.fullmatch(part) for part in lower.split(".")):
        raise ValueError(
            f"{name[:80]!r} is not the name of a source. Write words of letters, digits, - and _, "
            "with dots between them, as weather.lisboa."
        )
    return lower


SHORTEST_INTERVAL_SECONDS = 1.0
"""Seconds."""
LONGEST_INTERVAL_SECONDS = 366 * 86400
INTERVAL_ERROR = "The interval has to be between a second and a year: write seconds, or 30s, 5m, 2h, 1d."


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
        raise ValueError(INTERVAL_ERROR) from None


def _check_interval(seconds: float) -> float:
    if not SHORTEST_INTERVAL_SECONDS <= seconds <= LONGEST_INTERVAL_SECONDS:
        raise ValueError(INTERVAL_ERROR)
    return seconds


IntervalSeconds = Annotated[float, BeforeValidator(_read_interval), AfterValidator(_check_interval)]


class SourceStatus(StrEnum):
    """What became of the last readings."""

    NEW = "new"
    """Not read yet."""
    READ = "read"
    MISSING = "missing"
    """Something that is wanted was not on the page."""
    DOUBTFUL = "doubtful"
    """What was found was put aside."""
    UNREACHED = "unreached"
    """Its server did not answer, or not with the page."""
    REFUSED = "refused"
    """robots.txt, or a rule, forbids it."""


STORED_CONTEXT = {"stored": True}
"""The context in which what was stored is read: it is not asked again whether it makes sense."""


class BrowserAction(StrEnum):
    """What can be done."""

    GO = "go"
    """To an address."""
    FILL = "fill"
    """Something into a field."""
    CHOOSE = "choose"
    """One of a list."""
    CLICK = "click"
    WAIT = "wait"
    """Until something is there."""


class BrowserStep(BaseModel):
    """One of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    action: BrowserAction
    where: str = ""
    """A CSS selector, or an address to go to."""
    value: str = ""
    """What is filled in or chosen; {words} in braces stand for variables."""

    @model_validator(mode="after")
    def _says_where(self, info: ValidationInfo) -> Self:
        if not self.where.strip() and info.context != STORED_CONTEXT:
            what = "an address" if self.action is BrowserAction.GO else "a CSS selector"
            raise ValueError(f"A step that is to {self.action} has to say where: write {what} behind it.")
        return self


FROZEN_MODEL = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")


def _check_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{key[:80]!r} is not the key of a field. Write small letters, digits and _, beginning with a letter."
        )
    return key


class SourceField(BaseModel):
    """One value that a source has, or that each of its rows has."""

    model_config = FROZEN_MODEL

    key: Annotated[str, AfterValidator(_check_key)]
    """By which it is known: small letters, digits and _."""
    title: TextField = ""
    """What people call it."""
    kind: ValueKind | None = None
    """What it is; told from its texts unless said."""
    unit: str = ""
    """In which it is kept: a currency as EUR, a unit of measure as km/h."""
    aggregation: Aggregation | None = None
    """Which value stands for many; as usual for its kind unless said."""
    place: dict[str, Any] = Field(default_factory=dict)
    """Where it is, as the adapter wants it told."""

    @model_validator(mode="after")
    def _has_a_unit_that_is_known(self, info: ValidationInfo) -> Self:
        from tarantula.streams.values import check_unit

        if self.unit and self.kind is not None and info.context != STORED_CONTEXT:
            try:
                check_unit(self.unit, self.kind)
            except TarantulaError as error:
                raise ValueError(str(error)) from None
        return self


MOST_FIELDS = 100


class SourceConfig(BaseModel):
    """What is read, from where, how often, and for whom."""

    model_config = FROZEN_MODEL

    name: Annotated[str, AfterValidator(check_source_name)]
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
    """What stands in the place of {words} in the URL, in what is sent and in the steps."""
    method: Annotated[RequestMethod, BeforeValidator(check_method)] = RequestMethod.GET
    """How its server is asked: GET, or POST with what is sent."""
    headers: dict[str, str] = Field(default_factory=dict)
    """What its server is told beside, as an API key: {words} in braces stand for variables."""
    body: str = ""
    """What is sent, as JSON, a form or XML; {words} in braces stand for variables."""
    steps: tuple[BrowserStep, ...] = ()
    """What a browser does before the page is read."""
    render: bool = False
    """Whether the page is read as a browser shows it."""
    interval: IntervalSeconds = 300.0
    """Seconds between two readings."""
    title: TextField = ""
    """What people call it."""
    description: TextField = ""
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
    notify: AddressesField = Field(default_factory=list)
    """Whom to tell when it is not found any more: addresses of Apprise."""
    delay: Annotated[float, AfterValidator(at_least(0, "The delay"))] = 1.0
    """Seconds between two visits to its server."""
    timeout: Annotated[float, AfterValidator(more_than_zero("The timeout"))] = 30.0
    """Seconds for one reading."""
    max_size: Annotated[int, AfterValidator(more_than_zero("The largest size"))] = 5_000_000
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
        return fill_variables(self.url, self.variables)

    @property
    def address_shown(self) -> str:
        """The same without its secrets, for whatever is kept."""
        return fill_variables(
            self.url, {name: SECRET_PLACEHOLDER if is_secret(name) else value for name, value in self.variables.items()}
        )

    @property
    def sent(self) -> SourceRequest:
        """How its server is asked, with its variables filled in."""
        return build_request(self.method, self.headers, self.body, self.variables)

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

    @field_validator("headers")
    @classmethod
    def _can_be_said(cls, headers: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if info.context != STORED_CONTEXT and "variables" in info.data:
            check_headers(headers, info.data["variables"])
        return headers

    @field_validator("body")
    @classmethod
    def _can_be_sent(cls, body: str, info: ValidationInfo) -> str:
        if info.context != STORED_CONTEXT and {"variables", "method", "headers"} <= info.data.keys():
            check_body(info.data["method"], info.data["headers"], body, info.data["variables"])
        return body

    @field_validator("render")
    @classmethod
    def _can_be_shown(cls, render: bool, info: ValidationInfo) -> bool:
        if render and info.context != STORED_CONTEXT and info.data.get("method") == RequestMethod.POST:
            raise ValueError("A browser asks for a page with GET: choose that, or read it without a browser.")
        return render

    @model_validator(mode="after")
    def _makes_sense(self, info: ValidationInfo) -> Self:
        from tarantula.streams.adapters import check_adapter

        if info.context == STORED_CONTEXT:
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
            fill_variables(f"{step.where} {step.value}", source.variables)
    except TarantulaError as error:
        raise ValueError(str(error)) from None


def parse_source(values: Mapping[str, Any]) -> SourceConfig:
    """Validate what a person wrote, or say what is wrong, one sentence a field."""
    return _validated(values)


def load_stored_source(values: Mapping[str, Any]) -> SourceConfig:
    """Take what was stored as it is: whether it makes sense was asked then, and one that does not hinders no other."""
    return _validated(values, STORED_CONTEXT)


def _validated(values: Mapping[str, Any], context: Mapping[str, bool] | None = None) -> SourceConfig:
    try:
        return SourceConfig.model_validate(dict(values), context=context)
    except ValidationError as error:
        raise messages.validation_error(error, SourceConfig.model_fields) from error
