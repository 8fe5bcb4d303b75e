"""Items, watched while they happen."""

from __future__ import annotations

from tarantula.accounts.roles import Role
from tarantula.progress.snapshot import ItemWatch
from tarantula.services.context import ServiceContext


def watch_item(desk: ServiceContext, urn: str) -> ItemWatch:
    """Return who looks at an item, for those who may."""
    desk.person.check(Role.READER)
    return ItemWatch(desk.installation, desk.database, urn)
