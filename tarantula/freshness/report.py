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
"""Of chances: up to a tenth, up to two tenths and so on."""
SIGNIFICANT_ERRORS = 3.0
"""Errors; what is farther from what was foretold is no accident."""


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Visits that were believed to find a change with like chances."""

    at_least: float
    below: float
    visits: int
    foretold: float
    """The mean of their chances."""
    found: float
    """How many of them found one, as a share."""
    error: float
    """By how much that share would differ from the chances by accident: one standard error."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was foretold of visits, and what they found."""

    planned: int
    made: int
    told: int
    """Visits that said whether the page had changed; those that ended in an error said nothing."""
    foretold: float
    """How many of these were believed to find a change."""
    error: float
    """One standard error of that number."""
    found: int
    brier: float | None
    """The mean square of what was missed: 0 if everything was known, 0.25 by tossing a coin."""
    brier_of_mean: float | None
    """The same, had every visit been given the share that was found: what knowing no page from another is worth."""
    classes: list[CalibrationBin]

    @property
    def sentences(self) -> list[str]:
        """Say it in words."""
        said = [f"{self.made:,} of {self.planned:,} planned visits were made; {self.told:,} told of a change or none."]
        if not self.told or self.brier is None or self.brier_of_mean is None:
            return said
        far = abs(self.found - self.foretold) > SIGNIFICANT_ERRORS * max(self.error, 0.5)
        held = "it was too sure of itself, or pages changed otherwise than before" if far else "as far as can be told"
        said.append(
            f"{self.foretold:,.1f} ± {self.error:.1f} changes were foretold, and {self.found:,} were found: "
            f"{'the belief did not hold, ' if far else 'the belief held, '}{held}."
        )
        better = "better" if self.brier < self.brier_of_mean else "no better"
        said.append(
            f"It told pages from one another {better} than one chance for all would have: "
            f"Brier score {self.brier:.3f} against {self.brier_of_mean:.3f}."
        )
        return said


def calibration_of(session: Session, item: Item) -> Calibration:
    """Hold the visits of an item against what was believed of them."""
    visits = select(func.count(), func.count(Visit.made_at)).where(Visit.item_id == item.id)
    planned, made = session.execute(visits).one()
    rows = _tally(session, item.id)
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


class _Tally(NamedTuple):
    """The sums of one class of chances."""

    place: int
    visits: int
    foretold: float
    found: float
    spread: float
    missed: float


def _tally(session: Session, item_id: int) -> list[_Tally]:
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
    return [_Tally(number, visits, *map(float, sums)) for number, visits, *sums in rows]


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
        from tarantula.freshness.observations import sampled_freshness
    except ModuleNotFoundError:
        return None
    found = sampled_freshness(session, item, at, SAMPLE_ROWS)
    if found is None:
        return None
    pages, share, error, is_sample = found
    return FreshnessEstimate(at.isoformat(timespec="seconds"), pages, is_sample, round(share, 4), round(error, 4))
