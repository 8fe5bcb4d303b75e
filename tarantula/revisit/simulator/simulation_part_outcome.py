"""What a simulation found: along the way, and at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from tarantula.revisit.model import Floats, ModelReading, weighted_mean
from tarantula.revisit.pages import VisitLimits
from tarantula.revisit.schedule import Schedule, schedule_freshness
from tarantula.revisit.simulator import event_loop, event_loop_part_documents
from tarantula.revisit.simulator.event_loop_part_events import SimulationEvent
from tarantula.revisit.simulator.simulation_part_web import SimulatedWeb


class SimulationSnapshot(NamedTuple):
    """How things are at a moment."""

    seconds: float
    staleness: float
    """Since the beginning, by weights."""
    stale_now: float
    visits: int
    changes: int

    @classmethod
    def of(cls, state: event_loop.SimulationState, web: SimulatedWeb, now: float) -> Self:
        """Look."""
        weights = web.pages.weights
        is_stale = (state.documents.fresh_since == event_loop_part_documents.NEVER_FRESH).astype(np.float64)
        return cls(
            now,
            1.0 - weighted_mean(event_loop_part_documents.document_freshness(state.documents, now), weights),
            weighted_mean(is_stale, weights),
            int(state.counts[event_loop.VISITS]),
            int(state.counts[event_loop.EVENTS + SimulationEvent.MODIFIED]),
        )


@dataclass(frozen=True)
class SimulationOutcome:
    """How stale everything was, and how stale it was to be expected."""

    staleness: float
    expected: float
    """Of the visits as they were made, by the law of changes."""
    error: float
    """The standard error of the staleness that was found."""
    planned: int
    visits: int
    changed: int
    """Visits that found a change."""
    breaches: int
    """Visits that came too soon after another to the same server."""
    late: float
    """Seconds, on average, that a visit was made after it was due."""
    latest: float
    events: dict[SimulationEvent, int]
    moments: tuple[SimulationSnapshot, ...]
    made: Schedule
    diary: tuple[tuple[float, SimulationEvent, int], ...]

    @property
    def closest(self) -> float | None:
        """Seconds between the two nearest visits to one server, if any server was visited twice."""
        seconds = self.made.closest()
        return seconds if seconds < np.inf else None

    @property
    def errors(self) -> float:
        """By how many standard errors what was found is off what was expected."""
        return (self.staleness - self.expected) / self.error if self.error else 0.0

    @classmethod
    def of(
        cls,
        state: event_loop.SimulationState,
        schedule: Schedule,
        web: SimulatedWeb,
        limits: VisitLimits,
        reading: ModelReading,
        along: list[SimulationSnapshot],
    ) -> Self:
        """Look back at the end."""
        made = schedule.at(state.visits.made)
        weights = web.pages.weights
        found = event_loop_part_documents.document_freshness(state.documents, limits.horizon)
        expected = schedule_freshness(made, web.pages, limits, reading, web.laws)
        late = _late(state)
        return cls(
            1.0 - weighted_mean(found, weights),
            1.0 - weighted_mean(expected, weights),
            _standard_error(found, expected, weights),
            len(schedule.times),
            int(state.counts[event_loop.VISITS]),
            int(state.counts[event_loop.CHANGED]),
            int(state.counts[event_loop.BREACHES]),
            float(late.mean()) if len(late) else 0.0,
            float(late.max(initial=0.0)),
            {event: int(state.counts[event_loop.EVENTS + event]) for event in SimulationEvent},
            tuple(along),
            made,
            tuple(
                (float(time), SimulationEvent(int(kind)), int(whose))
                for time, kind, whose in state.diary[: _seen(state)]
            ),
        )


def _late(state: event_loop.SimulationState) -> Floats:
    late = state.visits.made - state.queues.due
    return late[~np.isnan(late)]


def _seen(state: event_loop.SimulationState) -> int:
    return int(state.counts[event_loop.SEEN])


def _standard_error(found: Floats, expected: Floats, weights: Floats) -> float:
    """Documents change without regard to each other, so their deviations add up as squares."""
    return float(np.sqrt(((weights * (found - expected)) ** 2).sum()) / weights.sum())
