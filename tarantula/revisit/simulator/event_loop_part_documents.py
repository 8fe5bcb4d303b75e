"""The documents of a simulation: each changes by its law, and its copy is fresh until then."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.changes import GeneratorStates, Laws, first_change, next_change
from tarantula.revisit.heap import heap_pop, heap_replace
from tarantula.revisit.model import Floats
from tarantula.revisit.simulator.event_loop_part_events import EVENT_KIND_SHIFT, MODIFIED, add_event

NEVER_FRESH = inf
"""Since when a copy is fresh that is not."""


class SimulatedDocuments(NamedTuple):
    """What is known of each document while time passes."""

    rates: Floats
    laws: Laws
    draws: GeneratorStates
    fresh_since: Floats
    fresh_for: Floats
    """Seconds of the horizon, up to when it was last seen to change."""


@njit(cache=True)
def start_documents(documents, visited, line, horizon):  # type: ignore[no-untyped-def]
    """Put the first change of each document on the line; its copy is of the time *visited*, or there is none (nan)."""
    for document in range(len(documents.rates)):
        rate, law = documents.rates[document], documents.laws[document]
        documents.fresh_since[document] = NEVER_FRESH
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
            add_event(line, time, MODIFIED, document)


@njit(cache=True)
def modify_document(documents, document, now, line, horizon):  # type: ignore[no-untyped-def]
    """Let the document on top of the line change, and put its next change in its place."""
    if documents.fresh_since[document] != NEVER_FRESH:
        documents.fresh_for[document] += now - documents.fresh_since[document]
        documents.fresh_since[document] = NEVER_FRESH
    time = now + next_change(documents.laws[document], documents.rates[document], documents.draws, document)
    if time <= horizon:
        heap_replace(line, time, (MODIFIED << EVENT_KIND_SHIFT) | document)
    else:
        heap_pop(line)


@njit(cache=True)
def visit_document(documents, document, now):  # type: ignore[no-untyped-def]
    """Make the copy of a document anew; whether it was stale."""
    if documents.fresh_since[document] != NEVER_FRESH:
        return False
    # What changes all the time has changed before anybody looks at the copy.
    if documents.rates[document] != inf:
        documents.fresh_since[document] = now
    return True


@njit(cache=True)
def document_freshness(documents, now):  # type: ignore[no-untyped-def]
    """Return the share of the time up to now in which each copy was fresh."""
    fresh = np.empty(len(documents.rates))
    for document in range(len(fresh)):
        seconds = documents.fresh_for[document]
        if documents.fresh_since[document] != NEVER_FRESH:
            seconds += now - documents.fresh_since[document]
        fresh[document] = seconds / now
    return fresh


def new_documents(rates: Floats, laws: Laws, draws: GeneratorStates) -> SimulatedDocuments:
    """Return documents of which nothing has been seen yet."""
    return SimulatedDocuments(rates, laws, draws, np.full(len(rates), NEVER_FRESH), np.zeros(len(rates)))
