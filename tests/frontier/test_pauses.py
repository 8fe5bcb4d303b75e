"""Pauses of a server, and requests in parallel."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tarantula.frontier.frontier import Frontier
from tarantula.frontier.queues import WINDOW_SIZE
from tarantula.frontier.strategies import STRATEGIES, load_strategy
from tarantula.items import FrontierEntry


def frontier_with(count: int, servers: int = 1, per_server: int = 1) -> Frontier:
    frontier = Frontier(load_strategy("breadth-first"), per_server)
    for server in range(servers):
        frontier.open(f"s{server}", 0.0, [], exhausted=True)
    frontier.add(FrontierEntry(number, f"u{number}", f"s{number % servers}", 0, 0) for number in range(1, count + 1))
    return frontier


def test_one_request_at_a_time() -> None:
    frontier = frontier_with(3)
    first = frontier.next(0.0)
    assert first is not None
    assert frontier.next(0.0) is None
    frontier.release(first, 0.0)
    assert frontier.next(0.0) is not None


def test_as_many_at_a_time_as_the_publication_says() -> None:
    frontier = frontier_with(10, per_server=4)
    assert sum(frontier.next(0.0) is not None for _ in range(6)) == 4


def test_the_pause_is_kept_and_told() -> None:
    frontier = frontier_with(2)
    first = frontier.next(0.0)
    assert first is not None
    frontier.release(first, 1.0)
    assert frontier.next(0.99) is None
    assert frontier.next_due() == 1.0
    assert frontier.next(1.0) is not None


def test_a_visit_from_elsewhere_postpones_the_next() -> None:
    frontier = frontier_with(1)
    frontier.postpone("s0", 5.0)
    assert frontier.next(4.0) is None
    assert frontier.next(5.0) is not None


def test_it_is_empty_when_nothing_waits_and_nothing_is_under_way() -> None:
    frontier = frontier_with(1)
    entry = frontier.next(0.0)
    assert entry is not None
    assert not frontier.is_empty()
    frontier.release(entry, 0.0)
    assert frontier.is_empty()


def test_memory_holds_a_window_and_the_table_the_rest() -> None:
    frontier = frontier_with(WINDOW_SIZE + 50)
    queue = frontier.servers["s0"]
    assert (len(queue), queue.unread, frontier.waiting) == (WINDOW_SIZE, 50, WINDOW_SIZE + 50)
    asked_for = []
    for _ in range(WINDOW_SIZE):
        entry = frontier.next(0.0)
        assert entry is not None
        frontier.release(entry, 0.0)
        asked_for += frontier.wanting_refill() if frontier.is_dry else []
    assert asked_for == [queue]
    frontier.refill("s0", [FrontierEntry(number, "x", "s0", 0, 0) for number in range(5000, 5050)], exhausted=True)
    assert frontier.waiting == 50
    assert queue.unread == 0


def test_a_document_that_is_under_way_is_not_taken_in_again() -> None:
    frontier = frontier_with(1)
    entry = frontier.next(0.0)
    assert entry is not None
    frontier.refill("s0", [entry], exhausted=True)
    frontier.release(entry, 0.0)
    assert frontier.next(0.0) is None


@given(st.sampled_from(sorted(STRATEGIES)), st.integers(1, 3), st.integers(0, 2**32))
def test_whatever_the_order_no_server_is_visited_too_often_or_too_soon(name: str, per_server: int, seed: int) -> None:
    dice = random.Random(seed)
    frontier = Frontier(load_strategy(name), per_server)
    for n in range(5):
        frontier.open(f"s{n}", 0.0, [], exhausted=True)
    frontier.add(FrontierEntry(n, f"u{n}", f"s{n % 5}", 0, 0, rank=dice.randrange(3)) for n in range(60))
    now, handed_out, free_at = 0.0, 0, dict.fromkeys((f"s{n}" for n in range(5)), 0.0)
    under_way: list[FrontierEntry] = []
    while not frontier.is_empty():
        if under_way and dice.random() < 0.5:
            done = under_way.pop(dice.randrange(len(under_way)))
            free_at[done.server] = max(free_at[done.server], now + dice.random())
            frontier.release(done, free_at[done.server])
        elif (entry := frontier.next(now)) is not None:
            handed_out += 1
            under_way.append(entry)
            assert sum(other.server == entry.server for other in under_way) <= per_server
            assert free_at[entry.server] <= now
        else:
            now += dice.random()
    assert handed_out == 60


def test_what_waits_at_a_server_that_is_not_on_lease_stays_in_the_table() -> None:
    frontier = frontier_with(0)
    frontier.add([FrontierEntry(1, "u1", "elsewhere", 0, 0)])
    assert frontier.is_empty()


def test_a_server_is_idle_when_nothing_waits_and_everything_is_stored() -> None:
    frontier = frontier_with(1)
    entry = frontier.next(0.0)
    assert entry is not None
    frontier.release(entry, 7.0)
    assert frontier.idle(5.0) == {}
    frontier.stored(entry)
    assert frontier.idle(5.0) == {"s0": 2.0}


def test_a_server_that_others_wait_for_is_given_up_after_the_visit() -> None:
    frontier = frontier_with(3)
    entry = frontier.next(0.0)
    assert entry is not None
    frontier.retire("s0")
    frontier.release(entry, 0.0)
    assert frontier.next(0.0) is None
    assert frontier.idle(0.0) == {}
    frontier.stored(entry)
    assert frontier.idle(0.0) == {"s0": 0.0}
    frontier.close("s0")
    assert frontier.is_empty()
    assert frontier.next(0.0) is None


def test_a_lost_server_takes_what_was_under_way_with_it() -> None:
    frontier = frontier_with(2)
    entry = frontier.next(0.0)
    assert entry is not None
    frontier.close("s0")
    assert frontier.is_empty()
    frontier.release(entry, 1.0)
    frontier.stored(entry)
    frontier.again(entry)
    assert frontier.is_empty()


def test_several_at_a_time_begin_apart() -> None:
    frontier = Frontier(load_strategy("breadth-first"), per_server=3, spacing=0.5)
    frontier.open("s", 0.0, [FrontierEntry(number, f"u{number}", "s", 0, 0) for number in range(5)], exhausted=True)
    handed_out = [now for now in (0.0, 0.2, 0.5, 0.9, 1.0, 1.5) if frontier.next(now) is not None]
    assert handed_out == [0.0, 0.5, 1.0]
