"""Phase 2: visits are a pause apart, and freshness matches its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.revisit import phases
from tarantula.revisit.experiments.experiment import synthetic_pages
from tarantula.revisit.model import ModelReading, Pages, VisitLimits, even_freshness_of_pages
from tarantula.revisit.phases import even_visits, merge_visits, server_slots
from tarantula.revisit.schedule import schedule_freshness, schedule_staleness

READINGS = pytest.mark.parametrize("reading", list(ModelReading))


@READINGS
@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    politeness=st.floats(0.01, 60.0),
    more=st.floats(1.0, 3.0),
)
def test_slots_are_within_the_horizon_and_a_pause_apart(
    reading: ModelReading, counts: list[int], politeness: float, more: float
) -> None:
    limits = VisitLimits(politeness * (max(counts) + 1) * more, politeness, 10**6)
    counts = [min(count, limits.visits_per_server) for count in counts]
    times = server_slots(np.array(counts), limits, reading)
    assert np.all((times >= 0) & (times <= limits.horizon))
    for part in np.split(times, np.cumsum(counts)[:-1]):
        assert np.all(np.diff(part) >= politeness)


def test_a_full_server_is_asked_at_every_pause() -> None:
    limits = VisitLimits(86400.0, 15.0, 10**6)
    times = server_slots(np.array([5760, 5760, 10]), limits, ModelReading.FRESH)
    assert np.diff(times[:5760]).min() == 15.0
    # Two full servers have different times.
    assert 1.0 < (times[5760] - times[0]) % 15.0 < 14.0
    assert times[-10:] == pytest.approx(86400.0 / 11 * np.arange(1, 11), abs=1e-4)


@READINGS
def test_a_single_page_on_a_server_has_optimal_freshness(reading: ModelReading) -> None:
    pages, visits = Pages.of([0.1, 0.02], [0, 1]), np.array([7, 3])
    limits = VisitLimits(100.0, 1.0, 10)
    known = even_freshness_of_pages(visits, pages.changes(100.0), reading)
    assert schedule_freshness(merge_visits(visits, pages, limits, reading), pages, limits, reading) == pytest.approx(
        known, abs=1e-6
    )
    assert schedule_freshness(even_visits(visits, pages, limits, reading), pages, limits, reading) == pytest.approx(
        known
    )


@READINGS
def test_schedule_freshness_matches_a_sampled_clock(reading: ModelReading) -> None:
    pages = Pages.of([0.05, 0.2, 0.0], [0, 0, 0])
    limits = VisitLimits(60.0, 1.0, 100)
    schedule = merge_visits(np.array([2, 5, 0]), pages, limits, reading)
    moments = np.linspace(0.0, 60.0, 20_001)
    for page, rate in enumerate(pages.rates):
        visits = schedule.times[schedule.pages == page]
        if reading is ModelReading.FRESH:
            visits = np.append(0.0, visits)
        elif len(visits):
            visits = np.append(visits[-1] - 60.0, visits)
        since = np.array([m - visits[visits <= m].max(initial=-np.inf) for m in moments])
        expected = np.exp(-rate * since).mean() if len(visits) else 0.0
        assert schedule_freshness(schedule, pages, limits, reading)[page] == pytest.approx(expected, abs=2e-3)


def test_merging_costs_little_and_even_visits_are_a_bound() -> None:
    pages = synthetic_pages(20_000, 40, 1.0, 0.01 / 3600, 1 / 3600)
    limits = VisitLimits(86400.0, 15.0, 10**6)
    visits = phases.allocate_politely(pages, limits, ModelReading.FRESH)
    merged = schedule_staleness(
        merge_visits(visits, pages, limits, ModelReading.FRESH), pages, limits, ModelReading.FRESH
    )
    preferred = schedule_staleness(
        even_visits(visits, pages, limits, ModelReading.FRESH), pages, limits, ModelReading.FRESH
    )
    assert preferred < merged < 1.05 * preferred
