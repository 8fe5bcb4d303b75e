"""Configuration of the installation, read from ``TARANTULA_*`` environment variables."""

from __future__ import annotations

import re
from datetime import tzinfo
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

import ada_url
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from tarantula import __version__
from tarantula.core.errors import TarantulaError
from tarantula.core.files import restrict_home
from tarantula.core.messages import Message
from tarantula.core.times import parse_duration, parse_zone, zone_named

TRUSTED_HOST = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[?[0-9a-f:.]+\]?", re.IGNORECASE)

PYWB_CONFIG = """\
# pywb, started in this directory, serves every item as a collection, and all items together as "all".
collections_root: items
collections:
  all: $all
"""


class Config(BaseSettings):
    """Settings of the installation."""

    model_config = SettingsConfigDict(env_prefix="TARANTULA_", frozen=True)

    home: Path = Path("tarantula-home")
    database_url: str = ""
    warc_size: PositiveInt = 1_000_000_000
    """Bytes after which a new WARC file is started."""
    collectors: PositiveInt = 2
    """Maximum number of collector processes that daemons run on this machine."""
    min_memory: NonNegativeInt = 100
    """Megabytes of available memory below which collectors make no requests; 0: never."""
    retry_pause: PositiveFloat = 30.0
    """Seconds before a process that died is started again; doubled after each further failure."""
    timezone: str = ""
    """Time zone of publications without one; by default this machine's."""
    notify: str = ""
    """Apprise addresses that are notified of every item, separated by semicolons."""
    contact: str = ""
    """URL of a page about this installation, for the User-Agent header; by default the mail address."""
    mail: str = Field(default_factory=lambda: f"tarantula@{gethostname()}")
    """Mail address of the operator, for the ``From`` header of every request."""
    gateway: str = ""
    """URL of the search gateway, as ``http://127.0.0.1:7700``; by default the index in the home is used."""
    name_servers: str = ""
    """Name servers that collectors ask, as ``10.0.0.53`` or ``[::1]:5353``, separated by semicolons; by default the
    system's."""
    private_networks: str = ""
    """Private networks and addresses that may be connected to, as ``10.1.0.0/16``, separated by semicolons."""
    proxy_guards: bool = False
    """Whether the HTTP proxy refuses private addresses itself; then names are not resolved before it gets them."""
    suggestions: str = "suggestions"
    """Publication under which suggested URLs are collected."""
    on_decision: str = ""
    """Import paths of functions that are called when an item is validated or rejected, separated by semicolons."""
    scope_rules: str = ""
    """Import paths of additional scope rules for all publications, separated by semicolons."""
    header_checks: str = ""
    """Import paths of additional checks of response headers for all publications, separated by semicolons."""
    exporters: str = ""
    """Additional export formats, as ``name=package.module.Class``, separated by semicolons."""
    fixity_period: str = "365d"
    """Period within which a daemon reads every stored WARC file back; empty or ``0``: never."""
    fixity_rate: PositiveFloat = 20.0
    """Megabytes per second that a daemon reads for this."""
    secret_key: str = Field(default="", repr=False)
    """Keys that encrypt secrets in the database, separated by semicolons; the first one encrypts."""
    secret_key_file: Path | None = None
    """File of these keys, one a line; by default ``secret.key`` in the home."""
    request_seconds: PositiveFloat = 30.0
    """Seconds that a request to the pages or the API may take; a download: each part of it."""
    request_rate: PositiveFloat = 100.0
    """Requests per second of one account, ten times as many in a burst; of one address four times as many."""
    expensive_requests: PositiveInt = 4
    """Searches, downloads and other expensive requests of one account at a time; of one address four times as many."""
    web_connections: PositiveInt = 30
    """Database connections of the pages and the API, besides a few for logins and the health check."""
    address_connections: PositiveInt = 100
    """Open connections to the web server, a gateway or a barrel from one address."""
    token_days: int = Field(default=365, ge=0, le=3660)
    """Days for which a new token is valid, unless its creator says otherwise; 0: without limit."""
    require_second_factor: str = ""
    """Roles that need a second factor, as ``administrator,curator``."""
    public_address: str = ""
    """URL under which browsers reach the pages, as ``https://archive.example.org``: security keys work only there."""
    group_access: bool = False
    """Whether the group of the home's files may read them; otherwise only their owner."""
    stream_adapters: str = ""
    """Additional stream adapters, as ``name=package.module.Class``, separated by semicolons."""

    search_key: str = Field(default="", repr=False)
    """Keys that sign requests between clients, gateways and barrels, separated by semicolons; the first one signs."""
    search_key_file: Path | None = None
    """File of these keys, one a line; by default ``search.key`` in the home."""
    trusted_hosts: str = ""
    """Host names under which the pages, gateways and barrels are reached, as ``*.example.org``, separated by
    semicolons; addresses of this machine need not be listed."""
    trusted_proxies: str = ""
    """Addresses and networks of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` hold, separated by
    semicolons."""

    oidc_issuer: str = ""
    """Issuer of the OpenID Connect provider at which people may log in."""
    oidc_client_id: str = ""
    oidc_client_secret: str = Field(default="", repr=False)
    oidc_client_secret_file: Path | None = None
    oidc_label: str = ""
    """Name of the provider on the login page; by default its host name."""
    oidc_scopes: str = "openid profile email"
    oidc_create: bool = False
    """Whether an account is created for a person who logs in for the first time."""
    oidc_name_claim: str = "preferred_username"
    """Claim with the name of a new account."""
    oidc_link_claim: str = ""
    """Claim with the name of the account that a person gets at the first login; none: only commands link."""
    oidc_domain: str = ""
    """Domain of verified e-mail addresses whose part before the @ is a name of an account."""
    oidc_role: str = "reader"
    """Role of a new account, if no claim says which."""
    oidc_role_claim: str = ""
    """Claim with groups or roles, which gives the role at each login."""
    oidc_roles: str = ""
    """Roles of its values, as ``archivists=curator; staff=reader``."""

    web_components: bool = False
    """Whether administrators may enter import paths and all Scrapy settings in the pages and the API."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = (f"TARANTULA_{str(one['loc'][0]).upper()}: {_message(one)}" for one in error.errors())
            raise TarantulaError(" ".join(problems)) from error

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        return parse_zone(name)

    @field_validator("name_servers")
    @classmethod
    def _known_addresses(cls, servers: str) -> str:
        for server in _split(servers):
            try:
                parts = urlsplit(f"//{server}")
                ip_address(parts.hostname or "")
                _ = parts.port
            except ValueError as error:
                raise ValueError(
                    Message("{server!r} is not an address. Write 10.0.0.53, or [::1]:5353.", server=server[:80])
                ) from error
        return servers

    @field_validator("public_address")
    @classmethod
    def _known_origin(cls, address: str) -> str:
        if not address:
            return ""
        try:
            parsed = ada_url.URL(address)
        except ValueError:
            parsed = None
        if parsed is None or parsed.protocol not in ("http:", "https:") or not parsed.hostname:
            raise ValueError(
                Message(
                    "{address!r} is not the address of a site. Write https://archive.example.org.", address=address[:80]
                )
            )
        return str(parsed.origin)

    @field_validator("private_networks")
    @classmethod
    def _known_networks(cls, text: str) -> str:
        parse_networks(text)
        return text

    @field_validator("trusted_proxies")
    @classmethod
    def _known_proxies(cls, text: str) -> str:
        parse_networks(text)
        return text

    @field_validator("trusted_hosts")
    @classmethod
    def _known_hosts(cls, text: str) -> str:
        for word in _split(text):
            if not TRUSTED_HOST.fullmatch(word):
                raise ValueError(
                    Message(
                        "{word!r} is not a host name. Write it without scheme and port, as archive.example.org or "
                        "*.example.org.",
                        word=word[:80],
                    )
                )
        return text

    @field_validator("fixity_period")
    @classmethod
    def _known_period(cls, period: str) -> str:
        parse_duration(period if period.strip() != "0" else "")
        return period

    @property
    def fixity_seconds(self) -> int | None:
        """Seconds within which every stored WARC file is read back; None if this is off."""
        return parse_duration(self.fixity_period if self.fixity_period.strip() != "0" else "")

    @cached_property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Private networks that may be connected to."""
        return parse_networks(self.private_networks)

    @property
    def hosts(self) -> list[str]:
        """Patterns of trusted host names, in lower case."""
        return _split(self.trusted_hosts.lower())

    @property
    def proxies(self) -> list[str]:
        """Addresses and networks of trusted proxies."""
        return _split(self.trusted_proxies)

    @property
    def dns_servers(self) -> list[str]:
        """Name servers that collectors ask; empty for the system's."""
        return _split(self.name_servers)

    @property
    def zone(self) -> tzinfo:
        """Time zone of publications without one."""
        return zone_named(self.timezone)

    @property
    def items(self) -> Path:
        """Directory of the WARC files, one folder per item."""
        return self.home / "items"

    @property
    def archived(self) -> Path:
        """Directory of the browsable mirrors of archived items."""
        return self.home / "archived"

    @property
    def key_file(self) -> Path:
        """File of the keys that encrypt secrets."""
        return (self.secret_key_file or self.home / "secret.key").expanduser().absolute()

    @property
    def search_key_path(self) -> Path:
        """File of the keys that sign requests between clients, gateways and barrels."""
        return (self.search_key_file or self.home / "search.key").expanduser().absolute()

    @cached_property
    def url(self) -> str:
        """URL of the database, in SQLAlchemy's form."""
        if not self.database_url:
            return f"sqlite:///{self.home / 'tarantula.sqlite'}"
        return self.database_url.replace("postgres://", "postgresql://", 1)

    @property
    def user_agent(self) -> str:
        """User-Agent header of every request."""
        return f"Mozilla/5.0 (compatible; Tarantula/{__version__}; +{self.contact or 'mailto:' + self.mail})"

    def make_home(self) -> Path:
        """Create the home directory and check that it is writable."""
        try:
            self.home.parent.mkdir(parents=True, exist_ok=True)
            self.home.mkdir(mode=0o750 if self.group_access else 0o700, exist_ok=True)
            self.items.mkdir(exist_ok=True)
            restrict_home(self.home, group_access=self.group_access)
            probe = self.home / ".writable"
            probe.touch()
            probe.unlink(missing_ok=True)
            if not (pywb_config := self.home / "config.yaml").exists():
                pywb_config.write_text(PYWB_CONFIG)
        except OSError as error:
            raise TarantulaError(
                "The home {home} cannot be written ({error}). "
                "Free some space, correct its permissions, or choose another with TARANTULA_HOME.",
                home=self.home,
                error=error.strerror,
            ) from error
        return self.home


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(";") if word.strip()]


def parse_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Parse networks and addresses separated by semicolons; raise ``ValueError`` with a sentence if one is invalid."""
    networks = []
    for word in _split(text):
        try:
            networks.append(ip_network(word))
        except ValueError as error:
            raise ValueError(
                Message("{word!r} is not a network. Write it as 10.1.0.0/16 or 192.168.5.7.", word=word[:80])
            ) from error
    return tuple(networks)


def _message(details: ErrorDetails) -> str:
    return str(details["ctx"]["error"]) if details["type"] == "value_error" else f"{details['msg']}."
