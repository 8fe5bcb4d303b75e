"""Laws of change of pages, with the same mean rate and in equilibrium: random change times and expected freshness.

*Poisson*: the next change does not depend on the past. *Pareto*: changes come in bursts, with long gaps between them.
*Quasi-deterministic*: a page may change at even times, and does so with a fixed probability.

Each page has its own random number generator, so it changes at the same times under every policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import exp, expm1, inf, log

import numpy as np
from numba import njit, vectorize
from numpy.typing import NDArray

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import Floats, Ints, ModelReading, visit_gain

PARETO_SHAPE = 1.5
"""Shape of Pareto's law: the mean gap is finite, its variance is not."""
CHANGE_PROBABILITY = 0.8
"""Probability that a quasi-deterministic page changes at one of its possible times."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53

Laws = NDArray[np.int8]
GeneratorStates = NDArray[np.uint64]


class ChangeLaw(IntEnum):
    """Law by which the changes of a page are distributed in time."""

    POISSON = 0
    PARETO = 1
    QUASI_DETERMINISTIC = 2

    @property
    def label(self) -> str:
        """Name on the command line."""
        return self.name.lower().replace("_", "-")


POISSON = int(ChangeLaw.POISSON)
PARETO = int(ChangeLaw.PARETO)


def draw_laws(count: int, shares: Mapping[ChangeLaw, float], seed: int = 0) -> Laws:
    """Draw a law for each of *count* pages, with the given shares."""
    whole = sum(shares.values())
    if not all(0 <= share < inf for share in shares.values()) or not 0 < whole < inf:
        raise TarantulaError("The shares of a mixture must be 0 or more, and at least one above 0.")
    chance = np.random.default_rng([seed, 1])
    laws = np.array(list(shares), dtype=np.int8)
    borders = np.cumsum(np.array(list(shares.values())) / whole)
    return laws[np.searchsorted(borders[:-1], chance.random(count), side="right")]


def generator_states(count: int, seed: int) -> GeneratorStates:
    """Return the initial generator state of each page."""
    states: GeneratorStates = np.random.default_rng([seed, 2]).integers(0, 2**64, count, dtype=np.uint64)
    return states


@njit(cache=True)
def next_random(states, page):  # type: ignore[no-untyped-def]
    """Return the next random number of a page, in (0, 1], by SplitMix64."""
    states[page] += _STEP
    mixed = states[page]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)) + np.uint64(1)) * _UNIT


@njit(cache=True)
def first_change(law, rate, states, page):  # type: ignore[no-untyped-def]
    """Return the seconds from any point of time to the first change of a page."""
    if rate <= 0.0:
        return inf
    if law == POISSON:
        return -log(next_random(states, page)) / rate
    if law == PARETO:
        # The rest of a Pareto gap, from any time on, is again Pareto, with a shape lower by one.
        return (PARETO_SHAPE - 1.0) / rate * (next_random(states, page) ** (-1.0 / (PARETO_SHAPE - 1.0)) - 1.0)
    return CHANGE_PROBABILITY / rate * (next_random(states, page) + _skipped_times(states, page))


@njit(cache=True)
def next_change(law, rate, states, page):  # type: ignore[no-untyped-def]
    """Return the seconds from a change of a page to the next."""
    if law == POISSON:
        return -log(next_random(states, page)) / rate
    if law == PARETO:
        return (PARETO_SHAPE - 1.0) / rate * (next_random(states, page) ** (-1.0 / PARETO_SHAPE) - 1.0)
    return CHANGE_PROBABILITY / rate * (1.0 + _skipped_times(states, page))


@njit(cache=True)
def _skipped_times(states, page):  # type: ignore[no-untyped-def]
    """Return how many possible changes a page skips before it changes."""
    return np.floor(log(next_random(states, page)) / log(1.0 - CHANGE_PROBABILITY))


@njit(cache=True)
def expected_fresh_seconds(law, rate, gap):  # type: ignore[no-untyped-def]
    """Return the expected seconds that a page stays unchanged after a visit, within a gap of *gap* seconds."""
    if rate <= 0.0 or gap <= 0.0:
        return gap
    changes = rate * gap
    if changes == inf:
        return 0.0
    if law == POISSON:
        return -expm1(-changes) / rate
    if law == PARETO:
        scale = (PARETO_SHAPE - 1.0) / rate
        return scale / (2.0 - PARETO_SHAPE) * expm1((2.0 - PARETO_SHAPE) * np.log1p(gap / scale))
    period = CHANGE_PROBABILITY / rate
    whole = np.floor(gap / period)
    part = gap / period - whole
    unchanged = exp(whole * log(1.0 - CHANGE_PROBABILITY))
    whole_periods = (1.0 - unchanged) / CHANGE_PROBABILITY * (1.0 - CHANGE_PROBABILITY / 2.0)
    return period * (whole_periods + unchanged * (part - CHANGE_PROBABILITY * part * part / 2.0))


@njit(cache=True)
def even_freshness_by_law(law, visits, changes, steady):  # type: ignore[no-untyped-def]
    """Return the freshness of a page with even visits: the optimum for this number of visits, under any law."""
    gaps = visits if steady else visits + 1
    return gaps * expected_fresh_seconds(law, changes, 1.0 / gaps) if gaps else 0.0


@njit(cache=True)
def visit_gain_by_law(law, visits, changes, steady):  # type: ignore[no-untyped-def]
    """Return the freshness gained by one more evenly spaced visit."""
    if law == POISSON:
        return visit_gain(visits, changes, steady)
    return even_freshness_by_law(law, visits + 1, changes, steady) - even_freshness_by_law(law, visits, changes, steady)


@vectorize(cache=True)  # type: ignore[no-untyped-call]
def _evenly_by(law, visits, changes, steady):  # type: ignore[no-untyped-def]
    return even_freshness_by_law(law, visits, changes, steady)


def freshness_by_law(laws: Laws, visits: Ints, changes: Floats, reading: ModelReading) -> Floats:
    """Return the freshness of pages with even visits."""
    fresh: Floats = _evenly_by(laws, visits, changes, reading is ModelReading.STEADY)
    return fresh


def all_poisson(count: int) -> Laws:
    """Return Poisson's law for each of *count* pages."""
    return np.full(count, POISSON, dtype=np.int8)
