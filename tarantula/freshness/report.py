"""Freshness of an incremental item, and the calibration of the estimates against what its visits found.

Calibration needs only the database, so a report is made also where numpy is not installed and plans cannot be made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt
from typing import NamedTuple

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session

from tarantula.models import Item, Visit

BIN_COUNT = 10
"""Bins of predicted probabilities: up to 0.1, up to 0.2, and so on."""
SIGNIFICANT_ERRORS = 3.0
"""Standard errors beyond which a difference is taken as significant."""


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Visits with similar predicted probabilities of a change."""

    at_least: float
    below: float
    visits: int
    foretold: float
    """Mean predicted probability."""
    found: float
    """Share of the visits that found a change."""
    error: float
    """Standard error of that share, if the predictions are right."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predictions for the visits of an item, compared with what they found."""

    planned: int
    made: int
    told: int
    """Visits that showed whether the page had changed; those that failed are left out."""
    foretold: float
    """Expected number of changes among them."""
    error: float
    """Standard error of that number."""
    found: int
    brier: float | None
    """Brier score: 0 for perfect predictions, 0.25 for tossing a coin."""
    brier_of_mean: float | None
    """Brier score of predicting the share of changes found for every page."""
    classes: list[CalibrationBin]

    @property
    def sentences(self) -> list[str]:
        """Return the comparison as sentences."""
        lines = [f"{self.made:,} of {self.planned:,} planned visits were made; {self.told:,} gave a result."]
        if not self.told or self.brier is None or self.brier_of_mean is None:
            return lines
        is_off = abs(self.found - self.foretold) > SIGNIFICANT_ERRORS * max(self.error, 0.5)
        verdict = (
            "The predictions do not hold: they were too certain, or pages changed differently than before."
            if is_off
            else "The predictions hold, within the error."
        )
        lines.append(
            f"{self.foretold:,.1f} ± {self.error:.1f} changes were predicted, and {self.found:,} were found. {verdict}"
        )
        better = "better" if self.brier < self.brier_of_mean else "no better"
        lines.append(
            f"They distinguish pages {better} than one probability for all pages: "
            f"Brier score {self.brier:.3f}, compared with {self.brier_of_mean:.3f}."
        )
        return lines


def calibration_of(session: Session, item: Item) -> Calibration:
    """Compare the visits of an item with the predictions for them."""
    visits = select(func.count(), func.count(Visit.made_at)).where(Visit.item_id == item.id)
    planned, made = session.execute(visits).one()
    rows = _sum_bins(session, item.id)
    told = sum(row.visits for row in rows)
    found = round(sum(row.found for row in rows))
    share = found / told if told else 0.0
    return Calibration(
        planned=planned,
        made=made,
        told=told,
        foretold=round(sum(row.foretold for row in rows), 2),
        error=round(sqrt(max(sum(row.spread for row in rows), 0.0)), 2),
        found=found,
        brier=round(sum(row.missed for row in rows) / told, 5) if told else None,
        brier_of_mean=round(share * (1 - share), 5) if told else None,
        classes=[
            CalibrationBin(
                at_least=row.place / BIN_COUNT,
                below=(row.place + 1) / BIN_COUNT,
                visits=row.visits,
                foretold=round(row.foretold / row.visits, 4),
                found=round(row.found / row.visits, 4),
                error=round(sqrt(max(row.spread, 0.0)) / row.visits, 4),
            )
            for row in rows
        ],
    )


class _BinSums(NamedTuple):
    """Sums over one bin of predicted probabilities."""

    place: int
    visits: int
    foretold: float
    found: float
    spread: float
    missed: float


def _sum_bins(session: Session, item_id: int) -> list[_BinSums]:
    changed = case((Visit.changed.is_(True), 1.0), else_=0.0)
    missed = Visit.believed - changed
    borders = ((Visit.believed < (place + 1) / BIN_COUNT, place) for place in range(BIN_COUNT - 1))
    place = case(*borders, else_=BIN_COUNT - 1).label("place")
    rows = session.execute(
        select(
            place,
            func.count(),
            func.sum(Visit.believed),
            func.sum(changed),
            func.sum(Visit.believed * (1.0 - Visit.believed)),
            func.sum(missed * missed),
        )
        .where(Visit.item_id == item_id, Visit.made_at.is_not(None), Visit.changed.is_not(None))
        .group_by(place)
        .order_by(place)
    )
    return [_BinSums(number, visits, *map(float, sums)) for number, visits, *sums in rows]


SAMPLE_ROWS = 100_000
"""Rows that a report samples: the standard error is half a percent, and reading them takes a second or two."""


@dataclass(frozen=True, slots=True)
class FreshnessEstimate:
    """Estimated share of pages that have not changed since their last visit."""

    at: str
    pages: int
    """Pages in the estimate; a random sample if the item has more."""
    is_sample: bool
    share: float
    error: float
    """Standard error: pages change at random, and a sample is not all of them."""


@dataclass(frozen=True, slots=True)
class FreshnessReport:
    """Freshness and calibration of a refresh item."""

    freshness: FreshnessEstimate | None
    """``None`` if nothing was collected, or `tarantula[revisit]` is not installed."""
    calibration: Calibration
    sentences: list[str]
    """Both as sentences."""


def freshness_report(session: Session, item: Item, now: datetime | None = None) -> FreshnessReport | None:
    """Return the freshness and calibration of a refresh item; ``None`` for other items."""
    if item.refreshes_id is None:
        return None
    fresh, calibration = _freshness(session, item, _estimate_time(session, item, now)), calibration_of(session, item)
    lines = []
    if fresh is not None:
        of = "a sample of " if fresh.is_sample else ""
        lines.append(
            f"At {fresh.at} an estimated {100 * fresh.share:.1f} ± {100 * fresh.error:.1f} % of its pages are up to "
            f"date, from {of}{fresh.pages:,} pages."
        )
    return FreshnessReport(fresh, calibration, lines + calibration.sentences)


def _estimate_time(session: Session, item: Item, now: datetime | None) -> datetime:
    """Return the time of the estimate: now for the last item, the end for an item that was continued."""
    later = exists().where(
        Item.publication_id == item.publication_id, Item.planned_at > item.planned_at, Item.started_at.is_not(None)
    )
    if item.finished_at is not None and session.scalar(select(later)):
        return item.finished_at
    return now or datetime.now(UTC)


def _freshness(session: Session, item: Item, at: datetime) -> FreshnessEstimate | None:
    try:
        from tarantula.freshness.observations import sampled_freshness
    except ModuleNotFoundError:
        return None
    found = sampled_freshness(session, item, at, SAMPLE_ROWS)
    if found is None:
        return None
    pages, share, error, is_sample = found
    return FreshnessEstimate(at.isoformat(timespec="seconds"), pages, is_sample, round(share, 4), round(error, 4))
