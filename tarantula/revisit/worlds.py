"""Webs that do not exist, as the experiments of 2007 suppose them."""

from __future__ import annotations

import numpy as np

from tarantula.revisit.model import Floats
from tarantula.revisit.pages import Pages


def zipf(count: int, theta: float) -> Floats:
    """Return shares by Zipf's law: the n-th is to the first as 1 to n to the power of *theta*."""
    shares: Floats = np.arange(1, count + 1, dtype=np.float64) ** -theta
    shares /= shares.sum()
    return shares


def sizes(documents: int, servers: int, theta: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many documents each server has: whole numbers that add up."""
    borders = np.round(np.concatenate([[0.0], np.cumsum(zipf(servers, theta))]) * documents).astype(np.int64)
    return np.diff(borders)


def uniform_rates(documents: int, servers: int, theta: float, low: float, high: float, seed: int = 0) -> Pages:
    """Return pages with rates between two, spread over servers by Zipf's law."""
    chance = np.random.default_rng(seed)
    rates = chance.uniform(low, high, documents)
    return Pages.of(rates, np.repeat(np.arange(servers), sizes(documents, servers, theta)))
