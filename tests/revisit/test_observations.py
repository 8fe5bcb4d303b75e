"""Observations of visits, and pairs of successive ones."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarantula.revisit.rates.history import (
    FIRST_BODY,
    GONE,
    NO_OBSERVATION,
    REDIRECT,
    Observations,
    observed_contents,
    parse_http_dates,
    visit_pairs,
)

MOMENTS = st.integers(0, 7_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


def observations_of(*rows: tuple[int, float, int]) -> Observations:
    pages, times, contents = (np.array(column) for column in zip(*rows, strict=True))
    return Observations.of(
        pages, times.astype(float), contents, np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool)
    )


@given(st.lists(MOMENTS))
def test_http_dates_are_parsed(moments: list[datetime]) -> None:
    written = [format_datetime(moment, usegmt=True) for moment in moments]
    assert parse_http_dates(written).tolist() == [moment.timestamp() for moment in moments]


@given(st.lists(st.none() | st.text(max_size=40) | st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} .{12}")))
def test_invalid_dates_become_nan(written: list[str | None]) -> None:
    read = parse_http_dates(written)
    assert len(read) == len(written)
    assert not np.isinf(read).any()


def test_errors_are_ignored_and_redirects_or_missing_pages_are_changes() -> None:
    states = np.array([200, 200, 301, 404, 410, 403, 429, 503, -10, -6, 0])
    bodies = np.arange(FIRST_BODY, FIRST_BODY + len(states))
    assert observed_contents(states, bodies).tolist() == [
        FIRST_BODY, FIRST_BODY + 1, REDIRECT, GONE, GONE, GONE, NO_OBSERVATION, NO_OBSERVATION, NO_OBSERVATION,
        NO_OBSERVATION, NO_OBSERVATION,
    ]  # fmt: skip


def test_visits_are_sorted_and_failed_ones_lengthen_the_gap() -> None:
    pairs = visit_pairs(
        observations_of((1, 50.0, 7), (0, 30.0, 4), (0, 10.0, 3), (0, 20.0, NO_OBSERVATION), (1, 40.0, 7), (2, 1.0, 3))
    )
    assert pairs.pages.tolist() == [0, 1]
    assert pairs.gaps.tolist() == [20.0, 10.0]
    assert pairs.changed.tolist() == [True, False]


def test_carried_over_captures_are_not_visits() -> None:
    pairs = visit_pairs(observations_of((0, 10.0, 3), (0, 10.0, 3), (0, 20.0, 3), (0, 20.0, 3)))
    assert pairs.gaps.tolist() == [10.0]


def test_no_observations_give_no_pairs() -> None:
    nothing = observations_of((0, 1.0, NO_OBSERVATION))
    assert len(nothing) == 0
    assert len(visit_pairs(nothing).gaps) == 0
