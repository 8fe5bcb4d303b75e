"""Items, watched while they happen."""

from __future__ import annotations

from tarantula.management.desk import Desk
from tarantula.people.roles import Role
from tarantula.watch.watch import Watch


def watch(desk: Desk, urn: str) -> Watch:
    """Return who looks at an item, for those who may."""
    desk.person.check(Role.READER)
    return Watch(desk.installation, desk.database, urn)
