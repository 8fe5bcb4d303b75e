"""An installation in figures, for whoever watches many machines."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import joinedload

from tarantula.core.states import ALIVE
from tarantula.lifecycle.processes import living
from tarantula.services.context import Desk
from tarantula.services.items_part_item_rows import count
from tarantula.store.listings import Counts
from tarantula.streams.export.prometheus import Labels, last_numbers
from tarantula.tables.publications import Item, Publication


class Figures(NamedTuple):
    """What an installation comes to."""

    publications: int
    items: dict[tuple[str, str], int]
    """By state and validation."""
    collectors: dict[str, int]
    """Processes at work, by machine."""
    under_way: dict[tuple[str, str], Counts]
    """How far items are that have not ended, by publication and urn."""
    finished: dict[str, datetime]
    """When an item of a publication last ended."""
    streams: dict[Labels, float]
    """The last values of public sources, by source, field and row."""


def figures(desk: Desk) -> Figures:
    """Count; documents are counted only where something is under way."""
    with desk.reading() as session:
        by_state = select(Item.state, Item.validation, func.count()).group_by(Item.state, Item.validation)
        finished = (
            select(Publication.name, func.max(Item.finished_at))
            .join(Item, Item.publication_id == Publication.id)
            .where(Item.finished_at.is_not(None))
            .group_by(Publication.name)
        )
        alive = session.scalars(select(Item).where(Item.state.in_(ALIVE)).options(joinedload(Item.publication)))
        hosts = [worker.host for worker in living(session.connection())]
        return Figures(
            publications=session.scalar(select(func.count()).select_from(Publication)) or 0,
            items={(state, validation): number for state, validation, number in session.execute(by_state)},
            collectors={host: hosts.count(host) for host in hosts},
            under_way={(item.publication.name, item.urn): count(session, item.id) for item in alive},
            finished={name: moment for name, moment in session.execute(finished) if moment is not None},
            streams=last_numbers(session),
        )
