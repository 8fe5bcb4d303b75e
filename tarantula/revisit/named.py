"""Policies that suppose one pause for all servers, and pages that were all seen just now, for servers and pages as they
are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tarantula.revisit.aged import Believed, Pauses, allocate, apart
from tarantula.revisit.model import Reading
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.policies import Policy, policy_named
from tarantula.revisit.schedule import Schedule


def polite_policy(name: str) -> Callable[[Believed, Pauses], Schedule]:
    """Return a policy by its name, for servers with pauses of their own."""
    policy = policy_named(name)
    return lambda believed, pauses: _by_pause(policy, believed, pauses)


def _by_pause(policy: Policy, believed: Believed, pauses: Pauses) -> Schedule:
    """Ask a policy for the servers of each pause by themselves, with as many visits as are best made to them."""
    visits, of_page = allocate(believed, pauses), pauses.ticks[believed.pages.servers]
    times, takers = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for pause in np.unique(of_page[np.isfinite(of_page)]):
        own = np.flatnonzero(of_page == pause)
        if pause > pauses.horizon or not visits[own].sum():
            continue
        _, servers = np.unique(believed.pages.servers[own], return_inverse=True)
        pages = Pages.of(believed.pages.rates[own], servers, believed.pages.weights[own])
        made = policy(pages, Limits(pauses.horizon, float(pause), int(visits[own].sum())), Reading.FRESH)
        times.append(made.times)
        takers.append(own[pages.order[made.pages]])
    return apart(np.concatenate(times), np.concatenate(takers), believed, pauses)
