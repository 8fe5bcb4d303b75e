"""Polling for many: one task asks at an interval, while there are subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from time import monotonic
from typing import Generic, TypeVar

Subscriber = TypeVar("Subscriber")


class Poller(Generic[Subscriber]):
    """Runs *poll* at an interval while there are subscribers; belongs to one event loop.

    *poll* is given the present subscribers, notifies them, and returns whether to go on.
    """

    def __init__(self, poll: Callable[[Collection[Subscriber]], Awaitable[bool]], interval_seconds: float) -> None:
        self._poll = poll
        self._interval_seconds = interval_seconds
        self._subscribers: set[Subscriber] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def has_subscribers(self) -> bool:
        """Whether anything is subscribed."""
        return bool(self._subscribers)

    def add(self, subscriber: Subscriber) -> bool:
        """Subscribe; return whether polling starts with it."""
        self._subscribers.add(subscriber)
        if self._task is not None and not self._task.done():
            return False
        self._task = asyncio.create_task(self._run())
        return True

    def remove(self, subscriber: Subscriber) -> None:
        """Unsubscribe; polling ends with the last subscriber."""
        self._subscribers.discard(subscriber)

    async def _run(self) -> None:
        while self._subscribers:
            started = monotonic()
            if not await self._poll(tuple(self._subscribers)):
                return
            await asyncio.sleep(max(self._interval_seconds - (monotonic() - started), 0))
