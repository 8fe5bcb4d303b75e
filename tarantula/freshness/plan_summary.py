"""A visit plan in figures, for people and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.freshness.plan import VisitPlan
from tarantula.models import Document
from tarantula.revisit.rates.estimates import EstimateBasis, RateEstimates
from tarantula.revisit.rates.priors import PRIOR_LEVELS, SECONDS_PER_DAY
from tarantula.store.bulk import chunks

DEFAULT_FIRST_VISITS = 20
"""Default number of visits in the summary."""


@dataclass(frozen=True, slots=True)
class VisitSummary:
    """One visit of a plan."""

    due_at: str
    url: str
    rate_a_day: float
    """Estimated changes a day."""
    chance: float
    """Probability of a change since the last visit to the page."""
    why: str


@dataclass(frozen=True, slots=True)
class ServerPlanSummary:
    """One server of a plan."""

    server: str
    pause: float | None
    """Seconds between two visits; ``None`` if it is excluded."""
    pages: int
    visits: int
    freshness: float
    """Expected freshness of its pages over the horizon."""
    last_modified: str
    """Whether its Last-Modified is trusted, and if not, why."""


@dataclass(frozen=True, slots=True)
class VisitPlanSummary:
    """A plan in figures."""

    publication: str
    item: str
    policy: str
    begins_at: str
    ends_at: str
    horizon: float
    pages: int
    never_revisited: int
    """Pages whose rate is estimated from other pages only."""
    visits: int
    pages_visited: int
    fresh_now: float
    freshness: float
    freshness_uniform: float
    """Freshness with as many visits, to all pages in turn."""
    freshness_unvisited: float
    changes_expected: float
    """Expected number of visits that find a change."""
    servers: list[ServerPlanSummary]
    first_visits: list[VisitSummary]

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON. The keys are a public interface."""
        return asdict(self)


def summarize_plan(session: Session, plan: VisitPlan, first: int = DEFAULT_FIRST_VISITS) -> VisitPlanSummary:
    """Return the figures of a plan, its servers by number of visits, and its first visits."""
    return VisitPlanSummary(
        publication=plan.publication,
        item=plan.item.urn,
        policy=plan.policy,
        begins_at=_moment(plan, 0.0),
        ends_at=_moment(plan, plan.horizon),
        horizon=plan.horizon,
        pages=len(plan.estimates.histories),
        never_revisited=int((plan.estimates.histories.visits == 0).sum()),
        visits=len(plan),
        pages_visited=len(np.unique(plan.pages)),
        fresh_now=_round(plan.freshness(plan.fresh_now)),
        freshness=_round(plan.freshness(plan.fresh)),
        freshness_uniform=_round(plan.freshness(plan.fresh_uniform)),
        freshness_unvisited=_round(plan.freshness(plan.fresh_unvisited)),
        changes_expected=round(float(plan.believed.sum()), 1),
        servers=_servers(plan),
        first_visits=_first_visits(session, plan, first),
    )


def explain_estimate(estimates: RateEstimates, page: int) -> str:
    """Return the evidence for the estimate of a page as text."""
    histories, basis = estimates.histories, EstimateBasis(int(estimates.bases[page]))
    visits, changes = int(histories.visits[page]), int(histories.changes[page])
    counted = f"{visits:,} visit{'s' if visits != 1 else ''}, {changes:,} found a change"
    dated = "; its server dates changes" if basis is EstimateBasis.REPORTED else ""
    if basis is EstimateBasis.REGULAR:
        return f"{counted}; at even intervals"
    if visits:
        return counted + dated
    level = PRIOR_LEVELS[int(estimates.priors.levels[page])]
    others = "nothing is known about any page" if level == "default" else f"estimated from other pages of its {level}"
    return f"never visited again: {others}{dated}"


def _first_visits(session: Session, plan: VisitPlan, first: int) -> list[VisitSummary]:
    documents, pages = plan.documents[:first].tolist(), plan.pages[:first].tolist()
    urls = _urls(session, documents)
    return [
        VisitSummary(
            due_at=_moment(plan, float(due)),
            url=urls[document],
            rate_a_day=float(f"{plan.estimates.rates[page] * SECONDS_PER_DAY:.4g}"),
            chance=_round(float(chance)),
            why=explain_estimate(plan.estimates, page),
        )
        for document, page, due, chance in zip(documents, pages, plan.due, plan.believed, strict=False)
    ]


def _servers(plan: VisitPlan) -> list[ServerPlanSummary]:
    own = plan.estimates.histories.servers
    size = len(plan.limits)
    pages, visits = np.bincount(own, minlength=size), np.bincount(own[plan.pages], minlength=size)
    weights = np.bincount(own, plan.weights, size)
    fresh = np.bincount(own, plan.weights * plan.fresh, size)
    rows = [
        ServerPlanSummary(
            server=limit.server,
            pause=limit.pause if isfinite(limit.pause) else None,
            pages=int(pages[number]),
            visits=int(visits[number]),
            freshness=_round(fresh[number] / weights[number] if weights[number] else 0.0),
            last_modified=plan.last_modified.record(number).distrust_reason or "It is trusted.",
        )
        for number, limit in enumerate(plan.limits)
        if pages[number]
    ]
    return sorted(rows, key=lambda row: (-row.visits, -row.pages, row.server))


def _urls(session: Session, documents: Sequence[int]) -> dict[int, str]:
    urls: dict[int, str] = {}
    for chunk in chunks(documents):
        urls.update(session.execute(select(Document.id, Document.url).where(Document.id.in_(chunk))).all())
    return urls


def _moment(plan: VisitPlan, seconds: float) -> str:
    moment: datetime = plan.begins_at + timedelta(seconds=seconds)
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _round(share: float) -> float:
    return round(float(share), 5)
