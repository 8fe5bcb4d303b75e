"""Chart points agree with the window's events, whatever was aggregated, and the result says when it is not exact."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.streams.history import (
    HistoryPoints,
    apply_retention,
    chart_points,
    chart_points_of,
    store_events,
    window_summary,
)
from tarantula.streams.kinds import Aggregation
from tarantula.streams.sources.retention import Grain
from tests.support.histories import at, event, new_series, sum_up_all, summed, written

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
BEGIN = at("2026-03-25 00:00")
ZONE = "Europe/Lisbon"


def some_events(number: int, length: int, seed: int = 3) -> list[tuple[int, str]]:
    dice = Random(seed)
    moments = sorted({BEGIN + dice.randrange(length) for _ in range(number)})
    return [(moment, f"{dice.randrange(-500, 500) / 100}") for moment in moments]


def check(drawn: HistoryPoints, values: list[tuple[int, str]], most: int) -> None:
    """Assert that every point agrees with its events, and that every event of the window is in exactly one point."""
    inside = [(moment, value) for moment, value in values if drawn.begin <= moment < drawn.end]
    assert drawn.is_exact
    assert len(drawn.points) <= most
    assert sum(point.summary.count for point in drawn.points) == len(inside)
    place = 0
    for point in drawn.points:
        mine = inside[place : place + point.summary.count]
        place += point.summary.count
        expected = summed([value for _, value in mine])
        assert point.at <= mine[0][0]
        summary = point.summary
        assert (
            summary.count, summary.value(Aggregation.SUM), summary.minimum, summary.maximum, summary.first, summary.last
        ) == expected[:6]  # fmt: skip
    before = [value for moment, value in values if moment < drawn.begin]
    assert drawn.before == (before[-1] if before else None)


@pytest.mark.parametrize("is_summed", [True, False, None], ids=["summed", "raw", "half"])
def test_any_window_is_exact(database: Database, is_summed: bool | None) -> None:
    values = some_events(1200, 20 * DAY)
    dice = Random(5)
    with database.session() as session:
        series = new_series(session, ZONE)
        store_events(session, [event(series, *one) for one in values[: None if is_summed is not None else 800]])
    if is_summed is not False:
        sum_up_all(database, now=BEGIN + 10 * DAY if is_summed is None else BEGIN + 400 * DAY)
    with database.session() as session:
        store_events(session, [event(series, *one) for one in values])
    with database.reading() as session:
        for length in (SECOND, 90 * SECOND, HOUR, 7 * HOUR, DAY, 3 * DAY, 20 * DAY, 300 * DAY, 9000 * DAY):
            begin = BEGIN + dice.randrange(-DAY, 20 * DAY)
            for most in dice.sample([1, 2, 10, 100, 1000], 2):
                check(chart_points(session, series, begin, begin + length, most), values, most)
        whole = window_summary(session, series, BEGIN, BEGIN + 20 * DAY)
    assert whole is not None
    assert whole.value(Aggregation.SUM) == written(sum(Fraction(value) for _, value in values))


def test_the_level_that_fits_is_chosen(sqlite: Database) -> None:
    values = [(BEGIN + second * SECOND, str(second % 7)) for second in range(0, 2 * 86_400, 10)]
    with sqlite.session() as session:
        series = new_series(session, ZONE)
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(sqlite)
    with sqlite.reading() as session:
        chosen = {
            length: chart_points(session, series, BEGIN, BEGIN + length, 200)
            for length in (20 * 60 * SECOND, 2 * HOUR, DAY, 2 * DAY)
        }
        both = chart_points_of(session, [series], BEGIN, BEGIN + 2 * DAY, 20)
    assert [(drawn.grain, drawn.step) for drawn in chosen.values()] == [
        (Grain.EVENT, 0), (Grain.MINUTE, 1), (Grain.MINUTE, 10), (Grain.HOUR, 1),
    ]  # fmt: skip
    assert (both[series].grain, both[series].step) == (Grain.HOUR, 3)


def test_deleted_finer_rows_make_the_result_inexact_and_it_says_so(database: Database) -> None:
    values = some_events(2000, 40 * DAY)
    with database.session() as session:
        series = new_series(session, "UTC", retention="events=10d minutes=10d hours=10d")
        store_events(session, [event(series, *one) for one in values])
    now = BEGIN + 40 * DAY
    sum_up_all(database, now)
    assert {one.grain for one in apply_retention(database, now)} == {Grain.EVENT, Grain.MINUTE, Grain.HOUR}
    with database.reading() as session:
        exact = chart_points(session, series, BEGIN, BEGIN + 40 * DAY, 1)
        ragged = chart_points(session, series, BEGIN + 5 * HOUR, BEGIN + 8 * DAY, 100)
        newest = chart_points(session, series, now - 3 * DAY - 12345, now - 54321, 100)
    assert exact.is_exact
    assert exact.points[0].summary.count == 2000
    assert not ragged.is_exact
    assert "days" in ragged.sentence
    assert sum(point.summary.count for point in ragged.points) == sum(moment < BEGIN + 8 * DAY for moment, _ in values)
    inside = [value for moment, value in values if newest.begin <= moment < newest.end]
    assert newest.is_exact
    assert sum(point.summary.count for point in newest.points) == len(inside)


def test_a_mode_is_counted_below_or_missing(database: Database) -> None:
    values = [(BEGIN + place * SECOND, str(place % 1000)) for place in range(3000)] + [(BEGIN + 3500 * SECOND, "7")]
    with database.session() as session:
        series = new_series(session, retention="events=1h minutes=1h")
        store_events(session, [event(series, *one) for one in values])
    sum_up_all(database)
    with database.reading() as session:
        drawn = chart_points(session, series, BEGIN, BEGIN + DAY, 1, counting=True)
        assert drawn.points[0].summary.mode == "7"
        assert drawn.points[0].summary.counts == Counter(value for _, value in values)
        assert chart_points(session, series, BEGIN, BEGIN + DAY, 1).points[0].summary.mode is None
    with database.session() as session:
        # A later event, so that retention may delete the old ones.
        store_events(session, [event(series, BEGIN + 10 * DAY, "1")])
    sum_up_all(database)
    apply_retention(database, BEGIN + 11 * DAY)
    with database.reading() as session:
        assert chart_points(session, series, BEGIN, BEGIN + DAY, 1, counting=True).points[0].summary.mode is None


def test_an_invalid_window_is_refused_and_an_empty_one_has_no_points(sqlite: Database) -> None:
    with sqlite.session() as session:
        series = new_series(session)
        assert chart_points(session, series, 0, 10, 5).points == []
        assert window_summary(session, series, 0, 10) is None
        for begin, end, most in ((10, 10, 5), (10, 5, 5), (0, 10, 0)):
            with pytest.raises(TarantulaError, match=r"window|point"):
                chart_points(session, series, begin, end, most)
        with pytest.raises(TarantulaError, match="no series 77"):
            chart_points(session, 77, 0, 10, 5)
