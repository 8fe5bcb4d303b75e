"""Service context: an installation, its database and the person who acts, with audited transactions."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from tarantula.accounts import audit, sessions
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.store.database import open_database


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """An installation and the person who uses it."""

    installation: Config
    database: Database
    person: Person
    is_local: bool = False
    """Whether the person typed a command on this machine: they can read the database anyway, so nothing is hidden."""

    @property
    def viewer(self) -> str | None:
        """Name of the account whose view of private sources and alerts applies; ``None`` shows those of all."""
        return None if self.is_local else self.person.name

    @property
    def may_run_code(self) -> bool:
        """Whether the person may name code to run: on the command line, or as an administrator if this is enabled."""
        return self.is_local or (self.installation.web_components and self.person.role.allows(Role.ADMINISTRATOR))

    @contextmanager
    def reading(self, needed: Role = Role.READER) -> Iterator[Session]:
        """Open a read-only session, if the person has the role *needed*."""
        self.person.check(needed)
        with self.database.reading() as session:
            yield session

    @contextmanager
    def changing(self, action: str, subject: str, needed: Role = Role.CURATOR, **detail: Any) -> Iterator[Session]:
        """Open a session that commits with an entry in the audit log, if the person has the role *needed*."""
        self.person.check(needed)
        with self.database.session() as session:
            sessions.check_session(session, self.person, needed)
            yield session
            audit.record(session, self.person, action, subject, **detail)


@contextmanager
def local_context() -> Iterator[ServiceContext]:
    """Open the installation for a command: the operating system's user acts as an administrator."""
    installation = Config()
    with open_database(installation) as database:
        yield ServiceContext(installation, database, Person(login_name(), Role.ADMINISTRATOR), is_local=True)


def login_name() -> str:
    """Return the name of the operating system's user; empty if the system has none for it, as in some containers."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""
