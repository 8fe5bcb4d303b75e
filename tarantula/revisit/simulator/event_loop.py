"""Event loop of the simulator: document changes, free crawlers, due visits, in a heap ordered by time."""

from __future__ import annotations

from enum import IntEnum
from math import ceil, inf
from typing import NamedTuple

import numpy as np
from numba import njit

from tarantula.revisit.changes import GeneratorStates, Laws, first_change, next_change
from tarantula.revisit.heap import TimeHeap, heap_pop, heap_push, heap_replace
from tarantula.revisit.model import TICKS_PER_SECOND, Floats, Ints
from tarantula.revisit.phases import DispatchQueues, next_ready_time, rest_server, take_server

EVENT_KIND_SHIFT = 40
"""Events are encoded as kind << this, plus the document or crawler."""
EVENT_SUBJECT_MASK = (1 << EVENT_KIND_SHIFT) - 1
NEVER_FRESH = inf
"""Value of `fresh_since` for a stale copy."""
EVENTS, VISITS, CHANGED, BREACHES, RECORDED, IDLE, ALARMS, COUNTS = 0, 5, 6, 7, 8, 9, 10, 11
"""Indexes of `counts`: five kinds of events, visits, visits that found a change, politeness breaches, recorded events,
idle crawlers, pending alarms; and the number of indexes."""


class SimulationEvent(IntEnum):
    """Kinds of events. At equal times the lower number comes first."""

    MODIFIED = 0
    """*Documento Modificado*: a document changes."""
    FREE = 1
    """*Crawler Livre*: a crawler has finished, and takes the most overdue visit or becomes idle."""
    READY = 2
    """*Escalonador Pronto*: a visit is due and a crawler is idle."""
    STATISTICS = 3
    """*Estatística*: statistics are due."""
    END = 4
    """*Fim de Simulação*: the end."""


MODIFIED, FREE, READY, STATISTICS, END = (int(event) for event in SimulationEvent)


@njit(cache=True)
def add_event(queue, time, event, subject):  # type: ignore[no-untyped-def]
    """Add an event to the queue."""
    heap_push(queue, time, (event << EVENT_KIND_SHIFT) | subject)


class SimulatedDocuments(NamedTuple):
    """Documents and the state of their copies."""

    rates: Floats
    laws: Laws
    draws: GeneratorStates
    fresh_since: Floats
    fresh_for: Floats
    """Fresh seconds up to the last change."""


@njit(cache=True)
def start_documents(documents, visited, queue, horizon):  # type: ignore[no-untyped-def]
    """Queue the first change of each document; its copy dates from *visited*, or does not exist (NaN)."""
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
            add_event(queue, time, MODIFIED, document)


@njit(cache=True)
def modify_document(documents, document, now, queue, horizon):  # type: ignore[no-untyped-def]
    """Apply the change on top of the queue, and queue the next change of the document."""
    if documents.fresh_since[document] != NEVER_FRESH:
        documents.fresh_for[document] += now - documents.fresh_since[document]
        documents.fresh_since[document] = NEVER_FRESH
    time = now + next_change(documents.laws[document], documents.rates[document], documents.draws, document)
    if time <= horizon:
        heap_replace(queue, time, (MODIFIED << EVENT_KIND_SHIFT) | document)
    else:
        heap_pop(queue)


@njit(cache=True)
def visit_document(documents, document, now):  # type: ignore[no-untyped-def]
    """Refresh the copy of a document; return whether it was stale."""
    if documents.fresh_since[document] != NEVER_FRESH:
        return False
    # A document that changes all the time is stale again at once.
    if documents.rates[document] != inf:
        documents.fresh_since[document] = now
    return True


@njit(cache=True)
def document_freshness(documents, now):  # type: ignore[no-untyped-def]
    """Return the share of the time until now in which each copy was fresh."""
    fresh = np.empty(len(documents.rates))
    for document in range(len(fresh)):
        seconds = documents.fresh_for[document]
        if documents.fresh_since[document] != NEVER_FRESH:
            seconds += now - documents.fresh_since[document]
        fresh[document] = seconds / now
    return fresh


def new_documents(rates: Floats, laws: Laws, draws: GeneratorStates) -> SimulatedDocuments:
    """Return documents without any visit."""
    return SimulatedDocuments(rates, laws, draws, np.full(len(rates), NEVER_FRESH), np.zeros(len(rates)))


class CrawlerPool(NamedTuple):
    """Idle crawlers."""

    idle: Ints
    """Idle crawlers as a stack; the last is used next."""
    alarms: Floats
    """Times of pending READY events, descending."""


class VisitLog(NamedTuple):
    """Planned visits, and when they were made."""

    documents: Ints
    visit_times: Floats
    """Time of each visit; NaN until it is made."""
    last_visits: Floats
    """Time of the last visit to each server."""


class SimulationState(NamedTuple):
    """Mutable state of a simulation."""

    queue: TimeHeap
    queues: DispatchQueues
    documents: SimulatedDocuments
    visits: VisitLog
    crawler_pool: CrawlerPool
    counts: Ints
    event_log: Floats
    """First events as rows of time, kind and subject; its length is the number of recorded events."""


class SimulationSpeeds(NamedTuple):
    """Constants of a simulation."""

    crawlers: Floats
    servers: Floats
    sizes: Floats
    politeness: float
    pause: float
    horizon: float


@njit(cache=True)
def run_until_statistics(state, speeds):  # type: ignore[no-untyped-def]
    """Process events until the next statistics or the end; return the time and the kind of event."""
    # Unpacked once: compiled code would count references at each access.
    queue, queues, documents, visits, crawler_pool, counts, event_log = state
    while True:
        now, event, subject = (
            queue.times[0],
            queue.numbers[0] >> EVENT_KIND_SHIFT,
            queue.numbers[0] & EVENT_SUBJECT_MASK,
        )
        counts[EVENTS + event] += 1
        if counts[RECORDED] < len(event_log):
            _record_event(event_log[counts[RECORDED]], now, event, subject)
            counts[RECORDED] += 1
        if event == MODIFIED:
            modify_document(documents, subject, now, queue, speeds.horizon)
            continue
        heap_pop(queue)
        if event == FREE:
            crawler_pool.idle[counts[IDLE]] = subject
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
            _make_visit(queue, queues, documents, visits, counts, speeds, now, crawler_pool.idle[counts[IDLE]], server)
        if counts[IDLE] > 0:
            _set_alarm(queue, crawler_pool, counts, next_ready_time(queues), speeds.horizon)


@njit(cache=True)
def _make_visit(queue, queues, documents, visits, counts, speeds, now, crawler, server):  # type: ignore[no-untyped-def]
    """Let a crawler visit the next document of a server."""
    number = queues.following[server]
    document = visits.documents[number]
    # Checked independently of the dispatch code.
    if now - visits.last_visits[server] < speeds.politeness:
        counts[BREACHES] += 1
    visits.last_visits[server] = now
    visits.visit_times[number] = now
    counts[VISITS] += 1
    counts[CHANGED] += visit_document(documents, document, now)
    seconds = speeds.sizes[document] / min(speeds.crawlers[crawler], speeds.servers[server])
    done = now + ceil(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND
    if done <= speeds.horizon:
        add_event(queue, done, FREE, crawler)
    queues.following[server] += 1
    rest_server(queues, server, max(now + speeds.pause, done))


@njit(cache=True)
def _set_alarm(queue, crawler_pool, counts, due, horizon):  # type: ignore[no-untyped-def]
    """Queue a READY event for the next due visit, unless one is pending."""
    alarms = counts[ALARMS]
    if due <= horizon and (alarms == 0 or due < crawler_pool.alarms[alarms - 1]):
        crawler_pool.alarms[alarms] = due
        counts[ALARMS] += 1
        add_event(queue, due, READY, crawler_pool.idle[counts[IDLE] - 1])


@njit(cache=True)
def _record_event(row, now, event, subject):  # type: ignore[no-untyped-def]
    row[0], row[1], row[2] = now, event, subject
