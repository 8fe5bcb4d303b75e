"""Estimated change rates of pages, with priors from the pages of the same server and type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy.special import logsumexp, roots_genlaguerre

from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.estimators import RatePrior, most_likely_rates, nearest_gamma
from tarantula.revisit.rates.history import ChangeCounts, Flags, HistoryBuilder, VisitHistories

SECONDS_PER_DAY = 86_400.0
REGULAR_GAP_TOLERANCE = 0.1
"""Largest difference of the gaps of regular visits, as a share of the longest gap."""
FEWEST_REGULAR_VISITS = 10
"""Regular visits from which on Cho's estimator is used without a prior."""


DEFAULT_PRIOR = RatePrior(1.0, 30 * SECONDS_PER_DAY)
"""Prior without any data: about one change in thirty days."""
POOL_FACTOR = 3.0
"""One standard deviation of the factor between the mean rate of a pool and that of the pool above it."""
PUBLICATION_FACTOR = 100.0
"""One standard deviation of the factor between a publication and the default prior."""
TRIED_SHAPES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0)
"""From pages that differ much to pages that are nearly alike."""
PRIOR_LEVELS = ("default", "publication", "type", "server", "server and type")
SAMPLED_PAGES = 20_000
"""Most pages used to estimate the shape."""
QUADRATURE_NODES = 32
_STEPS = np.linspace(-6.0, 6.0, 121)
"""Exponents of ten that are tried for the factor of a pool."""


@dataclass(frozen=True)
class RatePriors:
    """Priors of all pages."""

    shape: float
    """Shape of all priors: the equivalent number of observed changes."""
    rates: Floats
    """Mean rates, in changes a second."""
    levels: Ints
    """Index into `PRIOR_LEVELS` of the pool of each page."""

    @property
    def seconds(self) -> Floats:
        """Equivalent seconds of observation."""
        seconds: Floats = self.shape / self.rates
        return seconds


def estimate_priors(histories: VisitHistories, change_counts: ChangeCounts) -> RatePriors:
    """Return the priors of all pages, with the shape that maximises the likelihood."""
    chosen = np.flatnonzero(histories.visits >= 2)
    chosen = chosen[:: len(chosen) // SAMPLED_PAGES + 1]
    place = TRIED_SHAPES.index(DEFAULT_PRIOR.changes)
    best = _pooled(histories, change_counts, DEFAULT_PRIOR.changes)
    if not len(chosen):
        return best
    likely = _likelihood(histories, chosen, best)
    for step in (-1, 1):
        while 0 <= place + step < len(TRIED_SHAPES):
            other = _pooled(histories, change_counts, TRIED_SHAPES[place + step])
            if (found := _likelihood(histories, chosen, other)) <= likely:
                break
            best, likely, place = other, found, place + step
    return best


def _pooled(histories: VisitHistories, change_counts: ChangeCounts, shape: float) -> RatePriors:
    servers, types = _pool(change_counts.servers), _pool(change_counts.types)
    width = int(max(change_counts.types.max(initial=0), histories.types.max(initial=0))) + 1
    both = _pool(change_counts.servers * width + change_counts.types)
    nothing = np.zeros(len(change_counts.gaps), dtype=np.int64)
    of_all = _most_likely(change_counts, nothing, np.array([DEFAULT_PRIOR.rate]), shape, PUBLICATION_FACTOR)
    of_types = _most_likely(change_counts, types.places, np.repeat(of_all, len(types.names)), shape)
    of_servers = _most_likely(change_counts, servers.places, np.repeat(of_all, len(servers.names)), shape)
    parents = of_servers[servers.number_of(both.names // width)] if len(both.names) else of_servers
    of_both = _most_likely(change_counts, both.places, parents, shape)
    rates = np.full(len(histories), of_all[0] if len(change_counts.gaps) else DEFAULT_PRIOR.rate)
    levels = np.full(len(histories), 1 if len(change_counts.gaps) else 0)
    for level, pool, found, to_revisit in (
        (2, types, of_types, histories.types),
        (3, servers, of_servers, histories.servers),
        (4, both, of_both, histories.servers * width + histories.types),
    ):
        number = pool.number_of(to_revisit)
        rates = np.where(number >= 0, np.append(found, 0.0)[number], rates)
        levels = np.where(number >= 0, level, levels)
    return RatePriors(shape, rates, levels)


@dataclass(frozen=True)
class _Pool:
    """Sorted distinct keys, and the index of the key of each row."""

    names: Ints
    places: Ints

    def number_of(self, names: Ints) -> Ints:
        """Return the indexes of keys; -1 for unknown keys."""
        if not len(self.names):
            return np.full(len(names), -1)
        number = np.minimum(np.searchsorted(self.names, names), len(self.names) - 1)
        return np.where(self.names[number] == names, number, -1)


def _pool(names: Ints) -> _Pool:
    return _Pool(*np.unique(names, return_inverse=True))


def _most_likely(
    change_counts: ChangeCounts, places: Ints, parents: Floats, shape: float, factor: float = POOL_FACTOR
) -> Floats:
    """Return the most likely mean rate of each pool, given that of its parent.

    The probability that a page of the pool has no change in t seconds is (1 + rt/shape)^−shape.
    """
    best, found = np.full(len(parents), -np.inf), parents.copy()
    # First in steps of a tenth of a power of ten, then within the best step.
    for width in (1.0, 1 / 60):
        middle = found.copy()
        for power in _STEPS * width:
            rates = middle * 10.0**power
            still = -shape * np.log1p(rates[places] * change_counts.gaps / shape)
            changed = np.log(-np.expm1(np.minimum(still, -1e-300)))
            seen = change_counts.unchanged * still + change_counts.changed * changed
            log_factor = np.log(rates / parents) / np.log(factor)
            likely = np.bincount(places, seen, len(parents)) - log_factor**2 / 2
            better = likely > best
            best, found = np.where(better, likely, best), np.where(better, rates, found)
    return found


def _likelihood(histories: VisitHistories, chosen: Ints, priors: RatePriors) -> float:
    """Return the log likelihood of the histories of some pages, integrated over their rates."""
    nodes, weights = roots_genlaguerre(QUADRATURE_NODES, priors.shape - 1.0)
    places = np.minimum(np.searchsorted(chosen, histories.changed), len(chosen) - 1)
    own = chosen[places] == histories.changed
    places, gaps = places[own], histories.gaps[own]
    terms = np.empty((len(chosen), len(nodes)))
    for number, node in enumerate(nodes):
        tried = priors.rates[chosen] * node / priors.shape
        changed = np.log(-np.expm1(np.minimum(-tried[places] * gaps, -1e-300)))
        terms[:, number] = np.bincount(places, changed, len(chosen)) - tried * histories.quiet[chosen]
    return float(logsumexp(terms, axis=1, b=weights / weights.sum()).sum())


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
