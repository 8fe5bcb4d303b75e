"""Webs that do not exist, as the experiments of 2007 suppose them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from tarantula.core.errors import TarantulaError
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.pages import Pages

MOST_DOCUMENTS = 100_000_000
"""Documents, and servers."""
STEEPEST_THETA = 50.0
"""Of Zipf's laws: beyond it all but the first are nothing."""


@dataclass(frozen=True)
class SyntheticWeb:
    """How many documents there are on how many servers, how often they change, and how much each is worth."""

    documents: int = 1_000_000
    servers: int = 2_000
    theta: float = 1.0
    """Of Zipf's law of the servers' sizes: 0 is the same for all."""
    low: float = 0.01 / 3600
    high: float = 1 / 3600
    """Changes a second."""
    rate_theta: float = 0.0
    """Of Zipf's law of the rates: 0 spreads them evenly, and more means that fewer documents change often."""
    weight_theta: float = 0.0
    """Of Zipf's law of the weights."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.documents <= MOST_DOCUMENTS and 1 <= self.servers <= MOST_DOCUMENTS):
            raise TarantulaError(
                f"There is at least one document and one server, and at most {MOST_DOCUMENTS:,} of each."
            )
        if not all(0 <= theta <= STEEPEST_THETA for theta in (self.theta, self.rate_theta, self.weight_theta)):
            raise TarantulaError(f"The θ of a law of Zipf is a number from 0 to {STEEPEST_THETA:g}.")
        if not 0 <= self.low <= self.high:
            raise TarantulaError("Rates of changes are numbers from zero on, the lower one first.")
        if self.high == inf and isfinite(self.low):
            raise TarantulaError("There is nothing even between a rate and infinity. Choose a highest rate.")
        if self.rate_theta and not self.low:
            raise TarantulaError("Zipf's law of rates has no end towards zero. Choose a lowest rate above it.")
        if self.seed < 0:
            raise TarantulaError("A seed is a whole number from zero on.")

    def pages(self) -> Pages:
        """Make the documents."""
        numbers = np.repeat(np.arange(self.servers), server_sizes(self.documents, self.servers, self.theta))
        return Pages.of(self._rates(), numbers, self._weights())

    def _rates(self) -> Floats:
        if self.low == self.high:
            return np.full(self.documents, self.low)
        return zipf_values(
            self.low, self.high, self.rate_theta, np.random.default_rng(self.seed).random(self.documents)
        )

    def _weights(self) -> Floats:
        if not self.weight_theta:
            return np.ones(self.documents)
        weights = zipf_shares(self.documents, self.weight_theta) * self.documents
        return np.random.default_rng([self.seed, 3]).permutation(weights)


def zipf_shares(count: int, theta: float) -> Floats:
    """Return shares by Zipf's law: the n-th is to the first as 1 to n to the power of *theta*."""
    shares: Floats = np.arange(1, count + 1, dtype=np.float64) ** -theta
    shares /= shares.sum()
    return shares


def server_sizes(documents: int, servers: int, theta: float) -> Ints:
    """Return how many documents each server has: whole numbers that add up."""
    borders = np.round(np.concatenate([[0.0], np.cumsum(zipf_shares(servers, theta))]) * documents).astype(np.int64)
    return np.diff(borders)


def zipf_values(low: float, high: float, theta: float, draws: Floats) -> Floats:
    """Return values between two, by Zipf's law: how many there are of one is as 1 to its power of *theta*."""
    if theta == 1.0:
        return low * (high / low) ** draws
    power = 1.0 - theta
    # Relative to the lowest (or, where that is nothing, to the highest): no power of it is too large or too small.
    unit = low or high
    ends = (low / unit) ** power, (high / unit) ** power
    values: Floats = unit * (ends[0] + draws * (ends[1] - ends[0])) ** (1.0 / power)
    return values


def synthetic_pages(documents: int, servers: int, theta: float, low: float, high: float, seed: int = 0) -> Pages:
    """Return pages with rates between two, spread over servers by Zipf's law."""
    return SyntheticWeb(documents, servers, theta, low, high, seed=seed).pages()
