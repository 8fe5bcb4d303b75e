"""When sources are due, and the order of visits to servers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from tarantula.streams.history.levels import SECOND
from tarantula.streams.ingest.value_typing import MIN_RANGE_READINGS, extended_range, is_outlier
from tarantula.streams.reading.servers import CONTESTED_LEASE_SECONDS, IDLE_LEASE_SECONDS, VisitQueue
from tarantula.streams.reading.visits import (
    LATE_READINGS_PER_SECOND,
    DueHeap,
    FollowedSource,
    next_due,
    spread_late,
)
from tests.support.sources import BEGIN, config


def followed(number: int, path: str = "/", server: str = "a.example", **values: object) -> FollowedSource:
    return FollowedSource(number, 1, config(f"test.s{number}", url=f"http://{server}{path}", **values))


@given(some.text(max_size=20), some.floats(1, 86400), some.integers(0, 2 * BEGIN))
def test_the_next_due_time_is_within_an_interval_and_keeps_the_rhythm(url: str, interval: float, now: int) -> None:
    step = round(interval * SECOND)
    due = next_due(url, interval, now)
    assert now < due <= now + step
    assert next_due(url, interval, due) == due + step
    assert next_due(url, interval, due - 1) == due
    # However late a reading is, the rhythm stays the same, and missed readings are not made up for.
    assert (next_due(url, interval, due + 7 * step // 2) - due) % step == 0


def test_many_sources_are_spread_and_those_of_a_page_are_due_together() -> None:
    dues = sorted(next_due(f"http://example.org/{number}", 60.0, BEGIN) for number in range(6000))
    busiest = max(
        sum(1 for due in dues if second <= due < second + SECOND) for second in range(BEGIN, dues[-1], SECOND)
    )
    assert busiest < 160
    page = "http://example.org/"
    assert next_due(page, 300.0, BEGIN) in {next_due(page, 60.0, BEGIN + 60 * SECOND * step) for step in range(6)}


def test_overdue_sources_are_read_soon_at_a_limited_rate() -> None:
    moments = [spread_late(number, BEGIN, 3600) for number in range(1000)]
    assert moments[0] == BEGIN
    assert moments[-1] - BEGIN == 999 * SECOND // LATE_READINGS_PER_SECOND
    assert spread_late(100_000, BEGIN, 2.0) == BEGIN + 2 * SECOND


def test_the_earliest_comes_first() -> None:
    heap: DueHeap[str] = DueHeap()
    for at, what in ((3, "c"), (1, "a"), (2, "b"), (1, "a again")):
        heap.push(at, what)
    assert heap.first() == 1
    assert list(heap.pop_until(2)) == ["a", "a again", "b"]
    assert list(heap.pop_until(2)) == []
    assert len(heap) == 1


def test_a_server_has_one_visit_at_a_time_and_only_while_it_is_on_lease() -> None:
    queue = VisitQueue()
    first, second, same = followed(1, "/one"), followed(2, "/two"), followed(3, "/one")
    for source in (first, second, same):
        queue.expect(source.server)
        queue.add(source)
    assert queue.next(10.0) is None
    assert [server.name for server in queue.needing_lease(10.0)] == ["a.example"]
    queue.hold("a.example", 12.0)
    assert queue.next(11.0) is None
    visit = queue.next(12.0)
    assert visit is not None
    assert visit.sources == [first, same]
    assert queue.next(12.0) is None
    queue.release(visit, 15.0)
    assert queue.next(14.0) is None
    assert queue.next_due() == 15.0
    later = queue.next(15.0)
    assert later is not None
    assert later.sources == [second]


def test_removed_sources_are_not_visited() -> None:
    queue = VisitQueue()
    source = followed(1)
    queue.expect(source.server)
    queue.add(source)
    queue.hold(source.server, 0.0)
    source.is_gone = True
    assert queue.next(1.0) is None
    assert queue.at(source.server).expected == 0


def test_a_contested_server_is_left_to_others() -> None:
    queue = VisitQueue()
    for number in range(3):
        queue.expect("a.example")
        queue.add(followed(number, f"/{number}"))
    queue.hold("a.example", 0.0)
    queue.at("a.example").contested_at = 1.0
    visit = queue.next(2.0)
    assert visit is not None
    assert queue.idle(3.0) == []
    queue.release(visit, 3.0)
    assert queue.idle(4.0) == []
    # After its share of time it is returned, whatever waits.
    assert queue.next(1.0 + CONTESTED_LEASE_SECONDS) is None
    assert [server.name for server in queue.idle(1.0 + CONTESTED_LEASE_SECONDS)] == ["a.example"]
    queue.lose("a.example", 1.0 + CONTESTED_LEASE_SECONDS)
    assert queue.needing_lease(1.0 + 2 * CONTESTED_LEASE_SECONDS - 0.1) == []
    assert [server.name for server in queue.needing_lease(1.0 + 2 * CONTESTED_LEASE_SECONDS)] == ["a.example"]


def test_an_idle_lease_is_returned_after_a_while() -> None:
    queue = VisitQueue()
    queue.expect("a.example")
    queue.hold("a.example", 0.0)
    queue.done("a.example", 1.0)
    assert queue.idle(1.0 + IDLE_LEASE_SECONDS / 2) == []
    assert [server.name for server in queue.idle(1.0 + IDLE_LEASE_SECONDS)] == ["a.example"]
    queue.lose("a.example", 1.0 + IDLE_LEASE_SECONDS)
    assert len(queue) == 0


@given(some.lists(some.floats(-1e6, 1e6), min_size=MIN_RANGE_READINGS, max_size=60))
def test_seen_values_are_usual_and_a_thousand_times_the_maximum_is_not(numbers: list[float]) -> None:
    usual = None
    for number in numbers:
        usual = extended_range(number, usual)
    assert usual is not None
    assert not is_outlier(numbers[-1], usual)
    largest = max(map(abs, numbers))
    if largest > 0:
        assert is_outlier(1000 * largest, usual)


def test_conditional_requests_need_equal_validators_of_all_sources() -> None:
    sources = [followed(number) for number in range(2)]
    queue = VisitQueue()
    for source in sources:
        source.validators = {"url": source.url, "etag": '"one"', "digest": "x"}
        queue.add(source)
    queue.hold("a.example", 0.0)
    visit = queue.next(0.0)
    assert visit is not None
    assert visit.conditions == {"If-None-Match": '"one"'}
    sources[1].validators = {}
    assert visit.conditions == {}
    onward = visit.redirected_to("http://a.example/other", 302)
    assert onward.conditions == {}
