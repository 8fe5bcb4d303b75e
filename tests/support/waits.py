"""Waiting for what another thread or process brings about: for a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

TIMEOUT_SECONDS = 120.0
"""Seconds. It costs nothing when all goes well, and others use the machine too."""
POLL_SECONDS = 0.02
"""Seconds between two looks."""

Found = TypeVar("Found")


def eventually(look: Callable[[], Found | None]) -> Found:
    """Look until something is so, or there, and return it."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not (found := look()):
        assert time.monotonic() < end, "it never came"
        time.sleep(POLL_SECONDS)
    return found


async def eventually_here(condition: Callable[[], object]) -> None:
    """Look until something is so, while the loop goes on."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        # What is waited for is often no event: a server's list of visits, the size of a pool.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)
