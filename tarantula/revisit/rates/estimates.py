"""Estimated change rate of each page, with its uncertainty and what it is based on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.estimators import most_likely_rates
from tarantula.revisit.rates.gamma import nearest_gamma
from tarantula.revisit.rates.history import HistoryBuilder, VisitHistories
from tarantula.revisit.rates.observations import Flags
from tarantula.revisit.rates.priors import RatePriors, estimate_priors

REGULAR_GAP_TOLERANCE = 0.1
"""Largest difference of the gaps of regular visits, as a share of the longest gap."""
FEWEST_REGULAR_VISITS = 10
"""Regular visits from which on Cho's estimator is used without a prior."""


class EstimateBasis(IntEnum):
    """Basis of an estimate."""

    PRIOR = 0
    """Other pages: the page was never visited again."""
    IRREGULAR = 1
    """Its visits, by the most likely rate, and its prior."""
    REGULAR = 2
    """Many visits at even gaps, by Cho's estimator."""
    REPORTED = 3
    """Its visits, and change times reported by a trusted server."""


@dataclass(frozen=True)
class RateEstimates:
    """Estimates for each page of `VisitHistories`, in the same order."""

    histories: VisitHistories
    priors: RatePriors
    rates: Floats
    """Estimated changes a second."""
    shapes: Floats
    """Shape of the Gamma distribution of the rate: the equivalent number of observed changes."""
    scales: Floats
    """Scale of the Gamma distribution: the seconds of their observation."""
    bases: Ints
    """An `EstimateBasis` for each page."""
    trusted_servers: Flags
    """Which servers are trusted, by server number."""


def estimate_rates(builder: HistoryBuilder) -> RateEstimates:
    """Estimate the rates of all pages of a history."""
    histories, trusted_servers = builder.histories(), builder.last_modified.trusted()
    priors = estimate_priors(histories, builder.change_counts())
    count, is_trusted = len(histories), trusted_servers[histories.servers]
    is_reported = ~np.isnan(histories.ages) & is_trusted[histories.changed]
    known = np.bincount(histories.changed[is_reported], minlength=count).astype(np.float64)
    quiet = histories.quiet + np.bincount(histories.changed[is_reported], histories.ages[is_reported], count)
    # The first Last-Modified may be the creation of the page, which is not a change.
    quiet += np.where(is_trusted, histories.before, 0.0)
    is_unreported = ~is_reported
    starts = np.searchsorted(histories.changed[is_unreported], np.arange(count + 1)).astype(np.int64)
    evidence = known + priors.shape, quiet + priors.seconds, starts, histories.gaps[is_unreported]
    rates = most_likely_rates(*evidence)
    shapes, scales = nearest_gamma(*evidence, rates)
    bases = np.where(histories.visits > 0, EstimateBasis.IRREGULAR, EstimateBasis.PRIOR)
    bases = np.where(is_trusted & ((known > 0) | (histories.before > 0)), EstimateBasis.REPORTED, bases)
    bases = np.where(_has_regular_visits(histories) & (bases == EstimateBasis.IRREGULAR), EstimateBasis.REGULAR, bases)
    regular = bases == EstimateBasis.REGULAR
    rates = np.where(regular, _by_cho(histories), rates)
    scales = np.where(regular, shapes / rates, scales)
    return RateEstimates(histories, priors, rates, shapes, scales, bases, trusted_servers)


def _has_regular_visits(histories: VisitHistories) -> Flags:
    """Return which pages have enough visits at even gaps, some with a change and some without."""
    is_even = histories.longest - histories.shortest <= REGULAR_GAP_TOLERANCE * histories.longest
    some = (histories.changes > 0) & (histories.changes < histories.visits)
    return is_even & (histories.visits >= FEWEST_REGULAR_VISITS) & some


def _by_cho(histories: VisitHistories) -> Floats:
    """Return Cho's estimate for each page, as `tarantula.revisit.rates.estimators.cho_rate` computes it for one."""
    unchanged = histories.visits - histories.changes
    gaps = np.maximum((histories.longest + np.minimum(histories.shortest, histories.longest)) / 2, 1e-9)
    return -np.log((unchanged + 0.5) / (histories.visits + 0.5)) / gaps
