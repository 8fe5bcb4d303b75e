"""The configuration model of a source, used by commands, API and pages: name, URL, fields, interval, browser steps,
status."""

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

from tarantula.core import validation
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
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
"""First part of the names of personal sources: ``user.ana.hoquei``."""
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")
SHORTEST_INTERVAL_SECONDS = 1.0
LONGEST_INTERVAL_SECONDS = 366 * 86400
INTERVAL_ERROR = Message("The interval must be between one second and one year. Write seconds, or 30s, 5m, 2h, 1d.")
STORED_CONTEXT = {"stored": True}
"""Validation context for stored configurations, which are not validated again."""
FROZEN_MODEL = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
MOST_FIELDS = 100


def check_source_name(name: str) -> str:
    """Return a hierarchical source name in lower case; raise `ValueError` if it is invalid."""
    lower = name.strip().lower()
    if len(lower) > LONGEST_SOURCE_NAME or not all(_PART.fullmatch(part) for part in lower.split(".")):
        raise ValueError(
            Message(
                "{name!r} is not a valid source name. Use words of letters, digits, - and _, "
                "separated by dots, for example weather.lisboa.",
                name=name[:80],
            )
        )
    return lower


def _parse_interval(value: object) -> object:
    """Return seconds from a number or from a text such as 5m."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return _parse_duration(str(value))


def _parse_duration(text: str) -> float:
    try:
        return float(parse_duration(text) or 0)
    except ValueError:
        raise ValueError(INTERVAL_ERROR) from None


def _check_interval(seconds: float) -> float:
    if not SHORTEST_INTERVAL_SECONDS <= seconds <= LONGEST_INTERVAL_SECONDS:
        raise ValueError(INTERVAL_ERROR)
    return seconds


IntervalSeconds = Annotated[float, BeforeValidator(_parse_interval), AfterValidator(_check_interval)]


class SourceStatus(StrEnum):
    """Result of the last readings of a source."""

    NEW = "new"
    """Not read yet."""
    READ = "read"
    MISSING = "missing"
    """A field was not found on the page."""
    DOUBTFUL = "doubtful"
    """A text was put aside for review."""
    UNREACHED = "unreached"
    """The server did not answer, or answered with an error."""
    REFUSED = "refused"
    """Blocked by robots.txt or by a rule."""


class BrowserAction(StrEnum):
    """Action of a browser step."""

    GO = "go"
    """Open a URL."""
    FILL = "fill"
    """Fill in a field."""
    CHOOSE = "choose"
    """Select an option."""
    CLICK = "click"
    WAIT = "wait"
    """Wait until an element exists."""


class BrowserStep(BaseModel):
    """One step that a browser executes before the page is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    action: BrowserAction
    where: str = ""
    """CSS selector, or URL to open."""
    value: str = ""
    """Text to fill in or option to select; {words} in braces are variables."""

    @model_validator(mode="after")
    def _check_target(self, info: ValidationInfo) -> Self:
        if not self.where.strip() and info.context != STORED_CONTEXT:
            what = "an address" if self.action is BrowserAction.GO else "a CSS selector"
            raise ValueError(
                Message("The step {action} needs a target: write {what} behind it.", action=self.action, what=what)
            )
        return self


def _check_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(
            Message(
                "{key!r} is not a valid field key. Use small letters, digits and _, starting with a letter.",
                key=key[:80],
            )
        )
    return key


class SourceField(BaseModel):
    """One field of a source, or of each of its rows."""

    model_config = FROZEN_MODEL

    key: Annotated[str, AfterValidator(_check_key)]
    """Identifier of the field: small letters, digits and _."""
    title: TextField = ""
    """Title of the field."""
    kind: ValueKind | None = None
    """Kind of the value; guessed from the first text by default."""
    unit: str = ""
    """Unit in which values are stored: a currency (EUR) or a unit of measure (km/h)."""
    aggregation: Aggregation | None = None
    """Aggregation of many values to one; depends on the kind by default."""
    place: dict[str, Any] = Field(default_factory=dict)
    """Where the field is, in the form that the adapter needs."""

    @model_validator(mode="after")
    def _check_unit(self, info: ValidationInfo) -> Self:
        from tarantula.streams.values import check_unit

        if self.unit and self.kind is not None and info.context != STORED_CONTEXT:
            try:
                check_unit(self.unit, self.kind)
            except TarantulaError as error:
                raise ValueError(str(error)) from None
        return self


class SourceConfig(BaseModel):
    """Configuration of a source: what is read, from where, how often, and who sees it."""

    model_config = FROZEN_MODEL

    name: Annotated[str, AfterValidator(check_source_name)]
    """Name of the source, with dots: weather.lisboa."""
    url: str
    """URL to read; {words} in braces are variables."""
    adapter: str = "page"
    """Adapter: a name, or the import path of a class."""
    fields: tuple[SourceField, ...] = ()
    """Fields to read."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the adapter."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of the {words} in the URL, headers, body and steps."""
    method: Annotated[RequestMethod, BeforeValidator(check_method)] = RequestMethod.GET
    """HTTP method: GET, or POST with a body."""
    headers: dict[str, str] = Field(default_factory=dict)
    """HTTP headers to send, such as an API key; {words} in braces are variables."""
    body: str = ""
    """Request body: JSON, a form or XML; {words} in braces are variables."""
    steps: tuple[BrowserStep, ...] = ()
    """Steps that a browser executes before the page is read."""
    render: bool = False
    """Whether the page is rendered in a browser."""
    interval: IntervalSeconds = 300.0
    """Seconds between two readings."""
    title: TextField = ""
    """Title of the source."""
    description: TextField = ""
    """Description of the source."""
    tags: tuple[str, ...] = ()
    """Tags to find the source by."""
    category: str = ""
    """Ready-made category that the source was made from."""
    private: bool = False
    """Whether only the owner sees the source."""
    paused: bool = False
    """Whether reading is paused."""
    misses: Annotated[int, AfterValidator(at_least(1, Message("The misses")))] = 3
    """Number of readings in a row without a value before people are notified."""
    notify: AddressesField = Field(default_factory=list)
    """Apprise addresses to notify when a value is not found any more."""
    delay: Annotated[float, AfterValidator(at_least(0, Message("The delay")))] = 1.0
    """Seconds between two requests to the server."""
    timeout: Annotated[float, AfterValidator(more_than_zero(Message("The timeout")))] = 30.0
    """Timeout of one reading, in seconds."""
    max_size: Annotated[int, AfterValidator(more_than_zero(Message("The maximum size")))] = 5_000_000
    """Maximum size of the response, in bytes."""
    robots: bool = True
    """Whether robots.txt is obeyed."""
    allow_private: bool = False
    """Whether private addresses may be visited other than the address that the URL itself is."""
    retention: Retention = Field(default_factory=Retention)
    """How long readings are kept."""

    @property
    def address(self) -> str:
        """URL to request, with variables filled in."""
        return fill_variables(self.url, self.variables)

    @property
    def masked_address(self) -> str:
        """The URL with secrets masked, for storage and display."""
        return fill_variables(
            self.url, {name: SECRET_PLACEHOLDER if is_secret(name) else value for name, value in self.variables.items()}
        )

    @property
    def sent(self) -> SourceRequest:
        """Request to send, with variables filled in."""
        return build_request(self.method, self.headers, self.body, self.variables)

    def field(self, key: str) -> SourceField:
        """Return the field with that key."""
        return next(field for field in self.fields if field.key == key)

    @property
    def canonical_url(self) -> str:
        """Canonical form of `address`; raises `TarantulaError` if it is not a web address."""
        url = canonical(self.address)
        if url is None or not is_web(url):
            raise TarantulaError(
                "{url!r} is not a web address. Write it as http://example.org/page.", url=self.url[:200]
            )
        return url

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if info.context != STORED_CONTEXT and "variables" in info.data:
            check_headers(headers, info.data["variables"])
        return headers

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: str, info: ValidationInfo) -> str:
        if info.context != STORED_CONTEXT and {"variables", "method", "headers"} <= info.data.keys():
            check_body(info.data["method"], info.data["headers"], body, info.data["variables"])
        return body

    @field_validator("render")
    @classmethod
    def _check_render(cls, render: bool, info: ValidationInfo) -> bool:
        if render and info.context != STORED_CONTEXT and info.data.get("method") == RequestMethod.POST:
            raise ValueError(Message("A browser can only use GET. Choose GET, or do not render the page."))
        return render

    @model_validator(mode="after")
    def _check_consistency(self, info: ValidationInfo) -> Self:
        if info.context == STORED_CONTEXT:
            return self
        keys = [field.key for field in self.fields]
        if len(keys) > MOST_FIELDS:
            raise ValueError(Message("A source has at most {limit} fields.", limit=MOST_FIELDS))
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(Message("Two fields have the key {key}. Give each field its own key.", key=key))
        if self.steps and not self.render:
            raise ValueError(Message("Steps need a browser: set render."))
        self._check_adapter()
        _check_addresses(self)
        return self

    def _check_adapter(self) -> None:
        from tarantula.streams.adapters import check_adapter

        check_adapter(self)


def _check_addresses(source: SourceConfig) -> None:
    """Raise `ValueError` for an invalid URL or a variable without a value."""
    try:
        _ = source.canonical_url
        for step in source.steps:
            fill_variables(f"{step.where} {step.value}", source.variables)
    except TarantulaError as error:
        raise ValueError(str(error)) from None


def parse_source(values: Mapping[str, Any]) -> SourceConfig:
    """Validate values that a person entered; raise `TarantulaError` with one message per field."""
    return _validated(values)


def load_stored_source(values: Mapping[str, Any]) -> SourceConfig:
    """Load a stored configuration without validating it again, so that an outdated one does not stop other sources."""
    return _validated(values, STORED_CONTEXT)


def _validated(values: Mapping[str, Any], context: Mapping[str, bool] | None = None) -> SourceConfig:
    try:
        return SourceConfig.model_validate(dict(values), context=context)
    except ValidationError as error:
        raise validation.validation_error(error, SourceConfig.model_fields) from error
