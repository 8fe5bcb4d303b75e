"""Live updates: item progress as server-sent events, and source changes pushed to open pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from fastapi import APIRouter, HTTPException, Request
from sqlalchemy import func, select
from starlette.responses import StreamingResponse

from tarantula import __version__
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Firing, SourceState
from tarantula.progress.snapshot import ItemWatch
from tarantula.services import items
from tarantula.services.context import ServiceContext

ITEM_POLL_SECONDS = 0.5
"""Seconds between two looks at an item."""
KEEPALIVE_SECONDS = 15.0
"""Seconds after which a stream without news says that it is still there."""
MAX_STREAM_SECONDS = 600.0
"""Seconds after which a stream ends: the browser asks again, and is let in or not."""
AFTER_END_SECONDS = 30.0
"""Seconds for which an item that has ended is still watched: somebody may have resumed it."""
STATIC = Path(__file__).parent / "static"
LIVE_SCRIPT = f"/static/live.js?{__version__}"
"""Shows what is sent, on the page of an item."""
RETRY_MESSAGE = b"retry: 1000\n\n"
KEEPALIVE_MESSAGE = b": still here\n\n"
END_MESSAGE = b"event: end\ndata: {}\n\n"

router = APIRouter()


class ItemChannel:
    """What is seen of one item, for as long as somebody watches it."""

    def __init__(self, watch: ItemWatch) -> None:
        self._watch = watch
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.readers = 0
        self.latest: bytes | None = None
        self.is_over = False

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield what is seen, as it changes; whoever is slow misses what is outdated."""
        self.readers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield RETRY_MESSAGE
            async for message in self._messages():
                yield message
        finally:
            self.readers -= 1

    async def _messages(self) -> AsyncIterator[bytes]:
        sent: bytes | None = None
        ends = monotonic() + MAX_STREAM_SECONDS
        while monotonic() < ends:
            news = self._news
            if self.latest is not None and self.latest is not sent:
                sent = self.latest
                yield sent
            elif self.is_over:
                yield END_MESSAGE
                return
            else:
                try:
                    async with asyncio.timeout(KEEPALIVE_SECONDS):
                        await news.wait()
                except TimeoutError:
                    yield KEEPALIVE_MESSAGE

    async def _run(self) -> None:
        self.is_over = False
        before, alive_at = b"", monotonic()
        while self.readers and not self.is_over:
            began = monotonic()
            try:
                sight = await asyncio.to_thread(self._watch.snapshot)
            except TarantulaError:
                # It was removed, or the database is away: whoever still looks asks again.
                self.is_over = True
            else:
                seen = sight.model_dump_json().encode()
                alive_at = began if sight.is_alive else alive_at
                self.is_over = began > alive_at + AFTER_END_SECONDS
                if seen != before:
                    before, self.latest = seen, b"data: " + seen + b"\n\n"
            self._tell()
            await asyncio.sleep(max(ITEM_POLL_SECONDS - (monotonic() - began), 0))

    def _tell(self) -> None:
        told, self._news = self._news, asyncio.Event()
        told.set()


_channels: dict[str, ItemChannel] = {}


async def channel_of(desk: ServiceContext, urn: str) -> ItemChannel:
    """Return the one channel of an item in this process."""
    for other in [name for name, channel in _channels.items() if not channel.readers]:
        del _channels[other]
    if urn not in _channels:
        watch = await asyncio.to_thread(items.watch_item, desk, urn)
        _channels.setdefault(urn, ItemChannel(watch))
    return _channels[urn]


@router.get(
    "/api/items/{urn}/live", summary="An item while it happens", tags=["items"], response_class=StreamingResponse
)
async def live(request: Request, urn: str) -> StreamingResponse:
    """Send what is seen of an item as server-sent events, whenever it changes, at most twice a second."""
    if request.state.person is None:
        raise HTTPException(401, "Log in first.")
    desk: ServiceContext = request.state.gate.desk(request.state.person)
    channel = await channel_of(desk, urn)
    return StreamingResponse(
        channel.stream(),
        media_type="text/event-stream",
        # Nothing on the way may hold back what is sent.
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


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
