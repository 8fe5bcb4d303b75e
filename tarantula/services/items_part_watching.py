"""Items, watched while they happen."""

from __future__ import annotations

from tarantula.accounts.roles import Role
from tarantula.progress.snapshot import Watch
from tarantula.services.context import Desk


def watch(desk: Desk, urn: str) -> Watch:
    """Return who looks at an item, for those who may."""
    desk.person.check(Role.READER)
    return Watch(desk.installation, desk.database, urn)
