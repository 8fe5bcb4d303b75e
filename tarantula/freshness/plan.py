"""Plan of visits to the pages of a publication: rates, order, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from math import inf, isfinite
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState, Validation
from tarantula.freshness.limits import MAX_VISITS, ServerLimit, server_limits
from tarantula.freshness.observations import read_observations
from tarantula.models import Document, Item, Publication
from tarantula.revisit.model import Floats, Ints, weighted_mean
from tarantula.revisit.planning import (
    DEFAULT_POLICY,
    PerServerLimits,
    UncertainPages,
    expected_freshness,
    planning_policy,
    uniform,
    visit_gaps,
)
from tarantula.revisit.rates.estimates import (
    PRIOR_LEVELS,
    SECONDS_PER_DAY,
    EstimateBasis,
    RateEstimates,
    estimate_rates,
)
from tarantula.revisit.rates.estimators import change_probabilities
from tarantula.revisit.rates.history import LastModifiedTrust
from tarantula.revisit.schedule import Schedule
from tarantula.store.bulk import chunks
from tarantula.store.listings import IS_COLLECTED

DEFAULT_FIRST_VISITS = 20
"""Default number of visits in the summary."""


PAGE_WEIGHTS: dict[str, Callable[[Ints], Floats]] = {
    "equal": lambda depths: np.ones(len(depths)),
    "depth": lambda depths: 1.0 / (1.0 + np.maximum(depths, 0)),
}
"""Weight of a page by its depth: the same for all pages, or less with more depth."""


@dataclass(frozen=True)
class VisitPlan:
    """Planned visits in order of time, and the estimates behind them."""

    publication: str
    item: Item
    """The item whose pages are visited."""
    begins_at: datetime
    horizon: float
    """Seconds."""
    policy: str
    documents: Ints
    """Document id of each visit, in the item."""
    due: Floats
    """Time of each visit, in seconds from the beginning."""
    gaps: Floats
    """Seconds between each visit and the previous visit to its page."""
    believed: Floats
    """Probability of a change in that gap."""
    rates: Floats
    """Changes a second that give this probability; close to the mean of the estimated rates."""
    pages: Ints
    """Which of the pages of `Beliefs` each visit is to."""
    estimates: RateEstimates
    ages: Floats
    """Seconds from the last visit to each page until the plan begins."""
    limits: list[ServerLimit]
    last_modified: LastModifiedTrust
    fresh: Floats
    """Expected freshness of each page over the horizon, with these visits."""
    fresh_uniform: Floats
    """The same with as many visits, to all pages in turn."""
    fresh_unvisited: Floats
    """The same without visits."""
    weights: Floats

    def __len__(self) -> int:
        return len(self.documents)

    def freshness(self, of_pages: Floats) -> float:
        """Return the weighted mean over the pages."""
        return weighted_mean(of_pages, self.weights)

    @property
    def fresh_now(self) -> Floats:
        """Probability that each page has not changed since its last visit, when the plan begins."""
        return 1.0 - change_probabilities(self.ages, self.estimates.shapes, self.estimates.scales)


def plan_visits(
    session: Session,
    publication: Publication,
    *,
    horizon: float,
    begins_at: datetime | None = None,
    visits: int | None = None,
    policy: str = DEFAULT_POLICY,
    weights: str = "equal",
    item: Item | None = None,
) -> VisitPlan:
    """Plan visits to the pages of an item, by default the newest; raise an error if that is impossible."""
    begins_at = begins_at or datetime.now(UTC)
    item = item or newest_usable_item(session, publication)
    choose, weight_of = planning_policy(policy), _weights(weights)
    _check(horizon, visits)
    observed = read_observations(session, item)
    estimates = estimate_rates(observed.ledger)
    if not len(estimates.histories):
        raise TarantulaError("Item {urn} has no page to visit again.", urn=item.urn)
    limits = server_limits(session, publication, observed.servers)
    servers, numbers = np.unique(estimates.histories.servers, return_inverse=True)
    pauses = _pauses([limits[server] for server in servers], horizon, visits)
    ages = np.maximum(begins_at.timestamp() - estimates.histories.seen, 0.0)
    page_weights = weight_of(estimates.histories.depths)
    uncertain = UncertainPages.of(estimates.shapes, estimates.scales, ages, numbers.astype(np.int64), page_weights)
    schedule = choose(uncertain, pauses)
    order = np.argsort(schedule.times, kind="stable")
    gaps, pages = visit_gaps(schedule, uncertain)[order], schedule.pages[order]
    probabilities = change_probabilities(gaps, uncertain.shapes[pages], uncertain.scales[pages])
    own = uncertain.pages.order
    return VisitPlan(
        publication=publication.name,
        item=item,
        begins_at=begins_at,
        horizon=horizon,
        policy=policy,
        documents=estimates.histories.documents[own[pages]],
        due=schedule.times[order],
        gaps=gaps,
        believed=probabilities,
        rates=_rates(probabilities, gaps),
        pages=own[pages],
        estimates=estimates,
        ages=ages,
        limits=limits,
        last_modified=observed.ledger.last_modified,
        fresh=_original_order(expected_freshness(schedule, uncertain, horizon), own),
        fresh_uniform=_original_order(
            expected_freshness(_uniform_schedule(uncertain, pauses, len(order)), uncertain, horizon), own
        ),
        fresh_unvisited=_original_order(
            expected_freshness(_uniform_schedule(uncertain, pauses, 0), uncertain, horizon), own
        ),
        weights=page_weights,
    )


def newest_usable_item(session: Session, publication: Publication) -> Item:
    """Return the newest complete item, or else the newest with a collected document."""
    newest = (
        select(Item)
        .where(Item.publication_id == publication.id, Item.validation != Validation.REJECTED)
        .where(Item.state != ItemState.REMOVING)
        .order_by(Item.planned_at.desc(), Item.id.desc())
    )
    items = list(session.scalars(newest))
    for item in items:
        if item.state in (ItemState.ARCHIVED, ItemState.CONVERTING):
            return item
    for item in items:
        if session.scalar(select(Document.id).where(Document.item_id == item.id, IS_COLLECTED).limit(1)) is not None:
            return item
    raise TarantulaError(
        "The publication {publication} has no item yet whose pages could be visited again. "
        "`tarantula crawl {publication}` collects one.",
        publication=publication.name,
    )


def _check(horizon: float, visits: int | None) -> None:
    if not 0 < horizon < inf:
        raise TarantulaError("The horizon must be longer than 0 seconds.")
    if visits is not None and visits < 1:
        raise TarantulaError("A plan needs at least one visit.")


def _pauses(limits: list[ServerLimit], horizon: float, visits: int | None) -> PerServerLimits:
    shortest = min(limit.pause for limit in limits)
    if shortest == inf:
        raise TarantulaError("Nothing can be planned: all servers with pages of the item are excluded.")
    if horizon < shortest:
        raise TarantulaError(
            "The horizon of {horizon:g} s is shorter than the {shortest:g} s between two visits: "
            "no visit can be planned. Choose a longer horizon.",
            horizon=horizon,
            shortest=shortest,
        )
    most = np.array([inf if limit.visits is None else limit.visits for limit in limits])
    return PerServerLimits(horizon, np.array([limit.pause for limit in limits]), visits or MAX_VISITS, most)


def _weights(name: str) -> Callable[[Ints], Floats]:
    if name not in PAGE_WEIGHTS:
        raise TarantulaError(
            "There are no weights {name!r}. Choose one of {weights}.", name=name[:40], weights=", ".join(PAGE_WEIGHTS)
        )
    return PAGE_WEIGHTS[name]


def _uniform_schedule(uncertain: UncertainPages, pauses: PerServerLimits, visits: int) -> Schedule:
    return uniform(uncertain, pauses._replace(visits=visits))


def _rates(chance: Floats, gaps: Floats) -> Floats:
    # A probability rounded to 1 would need an infinite rate.
    return -np.log1p(-np.minimum(chance, 1.0 - 1e-12)) / np.maximum(gaps, 1e-6)


def _original_order(fresh: Floats, order: Ints) -> Floats:
    """Return the values of pages, which are grouped by server, in their original order."""
    given = np.empty_like(fresh)
    given[order] = fresh
    return given


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
