"""The five events of a simulation, and the line on which they are: a heap by time."""

from __future__ import annotations

from enum import IntEnum

from numba import njit

from tarantula.revisit.heap import heap_push


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
