"""Configuration model of a publication, shared by the commands, the API and the web pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import validation
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message, join_messages
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
