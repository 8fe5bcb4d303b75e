"""A policy without a horizon: visit next what a visit is worth most to, among servers that may be asked now."""

from __future__ import annotations

import numpy as np

from tarantula.revisit.model import Floats


def visit_indexes(rates: Floats, weights: Floats, since: Floats) -> Floats:
    """Return what a visit is worth now to pages that were last visited so many seconds ago.

    (w/λ)(1 − (1 + u)e^(−u)) with u = λ times the seconds: at even intervals it is the price of a visit for which these
    intervals are best, so visiting the highest first keeps all pages at one price.
    """
    u = rates * since
    # Where little is expected to have changed the difference of two numbers near one would be noise.
    small = u < 1e-4
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = (1.0 - (1.0 + u) * np.exp(-u)) / rates
    worth = np.where(small, rates * since**2 * (0.5 - u / 3.0), worth)
    return np.where(np.isfinite(rates), weights * worth, 0.0)
