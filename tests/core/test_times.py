"""Dates, durations, periods and time zones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.core.times import cron_trigger, format_duration, parse_duration
from tarantula.publications.config import read_config

FCUL = {"name": "fcul", "base_url": "http://www.fc.ul.pt/index.html"}


def refusal(**fields: Any) -> str:
    with pytest.raises(TarantulaError) as refused:
        read_config({**FCUL, **fields})
    return str(refused.value)


@pytest.fixture
def in_lisbon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Lisbon")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "every", ["once", "hourly", "daily", "weekly", "monthly", "yearly", "0 22 12 * *", "*/5 * * * mon", "0 3 * * 7"]
)
def test_periods(every: str) -> None:
    assert read_config({**FCUL, "every": f" {every.upper() if every.isalpha() else every} "}).every == every


@pytest.mark.parametrize(
    ("weekdays", "rings"),
    [
        ("0", "sun"),
        ("1", "mon"),
        ("7", "sun"),
        ("1-5", "mon tue wed thu fri"),
        ("5-7", "fri sat sun"),
        ("sun-tue", "sun mon tue"),
        ("FRI-MON", "fri sat sun mon"),
        ("*/2", "sun tue thu sat"),
        ("1-5/2,6", "mon wed fri sat"),
        ("*", "sun mon tue wed thu fri sat"),
    ],
)
def test_weekdays_are_those_of_cron(weekdays: str, rings: str) -> None:
    trigger = cron_trigger(f"0 3 * * {weekdays}", UTC)
    days = [datetime(2026, 6, day, tzinfo=UTC) for day in range(7, 14)]
    rung = [day for day in days if trigger.get_next_fire_time(None, day).date() == day.date()]
    assert {f"{day:%a}".lower() for day in rung} == set(rings.split())


@pytest.mark.parametrize(
    "every",
    ["often", "", "* * * *", "0 25 * * *", "0 22 32 * *", "a b c d e", "* * * * * *", "0 3 * * 8", "0 0 31 2 *"],
)
def test_periods_that_are_none(every: str) -> None:
    assert repr(every) in refusal(every=every)


@pytest.mark.parametrize(
    ("start", "moment"),
    [
        ("2026-06-12 22:00", "2026-06-12T21:00:00+00:00"),
        ("2026-01-12 22:00", "2026-01-12T22:00:00+00:00"),
        ("2026-06-12", "2026-06-11T23:00:00+00:00"),
        ("2026-06-12T22:00:30+05:00", "2026-06-12T17:00:30+00:00"),
        ("2026-06-12 22:00Z", "2026-06-12T22:00:00+00:00"),
        (datetime(2026, 6, 12, 22, tzinfo=UTC).date(), "2026-06-11T23:00:00+00:00"),
    ],
)
def test_starts_are_in_the_zone_of_this_machine(in_lisbon: None, start: object, moment: str) -> None:
    config = read_config({**FCUL, "start": start})
    assert config.start is not None
    assert config.start.astimezone(UTC).isoformat() == moment


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("2026-02-30 10:00", "There is no 2026-02-30 in the calendar."),
        ("2025-02-29", "There is no 2025-02-29 in the calendar."),
        ("2026-13-01", "There is no 2026-13-01 in the calendar."),
        ("2026-06-12 25:00", "'25:00' is not an hour. Write it as 2026-06-12 22:00."),
        ("12/06/2026", "'12/06/2026' is not a date. Write it as 2026-06-12 22:00."),
        ("tomorrow", "'tomorrow' is not a date. Write it as 2026-06-12 22:00."),
        ("0001-01-01", "The year 1 is too far away."),
        ("9999-12-31T23:59-12:00", "The year 9999 is too far away."),
        ("2026-03-29 01:30", "The time 2026-03-29 01:30 does not exist here: the clocks skip that hour."),
    ],
)
def test_dates_that_do_not_exist(in_lisbon: None, start: str, sentence: str) -> None:
    assert refusal(start=start) == sentence


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("10d", 864_000),
        ("3h", 10_800),
        ("90m", 5400),
        ("1H30M", 5400),
        ("2w", 1_209_600),
        ("45", 45),
        (45, 45),
        ("", None),
    ],
)
def test_durations(typed: object, seconds: int | None) -> None:
    assert read_config({**FCUL, "max_duration": typed}).max_duration == seconds


@pytest.mark.parametrize("typed", ["x", "-5", "0", "0d", "10 d", "1.5h", "d", "10000000d", "9" * 5000, "²"])
def test_durations_that_are_none(typed: str) -> None:
    assert "duration" in refusal(max_duration=typed)


@given(st.integers(1, 3_000_000_000))
def test_durations_are_read_as_they_are_written(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
