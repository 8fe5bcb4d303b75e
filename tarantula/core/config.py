"""The installation: where things are kept, which database, and how we introduce ourselves."""

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
# So that pywb, started in this directory, serves every item as a collection, and all of them as another.
collections_root: items
collections:
  all: $all
"""


class Config(BaseSettings):
    """Read from ``TARANTULA_*`` environment variables."""

    model_config = SettingsConfigDict(env_prefix="TARANTULA_", frozen=True)

    home: Path = Path("tarantula-home")
    database_url: str = ""
    warc_size: PositiveInt = 1_000_000_000
    """Bytes after which a new WARC file is begun."""
    collectors: PositiveInt = 2
    """Processes that daemons run at a time on this machine."""
    retry_pause: PositiveFloat = 30.0
    """Seconds before a process that died is started again; each further time twice as many."""
    timezone: str = ""
    """The time zone of publications that name none; this machine's unless told."""
    notify: str = ""
    """Whom to tell of every item: addresses of Apprise, with semicolons between them."""
    contact: str = ""
    """The address of a page about this installation, for the owners of servers; without it the mail address stands."""
    mail: str = Field(default_factory=lambda: f"tarantula@{gethostname()}")
    """The mail address of whoever runs this installation, for the ``From`` header of every request."""
    gateway: str = ""
    """The gateway that the search pages ask, as ``http://127.0.0.1:7700``; the index in the home unless told."""
    suggestions: str = "suggestions"
    """The publication under which URLs are collected that people suggest."""
    on_decision: str = ""
    """Import paths of functions that are told when an item is validated or rejected, separated by semicolons."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = (f"TARANTULA_{str(one['loc'][0]).upper()}: {_complaint(one)}" for one in error.errors())
            raise TarantulaError(" ".join(problems)) from error

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str) -> str:
        return parse_zone(name)

    @property
    def zone(self) -> tzinfo:
        """The time zone of publications that name none."""
        return zone_named(self.timezone)

    @property
    def items(self) -> Path:
        """Where the bodies of items are."""
        return self.home / "items"

    @property
    def archived(self) -> Path:
        """Where the browsable copies of archived items are."""
        return self.home / "archived"

    @cached_property
    def url(self) -> str:
        """The database's URL, in SQLAlchemy's form."""
        if not self.database_url:
            return f"sqlite:///{self.home / 'tarantula.sqlite'}"
        return self.database_url.replace("postgres://", "postgresql://", 1)

    @property
    def user_agent(self) -> str:
        """The User-Agent header of every request."""
        return f"Mozilla/5.0 (compatible; Tarantula/{__version__}; +{self.contact or 'mailto:' + self.mail})"

    def make_home(self) -> Path:
        """Create the home directory, or say why it cannot be used."""
        try:
            self.items.mkdir(parents=True, exist_ok=True)
            probe = self.home / ".writable"
            probe.touch()
            probe.unlink(missing_ok=True)
            if not (replay := self.home / "config.yaml").exists():
                replay.write_text(PYWB_CONFIG)
        except OSError as error:
            raise TarantulaError(
                f"The home {self.home} cannot be written ({error.strerror}). "
                "Free some room, mend its permissions, or name another with TARANTULA_HOME."
            ) from error
        return self.home


def _complaint(details: ErrorDetails) -> str:
    return str(details["ctx"]["error"]) if details["type"] == "value_error" else f"{details['msg']}."
