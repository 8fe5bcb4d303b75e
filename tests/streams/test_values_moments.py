"""Moments and durations."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import parse_value
from tarantula.streams.values.value import ValueParseError

NOW = datetime(2026, 6, 14, 12, 0, tzinfo=UTC)
NO_MOMENTS = (
    *"12 3-1 1.5 2026 May junho 12.5 1/2 25:00 12:60 31/02/2026 29/02/2025 13/13/2026 2026-13-01 00/00/2026".split(),
    *("Windows 11", "há muito tempo", "sexta-feira", "3 gatos", "12 de 30", "quinta-feira, 12 de junho de 2026"),
    *("99999999999", "há 99999999 anos", "32 de janeiro", "12 juno 26", "em Lisboa", "página 3 de 2026", "13 PM"),
)
NO_DURATIONS = (
    "12",
    "3-1",
    "2 meses",
    "1 ano",
    "P1M",
    "P",
    "PT",
    "12:60",
    "5 km",
    "abc",
    "1 h 2 h",
    "5 min 2 h",
    "12/06",
)


def moment(text: str, *history: str, now: datetime = NOW) -> str:
    return parse_value(text, ValueKind.MOMENT, "", history, now=now).text


@pytest.mark.parametrize("text", NO_MOMENTS)
def test_nonsense_is_not_a_moment(text: str) -> None:
    with pytest.raises(ValueParseError):
        moment(text)


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_nonsense_is_not_a_duration(text: str) -> None:
    with pytest.raises(ValueParseError):
        parse_value(text, ValueKind.DURATION, "")


def test_the_history_determines_the_order_of_day_and_month() -> None:
    assert moment("03/04/2026", "25/12/2025", "01/02/2026").startswith("2026-04-03")
    assert moment("03/04/2026", "12/25/2025", "01/02/2026").startswith("2026-03-04")


def test_without_a_history_the_day_comes_first_unless_the_time_has_am_or_pm() -> None:
    assert moment("03/04/2026").startswith("2026-04-03")
    assert moment("03/04/2026 10:30 PM").startswith("2026-03-04T22:30")


def test_the_weekday_determines_the_order_and_must_match() -> None:
    assert moment("Fri 06/12/2026").startswith("2026-06-12")
    assert moment("Sat 06/12/2025").startswith("2025-12-06")
    with pytest.raises(ValueParseError, match="does not fall on the weekday"):
        moment("Mon 12 June 2026")


def test_a_history_with_both_orders_is_ambiguous() -> None:
    with pytest.raises(ValueParseError, match="both orders"):
        moment("03/04/2026", "25/12/2025", "12/26/2025")
    assert moment("13/04/2026", "25/12/2025", "12/26/2025").startswith("2026-04-13")


def test_times_without_a_zone_are_in_the_local_zone() -> None:
    lisbon = datetime(2026, 6, 14, 12, 0, tzinfo=ZoneInfo("Europe/Lisbon"))

    assert moment("2026-06-12 22:30", now=lisbon) == "2026-06-12T21:30:00+00:00"
    assert moment("2026-01-12 22:30", now=lisbon) == "2026-01-12T22:30:00+00:00"
    assert moment("12 June 2026 22:30 CEST", now=lisbon) == "2026-06-12T20:30:00+00:00"
    assert moment("12 June 2026 22:30 UTC-3", now=lisbon) == "2026-06-13T01:30:00+00:00"


def test_a_time_alone_is_the_nearest_one() -> None:
    midnight = datetime(2026, 6, 15, 0, 5, tzinfo=UTC)

    assert moment("23:58", now=midnight) == "2026-06-14T23:58:00+00:00"
    assert moment("00:15", now=midnight) == "2026-06-15T00:15:00+00:00"


def test_a_day_without_a_year_is_the_nearest_one() -> None:
    january = datetime(2026, 1, 3, tzinfo=UTC)

    assert moment("30 de dezembro", now=january).startswith("2025-12-30")
    assert moment("12/02", now=january).startswith("2026-02-12")


def test_other_languages_are_parsed_by_dateparser() -> None:
    assert moment("12 giugno 2026") == "2026-06-12T00:00:00+00:00"
    assert moment("12 июня 2026") == "2026-06-12T00:00:00+00:00"
    assert moment("12 de junio de 2026") == "2026-06-12T00:00:00+00:00"


def test_a_moment_is_also_a_number_of_seconds() -> None:
    value = parse_value("2026-06-12T22:00:00.250Z", ValueKind.MOMENT, "", now=NOW)

    assert value.number == Decimal("1781301600.25")


def test_two_parts_are_minutes_and_seconds_unless_the_unit_is_hours() -> None:
    assert parse_value("7:30", ValueKind.DURATION, "").number == 450
    assert parse_value("7:30", ValueKind.DURATION, "h").number == 27000
    assert parse_value("90", ValueKind.DURATION, "min").number == 5400


def test_a_duration_may_be_negative() -> None:
    assert parse_value("−0:05", ValueKind.DURATION, "").number == -5
    assert parse_value("-2 min", ValueKind.DURATION, "").number == -120
