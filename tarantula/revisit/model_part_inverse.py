"""In how long a gap one visit more is worth so much: 1 − (1 + u)e^(−u) = c, solved for u = λ times the gap."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

LONGEST = 60.0
"""Changes in a gap; in longer ones there is nothing left to be worth more."""
_GAPS = np.linspace(0.0, LONGEST, 600_001)
# Near nothing 1 − (1 + u)e^(−u) is u²/2: by its root the table is even.
_ROOTS = np.sqrt(np.maximum(1.0 - (1.0 + _GAPS) * np.exp(-_GAPS), 0.0))
TABLE = np.interp(np.linspace(0.0, 1.0, 16_385), _ROOTS, _GAPS)
TABLE[-1] = LONGEST
SMALL = 1e-4
"""Below it the first terms of a series are nearer than the table."""
STEEP = 0.96
"""Above it the table bends too much to be read between its lines."""


@njit(cache=True)
def around(share):  # type: ignore[no-untyped-def]
    """Return two gaps, close to each other, that the one which is worth *share* is between."""
    place = int(sqrt(share) * (len(TABLE) - 1))
    return TABLE[place], TABLE[min(place + 1, len(TABLE) - 1)]


@njit(cache=True)
def gap_worth(share):  # type: ignore[no-untyped-def]
    """Return the gap, in changes, that is worth a share of what any can be; rather too short than too long."""
    if share <= 0.0:
        return 0.0
    if share >= 1.0:
        return np.inf
    if share < SMALL:
        root = sqrt(2.0 * share)
        return root + root**2 / 3 + 11 / 72 * root**3
    low, high = around(share)
    if share > STEEP:
        return low
    place = sqrt(share) * (len(TABLE) - 1)
    return (low + (place - int(place)) * (high - low)) * (1.0 - 1e-6)
