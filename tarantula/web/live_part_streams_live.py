"""Sources seen while they change: one look for all pages, which are told what is new on them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from time import monotonic
from typing import NamedTuple

from sqlalchemy import func, select

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.tables.publications import Firing, SourceState

SOURCE_POLL_SECONDS = 0.25
"""Seconds between two looks."""
REMOVED_STAMP = -1
"""The stamp of a source that is no longer there."""
BATCH_SIZE = 500
"""Sources that are asked for in one question."""
logger = logging.getLogger(__name__)


class SourceChanges(NamedTuple):
    """What has changed on a page."""

    sources: frozenset[int]
    fired: bool
    """Whether an alert did, of anybody."""


class SourceListener:
    """A page that shows sources, and knows how it shows them."""

    def __init__(self, hear: Callable[[SourceChanges], None]) -> None:
        self.stamps: dict[int, int] = {}
        """Those of the sources as they are shown: whoever shows them has seen that they may be."""
        self.firing: int | None = None
        self._hear = hear

    def tell(self, stamps: Mapping[int, int], firing: int) -> None:
        """Say what is otherwise than it is shown; what was not looked at is left for the next time."""
        changed = frozenset(number for number, stamp in self.stamps.items() if stamps.get(number, stamp) != stamp)
        fired = self.firing is not None and self.firing != firing
        self.stamps |= {number: stamps[number] for number in changed}
        self.firing = firing
        if changed or fired:
            self._hear(SourceChanges(changed, fired))


class SourceWatcher:
    """Looks at the stamps of all sources that pages show, for as long as there are any."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listeners: set[SourceListener] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, listener: SourceListener) -> None:
        """Tell a page from now on."""
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def remove(self, listener: SourceListener) -> None:
        """Tell a page nothing more."""
        self._listeners.discard(listener)

    async def _run(self) -> None:
        while self._listeners:
            began = monotonic()
            wanted = sorted({number for listener in self._listeners for number in listener.stamps})
            try:
                stamps, firing = await asyncio.to_thread(self._look, wanted)
            except TarantulaError as error:
                logger.debug("Sources could not be looked at: %s", error)
            else:
                for listener in list(self._listeners):
                    listener.tell(stamps, firing)
            await asyncio.sleep(max(SOURCE_POLL_SECONDS - (monotonic() - began), 0))

    def _look(self, wanted: list[int]) -> tuple[dict[int, int], int]:
        found = dict.fromkeys(wanted, REMOVED_STAMP)
        with self._database.reading() as session:
            for some in _batches(wanted):
                chosen = select(SourceState.source_id, SourceState.stamp).where(SourceState.source_id.in_(some))
                found.update((number, stamp) for number, stamp in session.execute(chosen))
            return found, session.scalar(select(func.max(Firing.id))) or 0


def _batches(numbers: list[int]) -> Iterator[list[int]]:
    return (numbers[place : place + BATCH_SIZE] for place in range(0, len(numbers), BATCH_SIZE))


@lru_cache(maxsize=1)
def source_watcher(database: Database) -> SourceWatcher:
    """Return the one of this process."""
    return SourceWatcher(database)
