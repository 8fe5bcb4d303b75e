"""A policy for pages that were last visited at different times, and whose rates are believed rather than known.

The time since its last visit is the beginning of a page's first gap. x visits in a horizon T are then best at even gaps
of (age + T)/(x + 1) from the last visit on; a page for which the first of them is over already is visited at once, and
evenly from there. What a further visit adds still becomes less with each, so taking the best one again and again, under
the limits of servers and of all, is the best choice; each visit is then made as near to its time as its server allows.
"""

from __future__ import annotations

import numpy as np

from tarantula.revisit.model import Ints
from tarantula.revisit.planning.policies import enforce_pauses
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages
from tarantula.revisit.planning.uncertain_pages_part_greedy import allocate_best_visits
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.schedule_part_runs import places_in_runs


def allocate_aged(believed: UncertainPages, pauses: PerServerLimits) -> Ints:
    """Return how often each page is best visited; a visit that adds nothing is not made."""
    return allocate_best_visits(believed, pauses, for_good=False).visits


def aged(believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Return when each page is best visited."""
    return spread_visits(allocate_aged(believed, pauses), believed, pauses)


def spread_visits(visits: Ints, believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Make each visit as near as can be to the time that is best for its page alone, never breaking a pause."""
    takers = np.repeat(np.arange(len(visits)), visits)
    number = places_in_runs(visits)
    even = (believed.ages + pauses.horizon) / (visits + 1)
    gaps = np.where(even > believed.ages, even, pauses.horizon / np.maximum(visits, 1))[takers]
    times = pauses.horizon - (visits[takers] - number) * gaps
    return enforce_pauses(times.astype(np.float64), takers, believed, pauses)
