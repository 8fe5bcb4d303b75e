"""Policies: which page should be visited when. What happens when crawlers are late is phase 3, the same for all."""

from __future__ import annotations

from typing import Protocol

from tarantula.revisit.model import Reading
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.phases import allocate
from tarantula.revisit.phases.merge import merge, wished
from tarantula.revisit.policies_part_slotted import slotted
from tarantula.revisit.schedule import Schedule


class Policy(Protocol):
    """Says when each page is due."""

    def __call__(self, pages: Pages, limits: Limits, reading: Reading) -> Schedule:
        """Return the visits of a horizon."""
        ...


def psp(pages: Pages, limits: Limits, reading: Reading) -> Schedule:
    """Give visits to pages within what their servers allow, and spread those of a server evenly: the policy of 2007."""
    return merge(allocate.phase_1(allocate.polite, pages, limits, reading), pages, limits, reading)


def mp2(pages: Pages, limits: Limits, reading: Reading) -> Schedule:
    """Give visits to pages as PSP does, and spread those of each page evenly, whatever else its server is asked for."""
    return wished(allocate.phase_1(allocate.polite, pages, limits, reading), pages, limits, reading)


def m_wolf(pages: Pages, limits: Limits, reading: Reading) -> Schedule:
    """Give visits to pages as Wolf does, as if servers had no limit, and spread those of each page evenly."""
    return wished(allocate.phase_1(allocate.impolite, pages, limits, reading), pages, limits, reading)


POLICIES: dict[str, Policy] = {"psp": psp, "mp2": mp2, "m-wolf": m_wolf, "slotted": slotted}
