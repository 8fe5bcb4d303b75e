"""What of a publication would be visited when, and what freshness that buys."""

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
"""What a page counts: the same as any other, or the less the farther it is from the base document."""


@dataclass(frozen=True)
class VisitPlan:
    """Visits in the order of their times."""

    publication: str
    item: Item
    """What is kept fresh."""
    begins_at: datetime
    horizon: float
    """Seconds."""
    policy: str
    documents: Ints
    """The row of each visit's document in the item."""
    due: Floats
    """Seconds from the beginning."""
    gaps: Floats
    """Seconds since each visit's document was seen before, by then."""
    believed: Floats
    """The chance of a change in that gap."""
    rates: Floats
    """The rate of changes, in a second, that gives just this chance: near the mean of those that are believed in."""
    pages: Ints
    """Which of the pages of `Beliefs` each visit is to."""
    beliefs: RateEstimates
    ages: Floats
    """Seconds since each page was last seen, when the plan begins."""
    limits: list[ServerLimit]
    honesty: LastModifiedTrust
    fresh: Floats
    """How fresh each page is believed to be, over the horizon, if it is visited so."""
    fresh_uniform: Floats
    """The same if all pages are visited equally often, by as many visits."""
    fresh_unvisited: Floats
    """The same if none is visited."""
    weights: Floats

    def __len__(self) -> int:
        return len(self.documents)

    def freshness(self, of_pages: Floats) -> float:
        """Return the mean of what is believed of pages, by their weights."""
        return weighted_mean(of_pages, self.weights)

    @property
    def fresh_now(self) -> Floats:
        """How likely each page is as it was last seen, when the plan begins."""
        return 1.0 - change_probabilities(self.ages, self.beliefs.shapes, self.beliefs.scales)


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
    """Plan visits to the pages of an item, the last one unless told, or say why that cannot be done."""
    begins_at = begins_at or datetime.now(UTC)
    item = item or newest_usable_item(session, publication)
    choose, weigh = planning_policy(policy), _weights(weights)
    _check(horizon, visits)
    known = read_observations(session, item)
    beliefs = estimate_rates(known.ledger)
    if not len(beliefs.histories):
        raise TarantulaError(f"Item {item.urn} has no page that could be visited again.")
    limits = server_limits(session, publication, known.servers)
    servers, numbers = np.unique(beliefs.histories.servers, return_inverse=True)
    pauses = _pauses([limits[server] for server in servers], horizon, visits)
    ages = np.maximum(begins_at.timestamp() - beliefs.histories.seen, 0.0)
    weighed = weigh(beliefs.histories.depths)
    believed = UncertainPages.of(beliefs.shapes, beliefs.scales, ages, numbers.astype(np.int64), weighed)
    schedule = choose(believed, pauses)
    order = np.argsort(schedule.times, kind="stable")
    gaps, pages = visit_gaps(schedule, believed)[order], schedule.pages[order]
    foretold = change_probabilities(gaps, believed.shapes[pages], believed.scales[pages])
    own = believed.pages.order
    return VisitPlan(
        publication=publication.name,
        item=item,
        begins_at=begins_at,
        horizon=horizon,
        policy=policy,
        documents=beliefs.histories.documents[own[pages]],
        due=schedule.times[order],
        gaps=gaps,
        believed=foretold,
        rates=_rates(foretold, gaps),
        pages=own[pages],
        beliefs=beliefs,
        ages=ages,
        limits=limits,
        honesty=known.ledger.honesty,
        fresh=_in_order(expected_freshness(schedule, believed, horizon), own),
        fresh_uniform=_in_order(expected_freshness(_as_many(believed, pauses, len(order)), believed, horizon), own),
        fresh_unvisited=_in_order(expected_freshness(_as_many(believed, pauses, 0), believed, horizon), own),
        weights=weighed,
    )


def newest_usable_item(session: Session, publication: Publication) -> Item:
    """Return the newest item that a plan can stand on: one that is whole, or else one that has collected something."""
    newest = (
        select(Item)
        .where(Item.publication_id == publication.id, Item.validation != Validation.REJECTED)
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
        f"The publication {publication.name} has no item yet whose pages could be visited again. "
        f"`tarantula crawl {publication.name}` collects one."
    )


def _check(horizon: float, visits: int | None) -> None:
    if not 0 < horizon < inf:
        raise TarantulaError("The horizon is a time longer than nothing.")
    if visits is not None and visits < 1:
        raise TarantulaError("A plan has at least one visit.")


def _pauses(limits: list[ServerLimit], horizon: float, visits: int | None) -> PerServerLimits:
    shortest = min(limit.pause for limit in limits)
    if shortest == inf:
        raise TarantulaError("All servers that have pages of the item are excluded: nothing could be planned.")
    if horizon < shortest:
        raise TarantulaError(
            f"The horizon of {horizon:g} s is shorter than the {shortest:g} s between two visits: "
            "nothing could be planned. Choose a longer one."
        )
    most = np.array([inf if limit.visits is None else limit.visits for limit in limits])
    return PerServerLimits(horizon, np.array([limit.pause for limit in limits]), visits or MAX_VISITS, most)


def _weights(name: str) -> Callable[[Ints], Floats]:
    if name not in PAGE_WEIGHTS:
        raise TarantulaError(f"There are no weights {name[:40]!r}. Choose {', '.join(PAGE_WEIGHTS)}.")
    return PAGE_WEIGHTS[name]


def _as_many(believed: UncertainPages, pauses: PerServerLimits, visits: int) -> Schedule:
    return uniform(believed, pauses._replace(visits=visits))


def _rates(chance: Floats, gaps: Floats) -> Floats:
    # A chance that rounding made certain would need an infinite rate.
    return -np.log1p(-np.minimum(chance, 1.0 - 1e-12)) / np.maximum(gaps, 1e-6)


def _in_order(fresh: Floats, order: Ints) -> Floats:
    """Return what is known of pages by their servers in the order in which they were given."""
    given = np.empty_like(fresh)
    given[order] = fresh
    return given
