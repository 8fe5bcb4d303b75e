"""The documents of a simulation: each changes by its law, and its copy is fresh until then."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.changes import Laws, States, first_change, next_change
from tarantula.revisit.heap import pop, replace
from tarantula.revisit.model import Floats
from tarantula.revisit.simulator.event_loop_part_events import MODIFIED, SHIFT, add

STALE = inf
"""Since when a copy is fresh that is not."""


class Documents(NamedTuple):
    """What is known of each document while time passes."""

    rates: Floats
    laws: Laws
    draws: States
    fresh_since: Floats
    fresh_for: Floats
    """Seconds of the horizon, up to when it was last seen to change."""


@njit(cache=True)
def begin(documents, visited, line, horizon):  # type: ignore[no-untyped-def]
    """Put the first change of each document on the line; its copy is of the time *visited*, or there is none (nan)."""
    for document in range(len(documents.rates)):
        rate, law = documents.rates[document], documents.laws[document]
        documents.fresh_since[document] = STALE
        if rate == inf:
            continue
        has_copy = not np.isnan(visited[document])
        time = visited[document] if has_copy else 0.0
        time += first_change(law, rate, documents.draws, document)
        if has_copy and time > 0.0:
            documents.fresh_since[document] = 0.0
        while time <= 0.0:
            time += next_change(law, rate, documents.draws, document)
        if time <= horizon:
            add(line, time, MODIFIED, document)


@njit(cache=True)
def modify(documents, document, now, line, horizon):  # type: ignore[no-untyped-def]
    """Let the document on top of the line change, and put its next change in its place."""
    if documents.fresh_since[document] != STALE:
        documents.fresh_for[document] += now - documents.fresh_since[document]
        documents.fresh_since[document] = STALE
    time = now + next_change(documents.laws[document], documents.rates[document], documents.draws, document)
    if time <= horizon:
        replace(line, time, (MODIFIED << SHIFT) | document)
    else:
        pop(line)


@njit(cache=True)
def visit(documents, document, now):  # type: ignore[no-untyped-def]
    """Make the copy of a document anew; whether it was stale."""
    if documents.fresh_since[document] != STALE:
        return False
    # What changes all the time has changed before anybody looks at the copy.
    if documents.rates[document] != inf:
        documents.fresh_since[document] = now
    return True


@njit(cache=True)
def freshness(documents, now):  # type: ignore[no-untyped-def]
    """Return the share of the time up to now in which each copy was fresh."""
    fresh = np.empty(len(documents.rates))
    for document in range(len(fresh)):
        seconds = documents.fresh_for[document]
        if documents.fresh_since[document] != STALE:
            seconds += now - documents.fresh_since[document]
        fresh[document] = seconds / now
    return fresh


def all_of(rates: Floats, laws: Laws, draws: States) -> Documents:
    """Return documents of which nothing has been seen yet."""
    return Documents(rates, laws, draws, np.full(len(rates), STALE), np.zeros(len(rates)))
