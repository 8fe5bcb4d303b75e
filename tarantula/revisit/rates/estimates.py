"""How often each page is believed to change: by what its own visits found, and before them by what others did."""

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
"""By how much of the longest gap the gaps of regular visits may differ."""
FEWEST_REGULAR_VISITS = 10
"""Regular visits after which a page stands on its own."""


class EstimateBasis(IntEnum):
    """What a belief stands on."""

    PRIOR = 0
    """Other pages: it was never visited again."""
    IRREGULAR = 1
    """Its visits, by the most likely rate, and what was believed before them."""
    REGULAR = 2
    """Many visits at even gaps, by Cho's estimator."""
    TOLD = 3
    """Its visits, and what an honest server said of the times of its changes."""


@dataclass(frozen=True)
class RateEstimates:
    """What is believed of each page of `Histories`, in the same order."""

    histories: VisitHistories
    priors: RatePriors
    rates: Floats
    """Changes a second, as they are estimated."""
    shapes: Floats
    """As how many changes all that is known of it counts."""
    scales: Floats
    """In how many seconds so many changes would have been seen."""
    grounds: Ints
    """A `Ground` each."""
    honest: Flags
    """Which servers are believed, by their numbers."""


def estimate_rates(ledger: HistoryBuilder) -> RateEstimates:
    """Return what is believed after all that was seen."""
    histories, honest = ledger.histories(), ledger.honesty.believed()
    priors = estimate_priors(histories, ledger.tally())
    count, trusted = len(histories), honest[histories.servers]
    told = ~np.isnan(histories.ages) & trusted[histories.changed]
    known = np.bincount(histories.changed[told], minlength=count).astype(np.float64)
    quiet = histories.quiet + np.bincount(histories.changed[told], histories.ages[told], count)
    # That it is there since then may be its beginning, and no change.
    quiet += np.where(trusted, histories.before, 0.0)
    untold = ~told
    starts = np.searchsorted(histories.changed[untold], np.arange(count + 1)).astype(np.int64)
    evidence = known + priors.shape, quiet + priors.seconds, starts, histories.gaps[untold]
    rates = most_likely_rates(*evidence)
    shapes, scales = nearest_gamma(*evidence, rates)
    grounds = np.where(histories.visits > 0, EstimateBasis.IRREGULAR, EstimateBasis.PRIOR)
    grounds = np.where(trusted & ((known > 0) | (histories.before > 0)), EstimateBasis.TOLD, grounds)
    grounds = np.where(_is_regular(histories) & (grounds == EstimateBasis.IRREGULAR), EstimateBasis.REGULAR, grounds)
    regular = grounds == EstimateBasis.REGULAR
    rates = np.where(regular, _by_cho(histories), rates)
    scales = np.where(regular, shapes / rates, scales)
    return RateEstimates(histories, priors, rates, shapes, scales, grounds, honest)


def _is_regular(histories: VisitHistories) -> Flags:
    """Return which pages were visited at even gaps, and often enough, and changed sometimes and sometimes not."""
    is_even = histories.longest - histories.shortest <= REGULAR_GAP_TOLERANCE * histories.longest
    some = (histories.changes > 0) & (histories.changes < histories.visits)
    return is_even & (histories.visits >= FEWEST_REGULAR_VISITS) & some


def _by_cho(histories: VisitHistories) -> Floats:
    """Return Cho's estimator for each page, as `tarantula.revisit.rates.estimators.cho_rate` has it for one."""
    unchanged = histories.visits - histories.changes
    gaps = np.maximum((histories.longest + np.minimum(histories.shortest, histories.longest)) / 2, 1e-9)
    return -np.log((unchanged + 0.5) / (histories.visits + 0.5)) / gaps
