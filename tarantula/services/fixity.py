"""Fixity: verify the stored files of items, and show which are verified, missing or damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.archive.damage import DamagedBody, count_lost, list_damage
from tarantula.archive.fixity import ByteProgress, ItemCheck, no_limit, no_progress, verify_item
from tarantula.core.states import ItemState
from tarantula.models import BodyDamage, Item, WarcFile, WarcFileState
from tarantula.services.context import ServiceContext
from tarantula.store.homes import home_place, read_home_id
from tarantula.store.listings import find_item
from tarantula.store.warc_check import ReadCallback
from tarantula.store.warc_files import files_of_item

CHECKED_STATES = (WarcFileState.VERIFIED, WarcFileState.MISSING, WarcFileState.DAMAGED)
"""States of files that were read back."""
ALL_ITEMS = "all items"
"""Subject of the audit log."""
MAX_DAMAGE = 100
"""Damaged bodies that are listed of one item."""

VerificationProgress = Callable[[str], ByteProgress]
"""Returns the progress callback of an item."""


class FileRow(BaseModel):
    """A WARC file of an item."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    state: str
    """open, closed (not read back yet), verified, missing or damaged."""
    size: int | None
    records: int | None
    sha256: str | None
    checked_at: datetime | None


class ItemFiles(BaseModel):
    """The files of an item, and what is lost."""

    urn: str
    verified_at: datetime | None
    """When all its files had been read back."""
    elsewhere: str | None
    """Path and host of the home that has the files, if it is not this one: its daemon checks them."""
    files: list[FileRow]
    lost_bodies: int
    """Documents without a readable body."""
    damage: list[DamagedBody]
    """The first of them."""


class FixityTotals(BaseModel):
    """Files of all items by state."""

    files: dict[str, int]
    """Number by state."""
    bytes: int
    damaged_bodies: int
    oldest_check: datetime | None
    """When the file that was read back longest ago was read; None if there is none."""
    unchecked: int
    """Files that were never read back."""

    @property
    def verified(self) -> int:
        """Files whose last check found nothing wrong."""
        return self.files.get(WarcFileState.VERIFIED, 0)

    @property
    def bad(self) -> int:
        """Files that are missing or damaged."""
        return self.files.get(WarcFileState.MISSING, 0) + self.files.get(WarcFileState.DAMAGED, 0)


def verify(
    context: ServiceContext,
    urns: Sequence[str] = (),
    since: datetime | None = None,
    limiter: ReadCallback = no_limit,
    progress: VerificationProgress = lambda urn: no_progress,
    full: bool = False,
) -> list[ItemCheck]:
    """Read the files of items back, or of all items, and store the results; see `verify_item`."""
    subject = ", ".join(urns) or ALL_ITEMS
    with context.changing("item.verify", subject, needed=Role.CURATOR, full=full) as session:
        chosen = [find_item(session, urn).urn for urn in dict.fromkeys(urns)]
        if not urns:
            chosen = list(session.scalars(select(Item.urn).where(Item.state != ItemState.REMOVING).order_by(Item.id)))
    return [
        verify_item(context.installation, context.database, urn, since, limiter, progress(urn), full) for urn in chosen
    ]


def item_damage(context: ServiceContext, urn: str, limit: int = MAX_DAMAGE) -> list[DamagedBody]:
    """Return documents of an item without a readable body, at most *limit*, with other captures of their bodies."""
    with context.reading() as session:
        return list_damage(session, find_item(session, urn), limit)


def item_files(context: ServiceContext, urn: str) -> ItemFiles:
    """Return the files of an item, and its documents without a readable body."""
    with context.reading() as session:
        item = find_item(session, urn)
        lost, _ = count_lost(session, item)
        is_here = item.home_id in (None, read_home_id(context.installation.home))
        return ItemFiles(
            urn=urn,
            verified_at=item.verified_at,
            elsewhere=None if is_here else home_place(session, item),
            files=[FileRow.model_validate(file) for file in files_of_item(session, item.id)],
            lost_bodies=lost,
            damage=list_damage(session, item, MAX_DAMAGE) if lost else [],
        )


def fixity_totals(session: Session) -> FixityTotals:
    """Count the files of all items."""
    by_state = session.execute(
        select(WarcFile.state, func.count(), func.sum(WarcFile.size)).group_by(WarcFile.state)
    ).all()
    unchecked, oldest = session.execute(
        select(func.count() - func.count(WarcFile.checked_at), func.min(WarcFile.checked_at))
    ).one()
    return FixityTotals(
        files={state: number for state, number, _ in by_state},
        bytes=sum(int(size or 0) for _, _, size in by_state),
        damaged_bodies=session.scalar(select(func.count()).select_from(BodyDamage)) or 0,
        oldest_check=oldest,
        unchecked=unchecked,
    )


def get_totals(context: ServiceContext) -> FixityTotals:
    """Return the number of files of all items by state."""
    with context.reading() as session:
        return fixity_totals(session)
