"""Wait for a condition that another thread or process makes true, never for a fixed time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

TIMEOUT_SECONDS = 120.0
"""Long, because the machine may be busy; a passing test never waits so long."""
POLL_SECONDS = 0.02

Found = TypeVar("Found")


def eventually(condition: Callable[[], Found | None]) -> Found:
    """Call a condition until its result is true, and return the result."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(POLL_SECONDS)
    return found


async def eventually_here(condition: Callable[[], object]) -> None:
    """Call a condition until its result is true, without blocking the event loop."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        # Most conditions have no event to wait for: a server's list of visits, the size of a pool.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)
