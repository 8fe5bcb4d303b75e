"""Pauses between visits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.states import DocumentState
from tarantula.fetch.politeness import (
    MAX_RETRY_AFTER_SECONDS,
    OVERLOAD_MAX_SECONDS,
    UNREACHED_MAX_SECONDS,
    Politeness,
    retry_after_seconds,
)
from tarantula.fetch.robots import MAX_CRAWL_DELAY_SECONDS

NOW = datetime(2026, 6, 12, 22, 0, tzinfo=UTC)
SERVER = "www.x.pt"
ROUNDING = 1e-6


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def after(delay: float, *events: int | str, crawl_delay: float | None = None) -> list[float]:
    """Return the pauses after each event: a status, or ``fail``."""
    politeness = Politeness(delay, clock=Clock())
    politeness.set_crawl_delay(SERVER, crawl_delay)
    pauses = []
    for event in events:
        if isinstance(event, int):
            politeness.answered(SERVER, event, None, NOW)
        else:
            politeness.failed(SERVER)
        pauses.append(politeness.pause(SERVER))
    return pauses


@pytest.mark.parametrize(
    ("delay", "crawl_delay", "events", "pauses"),
    [
        (1.0, None, [200, 404, 301, 500], [1, 1, 1, 1]),
        (0.0, None, [200], [0]),
        (1.0, 5.0, [200], [5]),
        (5.0, 1.0, [200], [5]),
        (1.0, 0.0, [200], [1]),
        (1.0, 86_400.0, [200], [MAX_CRAWL_DELAY_SECONDS]),
        (0.0, None, [429, 429, 503, 200, 200], [1, 2, 4, 2, 1]),
        (1.0, None, [503, 503, 503], [2, 3, 5]),
        (10.0, None, [503, 503], [20, 30]),
        (1.0, 5.0, [503, 503, 200], [10, 15, 10]),
        (1.0, None, [503, 500, 200], [2, 2, 1.5]),
        (0.0, None, ["fail", "fail", "fail", 200], [0.25, 0.5, 1, 0.5]),
        (1.0, None, ["fail", "fail", 404], [2, 3, 2]),
        (0.0, None, [502, 504, 408], [0.25, 0.5, 1]),
        (1.0, None, ["fail"] * 20, [2, 3, 5, 9, 17, 33, *[61] * 14]),
        (0.0, None, [503] * 12, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]),
        (0.0, None, [*[503] * 12, "fail"], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]),
    ],
)
def test_trouble_doubles_and_success_halves(
    delay: float, crawl_delay: float | None, events: list[int | str], pauses: list[float]
) -> None:
    assert after(delay, *events, crawl_delay=crawl_delay) == pauses


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        ("120", 120),
        (" 120 ", 120),
        ("86400", MAX_RETRY_AFTER_SECONDS),
        ("9" * 5000, MAX_RETRY_AFTER_SECONDS),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("Fri, 12 Jun 2026 22:01:30 GMT", 90),
        ("Friday, 12-Jun-26 22:01:30 GMT", 90),
        ("Fri Jun 12 22:01:30 2026", 90),
        ("Fri, 12 Jun 2026 21:00:00 GMT", 0),
        ("Fri, 12 Jun 2099 22:00:00 GMT", MAX_RETRY_AFTER_SECONDS),
        ("Fri, 99 Jun 2026 22:00:00 GMT", None),
        ("Fri, 12 Jun 99999 22:00:00 GMT", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOW) == seconds


@given(st.text())
def test_no_retry_after_is_too_strange(header: str) -> None:
    seconds = retry_after_seconds(header, NOW)
    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER_SECONDS


def test_retry_after_is_obeyed_and_then_over() -> None:
    clock = Clock()
    politeness = Politeness(1.0, clock=clock)
    politeness.answered(SERVER, 503, "120", NOW)
    assert politeness.pause(SERVER) == 120
    clock.now += 100
    assert politeness.pause(SERVER) == 20
    politeness.answered(SERVER, 200)
    assert politeness.pause(SERVER) == 20
    clock.now += 20
    politeness.answered(SERVER, 200)
    assert politeness.pause(SERVER) == 1.25


def test_retry_after_now_still_slows_down() -> None:
    politeness = Politeness(0.0, clock=Clock())
    politeness.answered(SERVER, 429, "0", NOW)
    politeness.answered(SERVER, 429, "Fri, 12 Jun 2026 21:00:00 GMT", NOW)
    assert politeness.pause(SERVER) == 2


def test_retry_after_is_read_by_the_clock_on_the_wall_if_no_time_is_given() -> None:
    politeness = Politeness(0.0, clock=Clock())
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    politeness.answered(SERVER, 503, tomorrow.strftime("%a, %d %b %Y %H:%M:%S GMT"))
    assert politeness.pause(SERVER) == MAX_RETRY_AFTER_SECONDS


def test_one_server_does_not_pay_for_another() -> None:
    politeness = Politeness(1.0)
    politeness.answered("a.pt", 503)
    assert politeness.pause("b.pt") == 1.0


def test_a_crawl_delay_can_be_taken_back() -> None:
    politeness = Politeness(1.0)
    politeness.set_crawl_delay(SERVER, 10)
    assert politeness.pause(SERVER) == 10
    politeness.set_crawl_delay(SERVER, None)
    assert politeness.pause(SERVER) == 1


@pytest.mark.parametrize(
    ("state", "most"),
    [
        (429, 3),
        (503, 3),
        (408, 2),
        (502, 2),
        (504, 2),
        (DocumentState.SYSTEM_ERROR, 2),
        (DocumentState.TIMEOUT, 1),
        (DocumentState.INVALID_RESPONSE, 1),
        (DocumentState.TOO_LARGE, 1),
        (200, 1),
        (404, 1),
        (500, 1),
    ],
)
def test_how_often_a_document_is_tried(state: int, most: int) -> None:
    assert [tries for tries in range(1, 6) if Politeness.should_retry(state, tries)] == list(range(1, most))


EVENTS = st.lists(
    st.one_of(
        st.just("fail"),
        st.tuples(st.sampled_from([200, 404, 408, 429, 500, 502, 503]), st.sampled_from([None, "0", "7", "99999"])),
        st.floats(0, 1e6, allow_nan=False),
    ),
    max_size=30,
)


@given(st.floats(0, 600), st.floats(0, 1e5), EVENTS)
def test_a_pause_lies_between_the_delay_and_the_cap(
    delay: float, crawl_delay: float, events: list[str | float | tuple[int, str | None]]
) -> None:
    clock = Clock()
    politeness = Politeness(delay, clock=clock)
    politeness.set_crawl_delay(SERVER, crawl_delay)
    base = max(delay, min(crawl_delay, MAX_CRAWL_DELAY_SECONDS))
    for event in events:
        if isinstance(event, float):
            clock.now += event
        elif isinstance(event, str):
            politeness.failed(SERVER)
        else:
            politeness.answered(SERVER, *event, NOW)
        assert base <= politeness.pause(SERVER) <= max(base + OVERLOAD_MAX_SECONDS, MAX_RETRY_AFTER_SECONDS) + ROUNDING
    clock.now += MAX_RETRY_AFTER_SECONDS + ROUNDING
    for _ in range(15):
        politeness.answered(SERVER, 200)
    assert politeness.pause(SERVER) == base
    assert len(politeness) == (crawl_delay > delay)


@given(st.floats(0, 600), st.integers(1, 30))
def test_a_server_that_is_not_reached_is_punished_less(delay: float, times: int) -> None:
    politeness = Politeness(delay)
    for _ in range(times):
        politeness.failed(SERVER)
    assert delay < politeness.pause(SERVER) <= delay + UNREACHED_MAX_SECONDS


def test_memory_has_an_end() -> None:
    politeness = Politeness(0.0, size=3)
    for number in range(10):
        politeness.failed(f"{number}.pt")
    assert len(politeness) == 3
    assert politeness.pause("9.pt") == 0.25
    assert politeness.pause("0.pt") == 0
