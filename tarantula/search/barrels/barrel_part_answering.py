"""Threads that answer what an event loop is asked, with as little between the two as can be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

AnswerWork = Callable[[bytes], bytes]


class AnswerThreads:
    """Answers questions in the order in which they come, so many at a time; belongs to the loop it is made on."""

    def __init__(self, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[tuple[AnswerWork, bytes, asyncio.Future[bytes]] | None] = SimpleQueue()
        self.threads = [Thread(target=self._work, name="answering", daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    async def answer(self, work: AnswerWork, body: bytes) -> bytes:
        """Return what comes of work, or raise what it raises."""
        answered: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.put((work, body, answered))
        return await answered

    def end(self) -> None:
        """Answer nothing more; what is under way is not waited for."""
        for _ in self.threads:
            self._waiting.put(None)

    def _work(self) -> None:
        while (asked := self._waiting.get()) is not None:
            work, body, answered = asked
            # Whoever has gone meanwhile needs none.
            if answered.cancelled():
                continue
            told: Callable[[Any], None] = answered.set_result
            value: object
            try:
                value = work(body)
            except BaseException as error:
                told, value = answered.set_exception, error
            with suppress(RuntimeError):
                # The loop may have ended.
                self._loop.call_soon_threadsafe(_tell, answered, told, value)


def _tell(answered: asyncio.Future[bytes], told: Callable[[Any], None], value: object) -> None:
    if not answered.done():
        told(value)
