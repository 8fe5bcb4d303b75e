"""Configuration of a publication, as the database and TOML files hold it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from typing import Annotated, Any, Self

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import validation
from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import ParserLimitError, run_limited
from tarantula.core.messages import Message, join_messages
from tarantula.core.times import format_duration
from tarantula.core.urls import server_of
from tarantula.publications.fields import (
    AddressesField,
    BaseUrlField,
    DurationField,
    NameField,
    PeriodField,
    RulesField,
    ServersField,
    SettingsField,
    StartField,
    StrategyField,
    TextField,
    TypesField,
    VisitsField,
    ZoneField,
    at_least,
    more_than_zero,
)
from tarantula.publications.patterns import ServerPattern, parse_pattern, split_server

DEFAULT_ATTENTION_RULES = (
    *("errors > 20%", "missing-requisites > 10%", "documents < -30%", "bytes < -50%"),
    *("vanished-servers > 25%", "vanished-types > 25%"),
)
DEFAULT_INCOMPLETE_RULES = ("base-missing", "errors > 50%")
IN_PROCESS_CHARS = 10_000
"""Longest text that is parsed in this process: the parser takes quadratic time for long keys and many tables."""
PARSER_SECONDS = 10.0


class PublicationConfig(BaseModel):
    """Which part of the web is collected, how, and when."""

    model_config = ConfigDict(
        extra="forbid", validate_assignment=True, use_attribute_docstrings=True, hide_input_in_errors=True
    )

    name: NameField
    """Letters, digits, dots, - and _."""
    base_url: BaseUrlField
    """URL of the base document; its host is the base server."""
    description: TextField = ""
    """A description for people."""
    depth: Annotated[int, AfterValidator(at_least(0, Message("The depth")))] = 5
    """Maximum link depth, counted from the base document."""
    every: PeriodField = "once"
    """once, hourly, daily, weekly, monthly, yearly, or a cron line."""
    zone: ZoneField = ""
    """Time zone of the schedule, as Europe/Lisbon."""
    start: StartField = None
    """First date and time, as 2026-06-12 22:00."""
    max_duration: DurationField = None
    """Maximum duration of one collection: 10d, 3h, 90m, or seconds."""
    robots: bool = True
    """Whether robots.txt is obeyed."""
    profile: TextField = "everything"
    """Named set of wanted document types."""
    add_types: TypesField = Field(default_factory=list)
    """Types that are wanted in addition to the profile."""
    exclude_types: TypesField = Field(default_factory=list)
    """Types that are not wanted, even if the profile has them."""
    accept: ServersField = Field(default_factory=list)
    """Servers in addition to the base server: a name, an address, .domain, or a pattern such as 127.0.0.*"""
    exclude: ServersField = Field(default_factory=list)
    """Servers that are not collected, even if accepted."""
    max_size: Annotated[int, AfterValidator(more_than_zero(Message("The maximum size")))] = 50_000_000
    """Maximum size of a document, in bytes."""
    timeout: Annotated[float, AfterValidator(more_than_zero(Message("The timeout")))] = 300.0
    """Timeout of one document, in seconds."""
    delay: Annotated[float, AfterValidator(at_least(0, Message("The delay")))] = 1.0
    """Seconds between two visits to a server."""
    per_server: Annotated[
        int, AfterValidator(at_least(1, Message("The number of parallel requests to one server")))
    ] = 1
    """Parallel requests to one server."""
    strategy: StrategyField = "breadth-first"
    """depth-first, breadth-first, best-first, or the import path of a class."""
    convert: bool = True
    """Whether links are converted when it is archived."""
    live_requests: bool = False
    """Whether pages of the mirror may load from the web what was not collected."""
    render: bool = False
    """Whether pages are collected through a browser."""
    keep_refused: bool = True
    """Whether URLs refused by scope are stored as rows."""
    allow_private: bool = False
    """Whether private addresses may be visited that the base and the accepted servers are not written as."""
    notify: AddressesField = Field(default_factory=list)
    """Apprise addresses to notify when an item ends or needs attention, as mailto://user:password@example.org."""
    attention: RulesField = Field(default_factory=lambda: list(DEFAULT_ATTENTION_RULES))
    """Rules on indicators by which an item needs attention: errors > 20%, documents < -30%."""
    incomplete: RulesField = Field(default_factory=lambda: list(DEFAULT_INCOMPLETE_RULES))
    """Rules on indicators by which an item is not complete."""
    keep_once: bool = True
    """Whether bodies of earlier items are requested conditionally, and stored once if unchanged."""
    refresh: bool = False
    """Whether an item refreshes the previous one: it visits only pages that may have changed."""
    refresh_visits: VisitsField = None
    """Maximum visits to known pages in a refresh item; by default as many as the delay allows."""
    settings: SettingsField = Field(default_factory=dict)
    """Scrapy settings for this publication."""

    @property
    def base_server(self) -> str:
        """Server of the base document."""
        return server_of(self.base_url)

    @model_validator(mode="after")
    def _no_contradictions(self) -> Self:
        for server in self.exclude:
            if server in self.accept:
                raise ValueError(Message("The server {server} is both accepted and excluded.", server=server))
            if self._is_base_server(parse_pattern(server)):
                raise ValueError(
                    Message(
                        "The server {server} cannot be excluded: it is the server of the base document.", server=server
                    )
                )
        for mime in self.exclude_types:
            if mime in self.add_types:
                raise ValueError(Message("The type {mime} is both added and excluded.", mime=mime))
        if self.refresh and not self.keep_once:
            raise ValueError(
                Message("A refreshed publication needs keep_once: its items use the bodies of earlier items.")
            )
        if self.refresh and self.every == "once" and self.max_duration is None:
            raise ValueError(Message("A refreshed publication needs a period or a maximum duration."))
        return self

    def _is_base_server(self, pattern: ServerPattern) -> bool:
        host, port = split_server(self.base_server)
        return pattern.name == host and pattern.port in ("", port)


def read_config(values: Mapping[str, Any]) -> PublicationConfig:
    """Validate values as people wrote them; raise `TarantulaError` with one line per invalid field."""
    try:
        return PublicationConfig.model_validate(dict(values))
    except ValidationError as error:
        lines = validation.validation_messages(error, PublicationConfig.model_fields)
        raise TarantulaError(join_messages(lines)) from error


def to_toml(configs: Iterable[PublicationConfig]) -> str:
    """Return publications as TOML."""
    return tomli_w.dumps({"publication": {config.name: _table(config) for config in configs}})


def from_toml(text: str) -> list[PublicationConfig]:
    """Parse publications; raise `TarantulaError` with one line per problem."""
    document = _document(text)
    tables = document.pop("publication", None)
    if document or not isinstance(tables, dict):
        raise TarantulaError("A file of publications holds tables named [publication.NAME], and nothing else.")
    configs, complaints = [], []
    for name, table in tables.items():
        try:
            configs.append(_config(name, table))
        except TarantulaError as error:
            complaints += [Message("{name}: {line}", name=name, line=line) for line in Message(str(error)).lines()]
    if complaints:
        raise TarantulaError(join_messages(complaints))
    return configs


def _document(text: str) -> dict[str, Any]:
    """Parse TOML, a long one in a worker; dates are texts."""
    body = text.encode(errors="replace")
    try:
        parsed = parse_limited({}, body) if len(text) <= IN_PROCESS_CHARS else _parse_in_worker(body)
    except ParserLimitError as error:
        raise TarantulaError("This TOML takes too long to read. Import fewer publications at a time.") from error
    if "error" in parsed:
        raise TarantulaError("This is not TOML: {error}.", error=parsed["error"])
    document: dict[str, Any] = parsed["document"]
    return document


def _parse_in_worker(body: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = run_limited("toml", {}, body, seconds=PARSER_SECONDS)
    return parsed


def parse_limited(data: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return a TOML document as JSON values, or what is wrong with it; runs in a worker process if it is long."""
    try:
        return {"document": _with_texts(tomllib.loads(body.decode()))}
    except RecursionError:
        return {"error": "tables or lists are nested too deeply"}
    except ValueError as error:
        # Also a number of more digits than Python converts.
        return {"error": str(error)[:300]}


def _with_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_texts(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_texts(part) for part in value]
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("a number is too large")
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def setting_value(text: str) -> Any:
    """Parse the value of a Scrapy setting as JSON; return it unchanged if it is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_setting(text: str) -> tuple[str, Any]:
    """Parse a Scrapy setting written as KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals:
        raise TarantulaError("{text!r} is not a setting. Write it as KEY=VALUE.", text=text[:80])
    return key.strip(), setting_value(value.strip())


def setting_line(key: str, value: Any) -> str:
    """Format a Scrapy setting so that `read_setting` parses it."""
    is_itself = isinstance(value, str) and setting_value(value) == value and value == value.strip()
    return f"{key}={value if is_itself and value.isprintable() else json.dumps(value, ensure_ascii=False)}"


def _table(config: PublicationConfig) -> dict[str, Any]:
    table = {field: value for field, value in config.model_dump(exclude={"name"}).items() if value is not None}
    if config.max_duration is not None:
        table["max_duration"] = format_duration(config.max_duration)
    table["settings"] = {key: _writable(value) for key, value in config.settings.items()}
    return table


def _writable(value: Any) -> Any:
    """Return a value that TOML can hold: null, and strings that look like JSON, are encoded as JSON."""
    if _holds_null(value) or (isinstance(value, str) and setting_value(value) != value):
        return json.dumps(value)
    return value


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_null(part) for part in value.values())
    if isinstance(value, list):
        return any(_holds_null(part) for part in value)
    return value is None


def _config(name: str, table: Any) -> PublicationConfig:
    if not isinstance(table, dict) or "name" in table:
        raise TarantulaError("A publication is a table [publication.NAME] of its fields, without the field `name`.")
    settings = table.get("settings", {})
    if isinstance(settings, dict):
        settings = {key: setting_value(value) if isinstance(value, str) else value for key, value in settings.items()}
    return read_config({**table, "name": name, "settings": settings})
