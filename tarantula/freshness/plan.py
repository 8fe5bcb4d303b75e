"""Plan visits to the pages of a publication, and estimate the freshness that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState, Validation
from tarantula.freshness.limits import MAX_VISITS, ServerLimit, server_limits
from tarantula.freshness.observations import read_observations
from tarantula.models import Document, Item, Publication
from tarantula.revisit.model import Floats, Ints, weighted_mean
from tarantula.revisit.planning.policies import DEFAULT_POLICY, planning_policy, uniform
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages, expected_freshness, visit_gaps
from tarantula.revisit.rates.estimates import RateEstimates, estimate_rates
from tarantula.revisit.rates.gamma import change_probabilities
from tarantula.revisit.rates.last_modified import LastModifiedTrust
from tarantula.revisit.schedule import Schedule
from tarantula.store.listings import IS_COLLECTED

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
