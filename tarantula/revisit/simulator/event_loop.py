"""The loop of a simulation: the next event, and what follows from it."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from numba import njit

from tarantula.revisit.heap import TimeHeap, heap_pop
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import TICKS_PER_SECOND
from tarantula.revisit.phases.dispatch import DispatchQueues, next_ready_time, rest_server, take_server
from tarantula.revisit.simulator.event_loop_part_documents import SimulatedDocuments, modify_document, visit_document
from tarantula.revisit.simulator.event_loop_part_events import (
    EVENT_KIND_SHIFT,
    EVENT_SUBJECT_MASK,
    FREE,
    MODIFIED,
    READY,
    add_event,
)

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
