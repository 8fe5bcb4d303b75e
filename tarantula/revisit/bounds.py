"""How stale pages are at least, by what is left out of account."""

from __future__ import annotations

from typing import Protocol

from tarantula.revisit import allocate
from tarantula.revisit.bound import polite_bound
from tarantula.revisit.model import Ints, Reading, freshness, mean
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.policies import psp
from tarantula.revisit.schedule import staleness_of


class Bound(Protocol):
    """Says how stale pages are at least."""

    def __call__(self, pages: Pages, limits: Limits, reading: Reading) -> float:
        """Return the staleness."""
        ...


def non_polite(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness if only the visits in all were limited."""
    return evenly(allocate.phase_1(allocate.impolite, pages, limits, reading), pages, limits, reading)


def weak_politeness(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness if servers limited how often they are asked, but not when."""
    return evenly(allocate.phase_1(allocate.polite, pages, limits, reading), pages, limits, reading)


def infinite_crawlers(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness if a crawler were free whenever PSP has a page due."""
    return staleness_of(psp(pages, limits, reading), pages, limits, reading)


BOUNDS: dict[str, Bound] = {
    "NonPolite": non_polite,
    "WP": weak_politeness,
    "PoliteBound": polite_bound,
    "InfCrawlers": infinite_crawlers,
}


def bounds(pages: Pages, limits: Limits, reading: Reading) -> dict[str, float]:
    """Return all of them by their names."""
    return {name: bound(pages, limits, reading) for name, bound in BOUNDS.items()}


def evenly(visits: Ints, pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness of pages that are visited so often, each at even intervals."""
    return 1.0 - mean(freshness(visits, pages.changes(limits.horizon), reading), pages.weights)
