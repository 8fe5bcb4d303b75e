"""Whatever chooses visits, by its name, for pages of different ages and servers with pauses of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tarantula.errors import TarantulaError
from tarantula.revisit.aged import aged, allocate
from tarantula.revisit.apart import apart
from tarantula.revisit.believed import Believed, Pauses
from tarantula.revisit.model import Reading
from tarantula.revisit.pages import Limits, Pages
from tarantula.revisit.policies import POLICIES, Policy
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.uniform import uniform

Chooser = Callable[[Believed, Pauses], Schedule]

OWN: dict[str, Chooser] = {"aged": aged, "uniform": uniform}


def chooser(name: str) -> Chooser:
    """Return what chooses visits by that name: it knows ages, or supposes that all pages were seen just now."""
    if name in OWN:
        return OWN[name]
    if name not in POLICIES:
        raise TarantulaError(f"There is no policy {name[:40]}. There are: {', '.join((*OWN, *POLICIES))}.")
    return lambda believed, pauses: _by_pause(POLICIES[name], believed, pauses)


def _by_pause(policy: Policy, believed: Believed, pauses: Pauses) -> Schedule:
    """Ask a policy for the servers of each pause by themselves, with as many visits as are best made to them."""
    visits, of_page = allocate(believed, pauses), pauses.ticks[believed.pages.servers]
    times, takers = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for pause in np.unique(of_page[np.isfinite(of_page)]):
        own = np.flatnonzero(of_page == pause)
        if not visits[own].sum():
            continue
        _, servers = np.unique(believed.pages.servers[own], return_inverse=True)
        pages = Pages.of(believed.pages.rates[own], servers, believed.pages.weights[own])
        made = policy(pages, Limits(pauses.horizon, float(pause), int(visits[own].sum())), Reading.FRESH)
        times.append(made.times)
        takers.append(own[pages.order[made.pages]])
    return apart(np.concatenate(times), np.concatenate(takers), believed, pauses)
