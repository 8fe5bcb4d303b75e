"""The iCalendar adapter."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from tarantula.streams.adapters.base import UnreadableResponse
from tests.support.stream_answers import NOW, reading, source, texts

PLACES = {"event": {"part": "summary"}, "start": {"part": "start"}, "where": {"part": "location"}}


def event(name: str, start: str, rule: str = "", more: str = "") -> str:
    repeats = f"RRULE:{rule}\r\n" if rule else ""
    head = f"BEGIN:VEVENT\r\nUID:{name}\r\nDTSTAMP:20260101T000000Z\r\nSUMMARY:{name}\r\n"
    return f"{head}DTSTART{start}\r\n{repeats}{more}END:VEVENT\r\n"


def calendar(*events: str) -> str:
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{''.join(events)}END:VCALENDAR\r\n"


CALENDAR = calendar(
    event("Past", ":20260101T100000Z"),
    event("Feriado", ";VALUE=DATE:20261201"),
    event("Reunião", ":20260105T090000Z", "FREQ=WEEKLY;BYDAY=TU", "LOCATION:Sala 2\r\n"),
    event("Far", ":20290101T100000Z"),
)


def test_the_next_event_is_read() -> None:
    assert texts(reading(source("ical", PLACES), CALENDAR)) == {
        "": {"event": "Reunião", "start": "2026-11-17T09:00:00+00:00", "where": "Sala 2"}
    }


def test_several_next_events_are_numbered() -> None:
    got = texts(reading(source("ical", PLACES, most=4), CALENDAR))
    assert {name: row["start"][:10] for name, row in got.items()} == {
        "1": "2026-11-17",
        "2": "2026-11-24",
        "3": "2026-12-01",
        "4": "2026-12-01",
    }


def test_events_are_filtered_by_words() -> None:
    got = reading(source("ical", PLACES, words="FERIADO"), CALENDAR)
    assert texts(got) == {"": {"event": "Feriado", "start": "2026-12-01"}}
    assert got.missing == {"where": "No event in the next 60 days has this field."}


def test_new_events_are_news() -> None:
    config = source("ical", {"event": {"part": "summary"}}, rows="news", days=30)
    first = reading(config, CALENDAR)
    assert (first.news, len(first.rows)) == (True, 6)
    again = reading(config, CALENDAR, first.memory, at=NOW + timedelta(hours=1))
    assert again.rows == []
    more = calendar(event("Nova", ":20261120T100000Z"))
    assert [row.texts for row in reading(config, more, again.memory).rows] == [{"event": "Nova"}]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=HOURLY",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=5",
        "FREQ=DAILY;BYHOUR=1,2,3,4,5,6",
    ],
)
def test_events_that_recur_too_often_are_rejected(rule: str) -> None:
    started = time.process_time()
    with pytest.raises(UnreadableResponse, match="recur too often"):
        reading(source("ical", PLACES), calendar(event("x", ":19700101T000000Z", rule)))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "body",
    ["", "hello", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n" * 50, "BEGIN:VCALENDAR\r\n" + "BEGIN:VEVENT\r\n" * 6000],
)
def test_other_formats_are_not_calendars(body: str) -> None:
    with pytest.raises(UnreadableResponse):
        reading(source("ical", PLACES), body)


def test_an_event_without_a_date_does_not_hide_the_others() -> None:
    broken = calendar(event("x", ":garbage"), event("Certo", ":20261120T100000Z"))
    assert texts(reading(source("ical", {"event": {"part": "summary"}}), broken)) == {"": {"event": "Certo"}}
