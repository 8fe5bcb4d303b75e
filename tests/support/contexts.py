"""Service contexts of test users, and the entries of the audit log."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import AuditEntry
from tarantula.services.context import ServiceContext


def context_of(database: Database, role: Role = Role.CURATOR, name: str = "ana") -> ServiceContext:
    """Return the context of a person, in the installation that the environment names."""
    return ServiceContext(Config(), database, Person(name, role))


def audit_details(database: Database) -> list[dict[str, Any]]:
    """Return the details of all audit entries, oldest first."""
    with database.reading() as session:
        return [row.detail for row in session.scalars(select(AuditEntry).order_by(AuditEntry.id))]


def audit_entries(database: Database) -> list[tuple[str, str, str]]:
    """Return person, action and subject of all audit entries, oldest first."""
    with database.reading() as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(row.who, row.action, row.subject) for row in rows]
