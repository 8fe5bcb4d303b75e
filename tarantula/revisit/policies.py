"""Policies: which page should be visited when. What happens when crawlers are late is phase 3, the same for all."""

from __future__ import annotations

from typing import Protocol

from tarantula.revisit.model import ModelReading
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.phases import allocate
from tarantula.revisit.phases.merge import even_visits, merge_visits
from tarantula.revisit.policies_part_slotted import slotted
from tarantula.revisit.schedule import Schedule


class RevisitPolicy(Protocol):
    """Says when each page is due."""

    def __call__(self, pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
        """Return the visits of a horizon."""
        ...


def psp(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Give visits to pages within what their servers allow, and spread those of a server evenly: the policy of 2007."""
    return merge_visits(
        allocate.cached_allocation(allocate.allocate_politely, pages, limits, reading), pages, limits, reading
    )


def mp2(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Give visits to pages as PSP does, and spread those of each page evenly, whatever else its server is asked for."""
    return even_visits(
        allocate.cached_allocation(allocate.allocate_politely, pages, limits, reading), pages, limits, reading
    )


def m_wolf(pages: Pages, limits: VisitLimits, reading: ModelReading) -> Schedule:
    """Give visits to pages as Wolf does, as if servers had no limit, and spread those of each page evenly."""
    return even_visits(
        allocate.cached_allocation(allocate.allocate_impolitely, pages, limits, reading), pages, limits, reading
    )


POLICIES: dict[str, RevisitPolicy] = {"psp": psp, "mp2": mp2, "m-wolf": m_wolf, "slotted": slotted}
