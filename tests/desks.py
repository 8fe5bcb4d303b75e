"""People at their desks, for tests of what they do."""

from __future__ import annotations

from sqlalchemy import select

from tarantula.config import Config
from tarantula.db import Database
from tarantula.management.desk import Desk
from tarantula.models import AuditEntry
from tarantula.people.person import Person
from tarantula.people.roles import Role


def desk_of(database: Database, role: Role = Role.CURATOR, name: str = "ana") -> Desk:
    """Return the desk of somebody, in the installation that the environment names."""
    return Desk(Config(), database, Person(name, role))


def noted(database: Database) -> list[tuple[str, str, str]]:
    """Return who did what to what, oldest first."""
    with database.reading() as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(row.who, row.action, row.subject) for row in rows]
