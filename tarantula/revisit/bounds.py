"""Bounds on the staleness of any schedule under the same limits."""

from __future__ import annotations

from math import exp
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from scipy.special import lambertw

from tarantula.revisit import phases
from tarantula.revisit.changes import Laws, freshness_by_law
from tarantula.revisit.model import (
    Floats,
    Ints,
    ModelReading,
    Pages,
    VisitLimits,
    even_freshness_of_pages,
    visit_gain,
    weighted_mean,
)
from tarantula.revisit.phases import AllocationFunction
from tarantula.revisit.policies import psp
from tarantula.revisit.schedule import schedule_staleness
from tarantula.revisit.slot_market import (
    FEWEST_LOTS,
    best_visits,
    divide_into_lots,
    fill_powers,
    find_prices,
    has_profitable_visit,
    initial_prices,
    least_visit_gain,
    work_arrays,
)

GAP_TOLERANCE = 0.001
"""Most that the grid of time points may add to the worth of a gap, as a share, if the points are not too many."""
BISECTION_STEPS = 200
"""Most bisection steps for a price."""
PRICE_TOLERANCE = 1e-12
"""Relative tolerance of a price."""


ENOUGH_POINTS, MOST_POINTS = 1 << 11, 1 << 16

PRICE_FIRMNESS = np.linspace(0.3, 0.02, 20)
"""Price steps per round; only the prices count here, not the crowding, so the steps are small."""
SERVER_VISITS_PER_LOT, CRAWLER_VISITS_PER_LOT = 16, 128
"""Visits per lot of the sampled pages, when prices of one server and of all crawlers are computed."""
LEAST_PRICE_SHARE = 1 / 32
"""Least price of any time, as a share of the price in the middle; at price 0 a page would have unlimited visits."""


@njit(cache=True)
def refine_prices(nodes, times):  # type: ignore[no-untyped-def]
    """Interpolate prices linearly to a grid *times* times as fine as the nodes."""
    points = times * (len(nodes) - 1) + 1
    return np.interp(np.arange(points) / times, np.arange(len(nodes)) * 1.0, nodes)


@njit(cache=True)
def most_paid(nodes, horizon, pause):  # type: ignore[no-untyped-def]
    """Return an upper bound on what visits that are a pause apart can pay, at prices linear between the nodes.

    A visit pays the mean price from half a pause before to half a pause after it, except where prices bend within this
    interval: where the slope falls by d, the price may exceed the mean by at most d/8 times the pause. The intervals of
    different visits do not overlap.
    """
    step = horizon / (len(nodes) - 1)
    area = step * (nodes.sum() - (nodes[0] + nodes[-1]) / 2) + pause / 2 * (nodes[0] + nodes[-1])
    bends, slope = 0.0, 0.0
    for node in range(1, len(nodes)):
        following = (nodes[node] - nodes[node - 1]) / step
        bends += max(0.0, slope - following)
        slope = following
    return area / pause + (bends + max(0.0, slope)) * pause / 8


@njit(cache=True)
def page_surplus(nodes, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return an upper bound on the total surplus (worth less prices paid) of pages that choose their own visits."""
    total, cheapest = 0.0, nodes.min()
    refinement = np.empty(len(rates), np.int64)
    for page in range(len(rates)):
        refinement[page] = _refinement(rates[page], weights[page], horizon, len(nodes) - 1, cheapest)
        if refinement[page] == 0:
            total += weights[page] * (visit_gain(0, rates[page] * horizon, True) if rates[page] < np.inf else 0.0)
        elif refinement[page] * (len(nodes) - 1) > MOST_POINTS:
            total += weights[page]
    times = 1
    while times * (len(nodes) - 1) <= MOST_POINTS:
        chosen = np.flatnonzero(refinement == times)
        if len(chosen):
            total += _surplus_on_grid(refine_prices(nodes, times), rates[chosen], weights[chosen], horizon)
        times *= 2
    return total


@njit(cache=True)
def _refinement(rate, weight, horizon, steps, cheapest):  # type: ignore[no-untyped-def]
    """Return the grid refinement that a page needs; 0 if no visit can be worth its price to this page."""
    if not 0.0 < rate < np.inf or weight / (rate * horizon) <= cheapest:
        return 0
    times = 1
    while times * steps <= MOST_POINTS:
        slack = _grid_slack(rate * horizon / (times * steps))
        if slack * weight / (rate * horizon) <= cheapest and (slack <= GAP_TOLERANCE or times * steps >= ENOUGH_POINTS):
            break
        times *= 2
    return times


@njit(cache=True)
def _grid_slack(changes):  # type: ignore[no-untyped-def]
    """Return the largest relative gain of a gap if its ends may lie between grid points that are *changes* apart."""
    return changes**2 / 2 * exp(changes) if changes < 2.0 else np.inf


@njit(cache=True)
def _surplus_on_grid(prices, rates, weights, horizon):  # type: ignore[no-untyped-def]
    """Return an upper bound on the surplus of pages with visits at any time, from their best visits on the grid.

    Freshness is concave in the times of visits, prices are linear between grid points, and at a best visit between two
    points the slope is zero. Moving each visit to the nearest point therefore costs at most half the bend of each gap.
    Two visits that move to the same point become one: the price exceeds what the bend of an empty gap adds.
    """
    surplus, step = 0.0, horizon / (len(prices) - 1)
    powers, worths, follows, hull = work_arrays(len(prices))
    for page in range(len(rates)):
        worth, rate = weights[page] / (rates[page] * horizon), rates[page]
        decay = worth * max(0.0, 1.0 - _grid_slack(rate * step))
        fill_powers(rate, step, powers)
        most = worth * (1.0 - exp(-rate * horizon))
        if has_profitable_visit(worth, decay, 1.0, 1.0, prices, powers):
            most = max(most, best_visits(worth, decay, 1.0, 1.0, prices, powers, worths, follows, hull)[1])
        surplus += most
    return surplus


def polite_bound(pages: Pages, limits: VisitLimits, reading: ModelReading) -> float:
    """Return a staleness that no polite schedule is below; in the steady state, where all times are equal, it is WP."""
    visits = phases.cached_allocation(phases.allocate_politely, pages, limits, reading)
    fresh = pages.weights * even_freshness_of_pages(visits, pages.changes(limits.horizon), reading)
    most = float(fresh.sum())
    if reading is ModelReading.FRESH and visits.any():
        most = min(most, _most_worth(visits, fresh, pages, limits))
    return 1.0 - most / float(pages.weights.sum())


def _most_worth(visits: Ints, fresh: Floats, pages: Pages, limits: VisitLimits) -> float:
    """Return an upper bound on the worth of any schedule, from prices of time."""
    of_server = np.bincount(pages.servers, visits, len(pages.starts) - 1)
    is_full = (of_server >= limits.visits_per_server) & (of_server > 1)
    crawlers = _crawler_prices(visits, is_full, pages, limits)
    if crawlers is None:
        # One price for all visits. Servers below their limit have even visits at this price.
        price = _price_of_all_visits(visits, pages, limits)
        crawlers = _CrawlerPrices(np.full(FEWEST_LOTS + 1, price), price * int(visits.sum()))
        most = np.bincount(pages.servers, fresh - price * visits, len(of_server))
        chosen = np.flatnonzero(is_full)
    else:
        most = np.where(np.diff(pages.starts) > 0, np.inf, 0.0)
        chosen = np.flatnonzero(np.diff(pages.starts))
    # Largest servers first, interleaved, so that parallel threads get about equal work.
    chosen = chosen[np.argsort(-np.diff(pages.starts)[chosen], kind="stable")]
    chosen = np.concatenate([chosen[::2], chosen[1::2]])
    _lower_server_bounds(
        chosen, is_full, visits, pages.starts, pages.rates, pages.weights,
        limits.horizon, limits.politeness, crawlers.prices, most,
    )  # fmt: skip
    return float(most.sum()) + crawlers.paid


class _CrawlerPrices(NamedTuple):
    """Prices that crawlers charge."""

    prices: Floats
    """At even times over the horizon, linear between them."""
    paid: float
    """Upper bound on the sum of prices that all visits pay."""


def _crawler_prices(
    visits: Ints, is_full: NDArray[np.bool_], pages: Pages, limits: VisitLimits
) -> _CrawlerPrices | None:
    """Return the prices of crawlers by time; None if they could make one more visit, or cannot choose among servers."""
    if visits.sum() < limits.visits or not limits.crawlers or limits.possible_visits >= limits.visits + 1:
        return None
    free = np.flatnonzero(~is_full[pages.servers] & (visits > 0))
    if visits[free].sum() < 2:
        return None
    # Full servers take the same share of all times; these pages choose from the rest.
    no_prices = np.zeros(FEWEST_LOTS + 1)
    prices = _prices(
        visits[free], pages.rates[free], pages.weights[free], limits.horizon, no_prices, CRAWLER_VISITS_PER_LOT
    )
    seconds, crawlers = np.unique(limits.crawlers, return_counts=True)
    total = sum(
        number * float(most_paid(prices, limits.horizon, pause))
        for pause, number in zip(seconds, crawlers, strict=True)
    )
    return _CrawlerPrices(prices, total)


def _price_of_all_visits(visits: Ints, pages: Pages, limits: VisitLimits) -> float:
    """Return the gain of the least valuable visit if only the total number of visits limits further ones, else 0."""
    if visits.sum() < limits.visits:
        return 0.0
    return float(least_visit_gain(pages.changes(limits.horizon), pages.weights, visits))


@njit(cache=True, parallel=True)
def _lower_server_bounds(servers, is_full, visits, starts, rates, weights, horizon, pause, base, most):  # type: ignore[no-untyped-def]
    """Lower the bound of each given server to its surplus at prices plus what it is paid, where that is less."""
    for number in prange(len(servers)):
        server = servers[number]
        first, last = starts[server], starts[server + 1]
        most[server] = min(
            most[server],
            _server_worth(
                is_full[server], visits[first:last], rates[first:last], weights[first:last], horizon, pause, base
            ),
        )


@njit(cache=True)
def _server_worth(is_full, visits, rates, weights, horizon, pause, base):  # type: ignore[no-untyped-def]
    """Return the surplus of one server's pages plus what the server is paid.

    A function of its own: within a parallel loop, numba 0.68 takes *nodes* for as long as *base*, and computes only
    that part of their difference.
    """
    if not is_full:
        return page_surplus(base, rates, weights, horizon)
    nodes = _prices(visits, rates, weights, horizon, base, SERVER_VISITS_PER_LOT)
    own = most_paid(nodes - refine_prices(base, (len(nodes) - 1) // (len(base) - 1)), horizon, pause)
    return page_surplus(nodes, rates, weights, horizon) + own


@njit(cache=True)
def _prices(visits, rates, weights, horizon, base, visits_per_lot):  # type: ignore[no-untyped-def]
    """Return market prices that are nowhere below *base*, on the grid of *base* or a finer one."""
    count = visits.sum()
    times = (np.arange(count) + 0.5) * (horizon / count)
    points, room, others, _, _ = divide_into_lots(visits, times, rates, weights, horizon)
    middle_price = least_visit_gain(rates * horizon, weights, visits)
    prices = initial_prices(points, horizon, middle_price, horizon / (count / max((visits > 0).sum(), 1) + 1))
    find_prices(
        rates[others], weights[others], visits[others], horizon, points, room, prices, PRICE_FIRMNESS, visits_per_lot
    )
    refinement = 1
    while 1.5 * refinement * (len(base) - 1) < len(points):
        refinement *= 2
    floor = refine_prices(base, refinement)
    nodes = np.interp(np.linspace(0.0, horizon, len(floor)), points, prices)
    return np.maximum(nodes, np.maximum(floor, LEAST_PRICE_SHARE * middle_price))


class StalenessBound(Protocol):
    """Lower bound on the staleness of pages."""

    def __call__(self, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
        """Return the staleness; by default for Poisson changes."""
        ...


def non_polite(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the least staleness if only the total number of visits is limited."""
    return _even_staleness(phases.allocate_impolitely, pages, limits, reading, laws)


def weak_politeness(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the least staleness if servers limit the number of their visits, but not the pause between them."""
    return _even_staleness(phases.allocate_politely, pages, limits, reading, laws)


def politeness(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the least staleness under the limits of servers and crawlers; for other laws than Poisson's it is WP."""
    return polite_bound(pages, limits, reading) if laws is None else weak_politeness(pages, limits, reading, laws)


def infinite_crawlers(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> float:
    """Return the staleness of PSP's schedule if a crawler is free whenever a visit is due."""
    return schedule_staleness(psp(pages, limits, reading), pages, limits, reading, laws)


BOUNDS: dict[str, StalenessBound] = {
    "NonPolite": non_polite,
    "WP": weak_politeness,
    "PoliteBound": politeness,
    "InfCrawlers": infinite_crawlers,
}


def all_bounds(pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None = None) -> dict[str, float]:
    """Return all bounds by name."""
    others = laws if laws is not None and laws.any() else None
    return {name: bound(pages, limits, reading, others) for name, bound in BOUNDS.items()}


def _even_staleness(
    allocation: AllocationFunction, pages: Pages, limits: VisitLimits, reading: ModelReading, laws: Laws | None
) -> float:
    """Return the staleness of pages with the optimal numbers of visits, each page at even intervals."""
    changes = pages.changes(limits.horizon)
    if laws is None:
        fresh = even_freshness_of_pages(phases.cached_allocation(allocation, pages, limits, reading), changes, reading)
    else:
        fresh = freshness_by_law(laws, allocation(pages, limits, reading, laws), changes, reading)
    return 1.0 - weighted_mean(fresh, pages.weights)


class OptimalFrequencies(NamedTuple):
    """Optimal frequencies and the marginal worth of a visit."""

    frequencies: Floats
    """Visits a second to each page."""
    prices: Floats
    """Price of a visit to each server, in freshness times seconds."""


def optimal_frequencies(pages: Pages, limits: VisitLimits) -> OptimalFrequencies:
    """Return the optimal visit frequencies in the steady state, under the limits of each server and of all."""
    of_server = np.full(len(pages.starts) - 1, 1.0 / limits.politeness)
    server_prices = _frequency_prices(pages, of_server)
    total = limits.visits / limits.horizon

    def demand(price: float) -> float:
        return float(_frequencies(pages, np.maximum(server_prices, price)[pages.servers]).sum())

    low, high = 0.0, _prohibitive_price(pages)
    if demand(0.0) > total:
        for _ in range(BISECTION_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if demand(middle) > total else (low, middle)
            if high - low <= PRICE_TOLERANCE * high:
                break
    prices = np.maximum(server_prices, high if demand(0.0) > total else 0.0)
    return OptimalFrequencies(_frequencies(pages, prices[pages.servers]), prices)


def steady_freshness(pages: Pages, frequencies: Floats) -> Floats:
    """Return the freshness of pages with even visits of these frequencies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = pages.rates / frequencies
        fresh = -np.expm1(-changes) / changes
    fresh = np.where(frequencies > 0, np.where(pages.rates > 0, fresh, 1.0), 0.0)
    return np.where(np.isfinite(fresh), fresh, 0.0)


def _frequency_prices(pages: Pages, limits: Floats) -> Floats:
    """Return the price at which the demand for each server equals its limit; 0 for a server without demand."""
    low, high = np.zeros(len(limits)), np.full(len(limits), _prohibitive_price(pages))
    # At price 0 the demand would be infinite.
    has_demand = np.bincount(pages.servers[_can_gain(pages)], minlength=len(limits)) > 0
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        above = _demands(pages, middle) > limits
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        if np.all(high - low <= PRICE_TOLERANCE * high):
            break
    return np.where(has_demand, high, 0.0)


def _demands(pages: Pages, prices: Floats) -> Floats:
    frequencies = _frequencies(pages, prices[pages.servers])
    return np.bincount(pages.servers, weights=frequencies, minlength=len(prices)).astype(np.float64)


def _prohibitive_price(pages: Pages) -> float:
    """Return a price at which no page demands a visit."""
    changing = pages.rates > 0
    worth = pages.weights[changing] / pages.rates[changing]
    return float(worth.max(initial=0.0)) or 1.0


def _frequencies(pages: Pages, prices: Floats) -> Floats:
    """Return the optimal frequency of each page at its price: f = λ/u, u = −1 − W₋₁(−(1 − c)/e)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = prices * pages.rates / pages.weights
        u = -1.0 - lambertw(-(1.0 - cost) / np.e, k=-1).real
        frequency = pages.rates / u
    return np.where(_can_gain(pages) & (cost < 1.0), frequency, 0.0)


def _can_gain(pages: Pages) -> NDArray[np.bool_]:
    """Return which pages can gain from visits: they change, but not all the time, and have a weight."""
    return (pages.rates > 0) & np.isfinite(pages.rates) & (pages.weights > 0)
