"""Event loop of the simulator: document changes, free crawlers, due visits, in a heap ordered by time."""

from __future__ import annotations

from enum import IntEnum
from math import ceil, inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.changes import GeneratorStates, Laws, first_change, next_change
from tarantula.revisit.heap import TimeHeap, heap_pop, heap_push, heap_replace
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS_PER_SECOND
from tarantula.revisit.phases.dispatch import DispatchQueues, next_ready_time, rest_server, take_server


class SimulationEvent(IntEnum):
    """What happens. Of events at the same moment the one with the lower number comes first."""

    MODIFIED = 0
    """*Documento Modificado*: a document changes."""
    FREE = 1
    """*Crawler Livre*: a crawler is done, and takes what is latest; or waits if nothing is due."""
    READY = 2
    """*Escalonador Pronto*: a visit is due, and a crawler waits for it."""
    STATISTICS = 3
    """*Estatística*: it is said how fresh everything is."""
    END = 4
    """*Fim de Simulação*."""


MODIFIED, FREE, READY, STATISTICS, END = (int(event) for event in SimulationEvent)
EVENT_KIND_SHIFT = 40
"""A number on the line is the kind of an event and, below so many bits, whose it is."""
EVENT_SUBJECT_MASK = (1 << EVENT_KIND_SHIFT) - 1


@njit(cache=True)
def add_event(line, time, event, whose):  # type: ignore[no-untyped-def]
    """Put an event on the line."""
    heap_push(line, time, (event << EVENT_KIND_SHIFT) | whose)


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


EVENTS, VISITS, CHANGED, BREACHES, SEEN, IDLE, ALARMS, COUNTS = 0, 5, 6, 7, 8, 9, 10, 11
"""Where counts are: the five events, visits, those that found a change, breaches of politeness, events written down,
crawlers that wait, times at which the scheduler will be ready; and how many counts there are."""


class CrawlerPool(NamedTuple):
    """Crawlers that are free."""

    idle: Ints
    """Those that wait for a visit to be due; the last is the next."""
    alarms: Floats
    """When the scheduler will be ready for them; the last comes first."""


class VisitLog(NamedTuple):
    """What is to be visited, and what was."""

    documents: Ints
    made: Floats
    """When each visit was made; nan until then."""
    asked: Floats
    """When each server was last asked."""


class SimulationState(NamedTuple):
    """Everything that a simulation changes."""

    line: TimeHeap
    queues: DispatchQueues
    documents: SimulatedDocuments
    visits: VisitLog
    crew: CrawlerPool
    counts: Ints
    diary: Floats
    """The first events, as rows of time, kind and whose; as many as it has rows."""


class SimulationSpeeds(NamedTuple):
    """What stays as it is."""

    crawlers: Floats
    servers: Floats
    sizes: Floats
    politeness: float
    pause: float
    horizon: float


@njit(cache=True)
def run_until_statistics(state, speeds):  # type: ignore[no-untyped-def]
    """Let time pass until the next statistics or the end; return when that is, and which."""
    # Taken apart once: what is inside is not counted again and again.
    line, queues, documents, visits, crew, counts, diary = state
    while True:
        now, event, whose = line.times[0], line.numbers[0] >> EVENT_KIND_SHIFT, line.numbers[0] & EVENT_SUBJECT_MASK
        counts[EVENTS + event] += 1
        if counts[SEEN] < len(diary):
            _write_down(diary[counts[SEEN]], now, event, whose)
            counts[SEEN] += 1
        if event == MODIFIED:
            modify_document(documents, whose, now, line, speeds.horizon)
            continue
        heap_pop(line)
        if event == FREE:
            crew.idle[counts[IDLE]] = whose
            counts[IDLE] += 1
        elif event == READY:
            counts[ALARMS] -= 1
        else:
            return now, event
        while counts[IDLE] > 0:
            server = take_server(queues, now)
            if server < 0:
                break
            counts[IDLE] -= 1
            _visit(line, queues, documents, visits, counts, speeds, now, crew.idle[counts[IDLE]], server)
        if counts[IDLE] > 0:
            _set_alarm(line, crew, counts, next_ready_time(queues), speeds.horizon)


@njit(cache=True)
def _visit(line, queues, documents, visits, counts, speeds, now, crawler, server):  # type: ignore[no-untyped-def]
    """Let a crawler ask a server for the document whose turn it is."""
    number = queues.following[server]
    document = visits.documents[number]
    # Whoever decides who is asked does not also say whether that was polite.
    if now - visits.asked[server] < speeds.politeness:
        counts[BREACHES] += 1
    visits.asked[server] = now
    visits.made[number] = now
    counts[VISITS] += 1
    counts[CHANGED] += visit_document(documents, document, now)
    seconds = speeds.sizes[document] / min(speeds.crawlers[crawler], speeds.servers[server])
    done = now + ceil(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND
    if done <= speeds.horizon:
        add_event(line, done, FREE, crawler)
    queues.following[server] += 1
    rest_server(queues, server, max(now + speeds.pause, done))


@njit(cache=True)
def _set_alarm(line, crew, counts, due, horizon):  # type: ignore[no-untyped-def]
    """Be ready for crawlers that are free when the next visit is due, unless that is known already."""
    alarms = counts[ALARMS]
    if due <= horizon and (alarms == 0 or due < crew.alarms[alarms - 1]):
        crew.alarms[alarms] = due
        counts[ALARMS] += 1
        add_event(line, due, READY, crew.idle[counts[IDLE] - 1])


@njit(cache=True)
def _write_down(row, now, event, whose):  # type: ignore[no-untyped-def]
    row[0], row[1], row[2] = now, event, whose
