"""Desks of people of each role."""

from __future__ import annotations

from tarantula.config import Config
from tarantula.db import Database
from tarantula.management.desk import Desk
from tarantula.people.person import Person
from tarantula.people.roles import Role


def desk_of(config: Config, database: Database, role: Role = Role.CURATOR) -> Desk:
    """Return where somebody of a role works."""
    return Desk(config, database, Person(f"a-{role}", role))
