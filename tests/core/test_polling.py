"""Polling for many subscribers by one task."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from tarantula.web.live import Poller


def test_one_task_polls_for_all_subscribers_until_the_last_one_leaves() -> None:
    rounds: list[list[str]] = []

    async def poll(subscribers: Collection[str]) -> bool:
        rounds.append(sorted(subscribers))
        if len(rounds) == 2:
            poller.remove("a")
        if len(rounds) == 3:
            poller.remove("b")
            left.set()
        return True

    poller, left = Poller(poll, 0), asyncio.Event()

    async def scenario() -> None:
        assert poller.add("a")
        assert not poller.add("b")
        await left.wait()
        assert not poller.has_subscribers
        await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert rounds == [["a", "b"], ["a", "b"], ["b"]]


def test_a_poll_that_returns_false_ends_and_the_next_subscriber_starts_it_again() -> None:
    rounds: list[int] = []

    async def poll(subscribers: Collection[int]) -> bool:
        rounds.append(len(subscribers))
        return False

    async def scenario() -> None:
        poller = Poller(poll, 0)
        assert poller.add(1)
        await asyncio.sleep(0.01)
        assert poller.add(2)
        await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert rounds == [1, 2]
