"""The installation at a glance: running items, items that need attention, due publications, and metrics."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from tarantula.core.reasons import reason_fields
from tarantula.core.states import ACTIVE_ITEM_STATES
from tarantula.models import Item, Publication
from tarantula.services.context import ServiceContext
from tarantula.services.fixity import FixityTotals, fixity_totals
from tarantula.services.machines import DrainedRow, drained_machines
from tarantula.services.publications import PublicationRow, publication_rows
from tarantula.store.listings import DocumentCounts, attention_fields, document_counts, is_undecided
from tarantula.store.liveness import live_collectors
from tarantula.streams.export import MetricLabels, last_numbers

LIST_LENGTH = 10
"""Rows of each list."""


class ItemBrief(BaseModel):
    """An item without document counts."""

    model_config = ConfigDict(frozen=True)

    urn: str
    publication: str
    state: str
    validation: str
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    """English sentence of the reason."""
    reason_code: str | None
    reason_parameters: dict[str, Any] | None
    attention: list[str]
    """English sentences of `attention_reasons`."""
    attention_reasons: list[dict[str, Any]]


class Overview(BaseModel):
    """The installation at a glance."""

    model_config = ConfigDict(frozen=True)

    publications: int
    items: int
    under_way: list[ItemBrief]
    attention: list[ItemBrief]
    """Items that need attention: undecided ones, and accepted ones that were damaged since."""
    due: list[PublicationRow]
    """Publications that are collected next, the earliest first."""
    latest: list[ItemBrief]
    """Items that ended last."""
    drained: list[DrainedRow]
    """Machines that are being emptied."""
    fixity: FixityTotals


def get_overview(context: ServiceContext) -> Overview:
    """Return the overview; it counts no documents, so that it is fast on any installation."""
    with context.reading() as session:
        rows = publication_rows(context.installation, session)
        return Overview(
            publications=len(rows),
            items=session.scalar(select(func.count()).select_from(Item)) or 0,
            under_way=_briefs(session, Item.state.in_(ACTIVE_ITEM_STATES), Item.id.desc()),
            attention=_needing_attention(session),
            due=sorted((row for row in rows if row.next_due), key=lambda row: (row.next_due, row.name))[:LIST_LENGTH],
            latest=_briefs(session, Item.finished_at.is_not(None), Item.finished_at.desc(), limit=LIST_LENGTH),
            drained=drained_machines(session),
            fixity=fixity_totals(session),
        )


def _needing_attention(session: Session) -> list[ItemBrief]:
    chosen = Item.attention.is_not(None) & is_undecided()
    return [brief for brief in _briefs(session, chosen, Item.id.desc()) if brief.attention][:LIST_LENGTH]


def _briefs(session: Session, which: object, order: object, limit: int | None = None) -> list[ItemBrief]:
    items = session.scalars(select(Item).where(which).order_by(order).limit(limit))  # type: ignore[arg-type]
    return [_brief(item) for item in items]


def _brief(item: Item) -> ItemBrief:
    return ItemBrief(
        urn=item.urn,
        publication=item.publication.name,
        state=item.state,
        validation=item.validation,
        started_at=item.started_at,
        finished_at=item.finished_at,
        **reason_fields(item.reason),
        **attention_fields(item),
    )


class InstallationMetrics(NamedTuple):
    """Figures of an installation, for monitoring."""

    publications: int
    items: dict[tuple[str, str], int]
    """Item counts by state and validation."""
    collectors: dict[str, int]
    """Collector processes by host."""
    paused: dict[tuple[str, str], int]
    """Those that pause, by host and reason."""
    under_way: dict[tuple[str, str], DocumentCounts]
    """Document counts of running items, by publication and urn."""
    finished: dict[str, datetime]
    """When the last item of each publication ended."""
    streams: dict[MetricLabels, float]
    """Last values of public sources, by source, field and row."""
    fixity: FixityTotals


def collect_metrics(context: ServiceContext) -> InstallationMetrics:
    """Return the metrics of the installation; documents are counted for running items only."""
    with context.reading() as session:
        by_state = select(Item.state, Item.validation, func.count()).group_by(Item.state, Item.validation)
        finished = (
            select(Publication.name, func.max(Item.finished_at))
            .join(Item, Item.publication_id == Publication.id)
            .where(Item.finished_at.is_not(None))
            .group_by(Publication.name)
        )
        running = session.scalars(
            select(Item).where(Item.state.in_(ACTIVE_ITEM_STATES)).options(joinedload(Item.publication))
        ).all()
        counts = document_counts(session, running)
        workers = live_collectors(session.connection())
        hosts = [worker.host for worker in workers]
        paused = [(worker.host, worker.paused_for) for worker in workers if worker.paused_for is not None]
        return InstallationMetrics(
            publications=session.scalar(select(func.count()).select_from(Publication)) or 0,
            items={(state, validation): number for state, validation, number in session.execute(by_state)},
            collectors={host: hosts.count(host) for host in hosts},
            paused={names: paused.count(names) for names in paused},
            under_way={(item.publication.name, item.urn): counts[item.id] for item in running},
            finished={name: moment for name, moment in session.execute(finished) if moment is not None},
            streams=last_numbers(session),
            fixity=fixity_totals(session),
        )
