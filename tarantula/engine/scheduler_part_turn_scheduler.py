"""What the schedulers have in common: an engine that found nothing to do is fed when the next turn comes."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler

from tarantula.engine.component import Component

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class TurnScheduler(Component, BaseScheduler):
    """Turns whatever may be visited next into a request when its turn comes."""

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        self._due: deque[Request] = deque()
        self._hungry = False
        self._alarm: asyncio.Handle | None = None
        self._rings_at = 0.0

    @abstractmethod
    def take_turn(self) -> Request | None:
        """Return the next request, if something may be visited now."""

    @abstractmethod
    def next_turn(self) -> float | None:
        """When something may be visited, on the loop's clock, if that is known."""

    def close(self, reason: str) -> None:
        """Stop waiting for anything."""
        if self._alarm is not None:
            self._alarm.cancel()

    def next_request(self) -> Request | None:
        if self._due:
            return self._due.popleft()
        request = self.take_turn()
        if request is None:
            self._hungry = True
            self._set_alarm()
        return request

    def work_came(self) -> None:
        """Feed the engine, if it had found nothing to do."""
        if self._hungry:
            self._feed()

    def _set_alarm(self) -> None:
        due = self.next_turn()
        if due is None:
            return
        if self._alarm is not None:
            if self._rings_at <= due:
                return
            self._alarm.cancel()
        self._alarm, self._rings_at = asyncio.get_running_loop().call_at(due, self._ring), due

    def _ring(self) -> None:
        self._alarm = None
        self._feed()

    def _feed(self) -> None:
        """Hand a request to an engine that had found nothing to do; it then asks for the others itself."""
        request = self.take_turn()
        if request is None:
            self._set_alarm()
            return
        self._hungry = False
        self.engine.crawl(request)
