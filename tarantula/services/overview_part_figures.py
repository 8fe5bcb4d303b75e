"""An installation in figures, for whoever watches many machines."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import joinedload

from tarantula.core.states import ACTIVE_ITEM_STATES
from tarantula.lifecycle.processes import live_collectors
from tarantula.services.context import ServiceContext
from tarantula.services.items_part_item_rows import count_documents
from tarantula.store.listings import DocumentCounts
from tarantula.streams.export.prometheus import MetricLabels, last_numbers
from tarantula.tables.publications import Item, Publication


class InstallationMetrics(NamedTuple):
    """What an installation comes to."""

    publications: int
    items: dict[tuple[str, str], int]
    """By state and validation."""
    collectors: dict[str, int]
    """Processes at work, by machine."""
    under_way: dict[tuple[str, str], DocumentCounts]
    """How far items are that have not ended, by publication and urn."""
    finished: dict[str, datetime]
    """When an item of a publication last ended."""
    streams: dict[MetricLabels, float]
    """The last values of public sources, by source, field and row."""


def collect_metrics(desk: ServiceContext) -> InstallationMetrics:
    """Count; documents are counted only where something is under way."""
    with desk.reading() as session:
        by_state = select(Item.state, Item.validation, func.count()).group_by(Item.state, Item.validation)
        finished = (
            select(Publication.name, func.max(Item.finished_at))
            .join(Item, Item.publication_id == Publication.id)
            .where(Item.finished_at.is_not(None))
            .group_by(Publication.name)
        )
        alive = session.scalars(
            select(Item).where(Item.state.in_(ACTIVE_ITEM_STATES)).options(joinedload(Item.publication))
        )
        hosts = [worker.host for worker in live_collectors(session.connection())]
        return InstallationMetrics(
            publications=session.scalar(select(func.count()).select_from(Publication)) or 0,
            items={(state, validation): number for state, validation, number in session.execute(by_state)},
            collectors={host: hosts.count(host) for host in hosts},
            under_way={(item.publication.name, item.urn): count_documents(session, item.id) for item in alive},
            finished={name: moment for name, moment in session.execute(finished) if moment is not None},
            streams=last_numbers(session),
        )
