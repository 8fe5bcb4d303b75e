"""Visiting all pages equally often, in turn: what any belief has to be better than."""

from __future__ import annotations

import numpy as np

from tarantula.revisit.model import Ints
from tarantula.revisit.phases.merge import even_times
from tarantula.revisit.planning.uncertain_pages import PerServerLimits, UncertainPages
from tarantula.revisit.schedule import Schedule
from tarantula.revisit.schedule_part_runs import places_in_runs, run_starts

LEVEL_BISECTION_STEPS = 100


def uniform(believed: UncertainPages, pauses: PerServerLimits) -> Schedule:
    """Visit the pages of each server in turn, the one that was not visited for longest first, at even intervals."""
    pages = believed.pages
    counts = _counts(np.diff(pages.starts), pauses)
    number = places_in_runs(counts)
    oldest = np.lexsort((-believed.ages, pages.servers))
    sizes = np.maximum(np.diff(pages.starts), 1)
    takers = oldest[np.repeat(pages.starts[:-1], counts) + number % np.repeat(sizes, counts)].astype(np.int64)
    return Schedule(even_times(counts, pauses.horizon, pauses.ticks), takers, run_starts(counts))


def _counts(sizes: Ints, pauses: PerServerLimits) -> Ints:
    """Return how often each server is visited, so that its pages are visited as often as all others if they can be."""
    budgets = np.where(sizes > 0, pauses.budgets, 0)
    most = min(int(budgets.sum()), pauses.visits)
    low, high = 0.0, float(pauses.visits) + 1.0
    for _ in range(LEVEL_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * sizes, budgets).sum() < most else (low, middle)
    wished = np.minimum(high * sizes, budgets)
    counts: Ints = np.floor(wished + 1e-9).astype(np.int64)
    # What is left when all are whole numbers goes to those that lost most.
    left = np.argsort(counts - wished, kind="stable")
    left = left[counts[left] < budgets[left]][: most - int(counts.sum())]
    counts[left] += 1
    return counts
