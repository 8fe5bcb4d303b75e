"""Configuration of the installation, read from ``TARANTULA_*`` environment variables."""

from __future__ import annotations

from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from socket import gethostname
from typing import Any

from pydantic import Field, PositiveFloat, PositiveInt, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from tarantula import __version__
from tarantula.core.errors import TarantulaError
from tarantula.core.times import parse_zone, zone_named

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
    stream_adapters: str = ""
    """Additional stream adapters, as ``name=package.module.Class``, separated by semicolons."""

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
            self.items.mkdir(parents=True, exist_ok=True)
            probe = self.home / ".writable"
            probe.touch()
            probe.unlink(missing_ok=True)
            if not (pywb_config := self.home / "config.yaml").exists():
                pywb_config.write_text(PYWB_CONFIG)
        except OSError as error:
            raise TarantulaError(
                f"The home {self.home} cannot be written ({error.strerror}). "
                "Free some space, correct its permissions, or choose another with TARANTULA_HOME."
            ) from error
        return self.home


def _message(details: ErrorDetails) -> str:
    return str(details["ctx"]["error"]) if details["type"] == "value_error" else f"{details['msg']}."
