"""Due times, across daylight saving changes and short months."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.times import PERIODS
from tarantula.publications.schedule import PublicationSchedule, latest_due, next_due

LISBON = ZoneInfo("Europe/Lisbon")
DESCRIBED = datetime(2026, 1, 10, 9, 30, 15, 42, UTC)


def plan(every: str, start: str | None = None, zone: str = "Europe/Lisbon") -> PublicationSchedule:
    moment = datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone)) if start else None
    return PublicationSchedule(every, moment, ZoneInfo(zone), DESCRIBED)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def dues(wanted: PublicationSchedule, after: str | None, number: int) -> list[str]:
    moment = utc(after) if after else None
    found = []
    for _ in range(number):
        moment = next_due(wanted, moment)
        if moment is None:
            break
        found.append(f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("every", "start", "after", "expected"),
    [
        ("daily", "2026-03-27 22:00", None, ["2026-03-27 22:00", "2026-03-28 22:00", "2026-03-29 21:00"]),
        ("daily", "2026-01-01 22:00", "2026-10-23 21:30", ["2026-10-24 21:00", "2026-10-25 22:00"]),
        ("weekly", "2026-03-23 08:00", None, ["2026-03-23 08:00", "2026-03-30 07:00", "2026-04-06 07:00"]),
        ("weekly", "2026-01-05 08:00", "2026-10-20 00:00", ["2026-10-26 08:00"]),
        (
            "monthly",
            "2026-01-31 22:00",
            None,
            ["2026-01-31 22:00", "2026-02-28 22:00", "2026-03-31 21:00", "2026-04-30 21:00", "2026-05-31 21:00"],
        ),
        ("monthly", "2026-01-31 22:00", "2028-02-01 00:00", ["2028-02-29 22:00", "2028-03-31 21:00"]),
        ("yearly", "2024-02-29 12:00", None, ["2024-02-29 12:00", "2025-02-28 12:00", "2026-02-28 12:00"]),
        ("yearly", "2024-02-29 12:00", "2027-03-01 00:00", ["2028-02-29 12:00"]),
        ("0 7 * * 1-5", "2026-03-27 07:00", None, ["2026-03-27 07:00", "2026-03-30 06:00", "2026-03-31 06:00"]),
        ("30 22 1,15 * *", "2026-03-10 00:00", None, ["2026-03-15 22:30", "2026-04-01 21:30"]),
    ],
)
def test_the_clock_of_the_zone_decides(every: str, start: str, after: str | None, expected: list[str]) -> None:
    assert dues(plan(every, start), after, len(expected)) == expected


@pytest.mark.parametrize("every", ["daily", "30 1 * * *"])
def test_an_hour_that_is_skipped_comes_when_it_is_skipped(every: str) -> None:
    assert dues(plan(every, "2026-03-28 01:30"), None, 3) == [
        "2026-03-28 01:30",
        "2026-03-29 01:00",
        "2026-03-30 00:30",
    ]


@pytest.mark.parametrize("every", ["daily", "30 1 * * *"])
def test_an_hour_that_comes_twice_counts_the_first_time(every: str) -> None:
    assert dues(plan(every, "2026-10-24 01:30"), None, 3) == [
        "2026-10-24 00:30",
        "2026-10-25 00:30",
        "2026-10-26 01:30",
    ]


def test_hourly_counts_hours_that_passed() -> None:
    spring = dues(plan("hourly", "2026-03-29 00:15"), None, 4)
    assert spring == ["2026-03-29 00:15", "2026-03-29 01:15", "2026-03-29 02:15", "2026-03-29 03:15"]
    day = plan("hourly", "2026-10-25 00:15")
    assert sum(due < "2026-10-26 00:00" for due in dues(day, None, 30)) == 25


def test_a_cron_line_of_minutes_goes_round_a_skipped_hour_without_a_repetition() -> None:
    every_quarter = dues(plan("*/15 * * * *", "2026-03-29 00:30"), None, 5)
    assert every_quarter == [f"2026-03-29 {time}" for time in ("00:30", "00:45", "01:00", "01:15", "01:30")]


def test_other_zones_have_other_clocks() -> None:
    assert dues(plan("daily", "2026-04-04 22:00", "Australia/Lord_Howe"), None, 2) == [
        "2026-04-04 11:00",
        "2026-04-05 11:30",
    ]
    assert dues(plan("daily", "2026-12-31 23:00", "Pacific/Kiritimati"), None, 2) == [
        "2026-12-31 09:00",
        "2027-01-01 09:00",
    ]


def test_once_is_once_and_only_if_somebody_said_when() -> None:
    assert dues(plan("once", "2026-06-12 22:00"), None, 2) == ["2026-06-12 21:00"]
    assert dues(plan("once"), None, 1) == []
    assert dues(plan("once", "2026-06-12 22:00"), "2026-06-12 21:00", 1) == []
    # A later date that a user sets counts.
    assert dues(plan("once", "2026-07-12 22:00"), "2026-06-12 21:00", 1) == ["2026-07-12 21:00"]


def test_a_period_without_a_start_begins_when_it_was_described() -> None:
    assert next_due(plan("daily"), None) == DESCRIBED.replace(microsecond=0)
    assert dues(plan("0 22 * * *"), None, 2) == ["2026-01-10 22:00", "2026-01-11 22:00"]


def test_a_start_in_the_second_of_two_hours_is_that_moment() -> None:
    start = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    wanted = PublicationSchedule("daily", start, LISBON, DESCRIBED)
    assert next_due(wanted, None) == start
    assert next_due(wanted, start) == utc("2026-10-26 01:30")


@pytest.mark.parametrize(
    ("every", "latest"),
    [
        ("daily", "2031-08-14 21:00"),
        ("hourly", "2031-08-15 11:00"),
        ("monthly", "2031-07-31 21:00"),
        ("yearly", "2031-01-31 22:00"),
        ("* * * * *", "2031-08-15 11:59"),
        ("0 3 29 2 *", "2028-02-29 03:00"),
    ],
)
def test_of_many_that_were_missed_the_latest_counts(every: str, latest: str) -> None:
    wanted = plan(every, "2026-01-31 22:00")
    assert latest_due(wanted, None, utc("2031-08-15 11:59:30")) == utc(latest)
    assert latest_due(wanted, utc(latest), utc("2031-08-15 11:59:30")) is None


MOMENTS = st.integers(1_577_836_800, 2_050_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
"""From 2020 to 2034."""


@given(
    st.sampled_from([*PERIODS, "*/20 1 * * *", "0 22 31 * *", "30 1 * * sun"]),
    MOMENTS,
    MOMENTS,
    st.sampled_from(["Europe/Lisbon", "UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]),
)
def test_due_times_only_go_forward(every: str, start: datetime, after: datetime, zone: str) -> None:
    wanted = PublicationSchedule(every, start, ZoneInfo(zone), DESCRIBED)
    moment: datetime | None = after
    found = [moment]
    while moment is not None and len(found) < 8:
        moment = next_due(wanted, moment)
        found.append(moment)
    moments = [due for due in found if due is not None]
    assert all(earlier < later for earlier, later in pairwise(moments))
    assert all(due >= wanted.begin for due in moments[1:])
    if len(moments) > 1:
        # None lies between two successive ones, at whatever time the schedule is read.
        middle = moments[0] + (moments[1] - moments[0]) / 2
        assert next_due(wanted, middle) == moments[1]
        assert latest_due(wanted, moments[0], moments[-1] + timedelta(seconds=1)) == moments[-1]
