"""Where one person works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from tarantula.accounts import audit, sessions
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """An installation, seen by somebody."""

    installation: Config
    database: Database
    person: Person

    @contextmanager
    def reading(self, needed: Role = Role.READER) -> Iterator[Session]:
        """Give a session in which nothing is changed, to whoever may look."""
        self.person.check(needed)
        with self.database.reading() as session:
            yield session

    @contextmanager
    def changing(self, action: str, subject: str, needed: Role = Role.CURATOR, **detail: Any) -> Iterator[Session]:
        """Give a session that is committed at the end with a line in the audit log, to whoever may change it."""
        self.person.check(needed)
        with self.database.session() as session:
            sessions.check_session(session, self.person, needed)
            yield session
            audit.record(session, self.person, action, subject, **detail)
