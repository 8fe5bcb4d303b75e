"""Whatever chooses visits, by its name, for pages of different ages and servers with pauses of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import ModelReading
from tarantula.revisit.pages import Pages, VisitLimits
from tarantula.revisit.planning.policies import enforce_pauses
from tarantula.revisit.planning.policies_part_aged import aged, allocate_aged
from tarantula.revisit.planning.policies_part_lasting import lasting
from tarantula.revisit.planning.policies_part_uniform import uniform
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages
from tarantula.revisit.policies import POLICIES, RevisitPolicy
from tarantula.revisit.schedule import Schedule

PlanningPolicy = Callable[[UncertainPages, PerServerLimits], Schedule]

PLANNING_POLICIES: dict[str, PlanningPolicy] = {"lasting": lasting, "aged": aged, "uniform": uniform}

DEFAULT_POLICY = "lasting"
"""What collections use, unless told."""


def planning_policy(name: str) -> PlanningPolicy:
    """Return what chooses visits by that name: it knows ages, or supposes that all pages were seen just now."""
    if name in PLANNING_POLICIES:
        return PLANNING_POLICIES[name]
    if name not in POLICIES:
        raise TarantulaError(
            f"There is no policy {name[:40]}. There are: {', '.join((*POLICIES, *PLANNING_POLICIES))}."
        )
    return lambda believed, pauses: _by_pause(POLICIES[name], believed, pauses)


def policy_for_known_rates(name: str) -> RevisitPolicy:
    """Return what chooses visits by that name, for pages whose rates are known and that were all seen just now."""
    if name in POLICIES:
        return POLICIES[name]
    choose = planning_policy(name)
    return lambda pages, limits, _reading: choose(
        UncertainPages.known(pages),
        PerServerLimits(limits.horizon, np.full(len(pages.starts) - 1, limits.politeness), limits.visits),
    )


def _by_pause(policy: RevisitPolicy, believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Ask a policy for the servers of each pause by themselves, with as many visits as are best made to them."""
    visits, of_page = allocate_aged(believed, pauses), pauses.ticks[believed.pages.servers]
    times, takers = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for pause in np.unique(of_page[np.isfinite(of_page)]):
        own = np.flatnonzero(of_page == pause)
        if not visits[own].sum():
            continue
        _, servers = np.unique(believed.pages.servers[own], return_inverse=True)
        pages = Pages.of(believed.pages.rates[own], servers, believed.pages.weights[own])
        made = policy(pages, VisitLimits(pauses.horizon, float(pause), int(visits[own].sum())), ModelReading.FRESH)
        times.append(made.times)
        takers.append(own[pages.order[made.pages]])
    return enforce_pauses(np.concatenate(times), np.concatenate(takers), believed, pauses)
