"""Runs of an array, one after the other: the visits of each server, or of each page."""

from __future__ import annotations

import numpy as np

from tarantula.revisit.model import Ints


def run_starts(counts: Ints) -> Ints:
    """Return where runs of so many begin, and where the last of them ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def places_in_runs(counts: Ints) -> Ints:
    """Return the number of each element in its run, from 0 on."""
    starts = run_starts(counts)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
