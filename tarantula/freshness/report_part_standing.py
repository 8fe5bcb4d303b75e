"""How fresh a publication is believed to be, and how its last belief did: what a report says of a refresh item."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from tarantula.freshness.report import Calibration, calibration_of
from tarantula.tables.publications import Item

SAMPLE_ROWS = 100_000
"""Rows that a report looks at: enough to say how fresh all pages are to half a percent, and read in a second or two."""


@dataclass(frozen=True, slots=True)
class FreshnessEstimate:
    """How many pages are believed to be as they were last seen."""

    at: str
    pages: int
    """Of which this was counted; they are a fair sample where the item has more."""
    is_sample: bool
    share: float
    error: float
    """One standard error: pages change by accident, and a sample is not all of them."""


@dataclass(frozen=True, slots=True)
class FreshnessReport:
    """What is believed of a refresh item."""

    freshness: FreshnessEstimate | None
    """None where nothing was collected, or where `tarantula[revisit]` is not installed."""
    calibration: Calibration
    sentences: list[str]
    """Both in words."""


def freshness_report(session: Session, item: Item, now: datetime | None = None) -> FreshnessReport | None:
    """Return how fresh a refresh item is believed to be, and how that belief did; nothing of other items."""
    if item.refreshes_id is None:
        return None
    fresh, calibration = _freshness(session, item, _moment(session, item, now)), calibration_of(session, item)
    said = []
    if fresh is not None:
        of = "a sample of " if fresh.is_sample else ""
        said.append(
            f"At {fresh.at} {100 * fresh.share:.1f} ± {100 * fresh.error:.1f} % of its pages are believed to be as on "
            f"their servers, by {of}{fresh.pages:,} pages."
        )
    return FreshnessReport(fresh, calibration, said + calibration.sentences)


def _moment(session: Session, item: Item, now: datetime | None) -> datetime:
    """Return when it is asked for: now of the last item, and of earlier ones when they ended."""
    later = exists().where(
        Item.publication_id == item.publication_id, Item.planned_at > item.planned_at, Item.started_at.is_not(None)
    )
    if item.finished_at is not None and session.scalar(select(later)):
        return item.finished_at
    return now or datetime.now(UTC)


def _freshness(session: Session, item: Item, at: datetime) -> FreshnessEstimate | None:
    try:
        from tarantula.freshness.observations_part_sampled import sampled_freshness
    except ModuleNotFoundError:
        return None
    found = sampled_freshness(session, item, at, SAMPLE_ROWS)
    if found is None:
        return None
    pages, share, error, is_sample = found
    return FreshnessEstimate(at.isoformat(timespec="seconds"), pages, is_sample, round(share, 4), round(error, 4))
