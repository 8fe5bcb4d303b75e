"""How stale pages are at least, by what is left out of account."""

from __future__ import annotations

from tarantula.revisit import allocate
from tarantula.revisit.merge import merge
from tarantula.revisit.model import Ints, Reading, freshness, mean
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.policies import psp
from tarantula.revisit.schedule import staleness_of

NON_POLITE, WEAK_POLITENESS, INFINITE_CRAWLERS = "NonPolite", "WP", "InfCrawlers"


def non_polite(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness if only the visits in all were limited: NonPolite."""
    return evenly(allocate.impolite(pages, limits, reading), pages, limits, reading)


def weak_politeness(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness if servers limited how often they are asked, but not when: WP."""
    return evenly(allocate.polite(pages, limits, reading), pages, limits, reading)


def infinite_crawlers(pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness if a crawler were free whenever PSP has a page due: InfCrawlers."""
    return staleness_of(psp(pages, limits, reading), pages, limits, reading)


def bounds(pages: Pages, limits: Limits, reading: Reading) -> dict[str, float]:
    """Return all of them by their names of 2007."""
    visits = allocate.polite(pages, limits, reading)
    return {
        NON_POLITE: non_polite(pages, limits, reading),
        WEAK_POLITENESS: evenly(visits, pages, limits, reading),
        INFINITE_CRAWLERS: staleness_of(merge(visits, pages, limits, reading), pages, limits, reading),
    }


def evenly(visits: Ints, pages: Pages, limits: Limits, reading: Reading) -> float:
    """Return the staleness of pages that are visited so often, each at even intervals."""
    return 1.0 - mean(freshness(visits, pages.changes(limits.horizon), reading), pages.weights)
