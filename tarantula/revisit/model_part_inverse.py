"""In how long a gap one visit more is worth so much: 1 − (1 + u)e^(−u) = c, solved for u = λ times the gap."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

MOST_CHANGES_IN_GAP = 60.0
"""Changes in a gap; in longer ones there is nothing left to be worth more."""
_GAPS = np.linspace(0.0, MOST_CHANGES_IN_GAP, 600_001)
# Near nothing 1 − (1 + u)e^(−u) is u²/2: by its root the table is even.
_ROOTS = np.sqrt(np.maximum(1.0 - (1.0 + _GAPS) * np.exp(-_GAPS), 0.0))
GAP_TABLE = np.interp(np.linspace(0.0, 1.0, 16_385), _ROOTS, _GAPS)
GAP_TABLE[-1] = MOST_CHANGES_IN_GAP
SERIES_BELOW_SHARE = 1e-4
"""Below it the first terms of a series are nearer than the table."""
NO_INTERPOLATION_ABOVE_SHARE = 0.96
"""Above it the table bends too much to be read between its lines."""


@njit(cache=True)
def bracketing_gaps(share):  # type: ignore[no-untyped-def]
    """Return two gaps, close to each other, that the one which is worth *share* is between."""
    place = int(sqrt(share) * (len(GAP_TABLE) - 1))
    return GAP_TABLE[place], GAP_TABLE[min(place + 1, len(GAP_TABLE) - 1)]


@njit(cache=True)
def gap_worth(share):  # type: ignore[no-untyped-def]
    """Return the gap, in changes, that is worth a share of what any can be; rather too short than too long."""
    if share <= 0.0:
        return 0.0
    if share >= 1.0:
        return np.inf
    if share < SERIES_BELOW_SHARE:
        root = sqrt(2.0 * share)
        return root + root**2 / 3 + 11 / 72 * root**3
    low, high = bracketing_gaps(share)
    if share > NO_INTERPOLATION_ABOVE_SHARE:
        return low
    place = sqrt(share) * (len(GAP_TABLE) - 1)
    return (low + (place - int(place)) * (high - low)) * (1.0 - 1e-6)
