"""How stale pages are at least, by what is left out of account."""

from __future__ import annotations

from typing import Protocol

from tarantula.revisit.bounds import polite_bound
from tarantula.revisit.changes import Laws, freshness_by_law
from tarantula.revisit.model import ModelReading, even_freshness_of_pages, weighted_mean
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.phases import allocate
from tarantula.revisit.phases.allocate import AllocationFunction
from tarantula.revisit.policies import psp
from tarantula.revisit.schedule import schedule_staleness


class StalenessBound(Protocol):
    """Says how stale pages are at least."""

    def __call__(self, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
        """Return the staleness; Poisson's law holds unless told."""
        ...


def non_polite(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the staleness if only the visits in all were limited."""
    return _evenly(allocate.allocate_impolitely, pages, limits, reading, laws)


def weak_politeness(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the staleness if servers limited how often they are asked, but not when."""
    return _evenly(allocate.allocate_politely, pages, limits, reading, laws)


def politeness(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the staleness that servers and crawlers leave at least; where other laws hold no more is known than WP."""
    return polite_bound(pages, limits, reading) if laws is None else weak_politeness(pages, limits, reading, laws)


def infinite_crawlers(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the staleness if a crawler were free whenever PSP has a page due."""
    return schedule_staleness(psp(pages, limits, reading), pages, limits, reading, laws)


BOUNDS: dict[str, StalenessBound] = {
    "NonPolite": non_polite,
    "WP": weak_politeness,
    "PoliteBound": politeness,
    "InfCrawlers": infinite_crawlers,
}


def all_bounds(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> dict[str, float]:
    """Return all of them by their names."""
    others = laws if laws is not None and laws.any() else None
    return {name: bound(pages, limits, reading, others) for name, bound in BOUNDS.items()}


def _evenly(
    allocation: AllocationFunction, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None
) -> float:
    """Return the staleness of pages that are visited as often as is best, each at even intervals."""
    changes = pages.changes(limits.horizon)
    if laws is None:
        fresh = even_freshness_of_pages(
            allocate.cached_allocation(allocation, pages, limits, reading), changes, reading
        )
    else:
        fresh = freshness_by_law(laws, allocation(pages, limits, reading, laws), changes, reading)
    return 1.0 - weighted_mean(fresh, pages.weights)
