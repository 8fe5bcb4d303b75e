"""Live values on pages: one task asks at an interval for all viewers, while there are any."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import StreamingResponse

from tarantula import __version__
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.progress.snapshot import ItemWatch
from tarantula.services import items
from tarantula.services.context import ServiceContext
from tarantula.services.streams.values import source_stamps
from tarantula.web.limits import WATCHING, run_in_pool

ITEM_POLL_SECONDS = 0.5
"""Interval between two polls of an item."""
KEEPALIVE_SECONDS = 15.0
"""Interval between keep-alive messages of a stream without changes."""
MAX_STREAM_SECONDS = 600.0
"""Maximum duration of a stream; the browser then reconnects and is authenticated again."""
AFTER_END_SECONDS = 30.0
"""How long an item that has ended is still polled, since it may be resumed."""
Subscriber = TypeVar("Subscriber")


STATIC = Path(__file__).parent / "static"
LIVE_SCRIPT = f"/static/live.js?{__version__}"
"""Script of the item page that shows the events."""
RETRY_MESSAGE = b"retry: 1000\n\n"
KEEPALIVE_MESSAGE = b": still here\n\n"
END_MESSAGE = b"event: end\ndata: {}\n\n"

router = APIRouter()


class ItemChannel:
    """Polls one item while at least one page shows it."""

    def __init__(self, watch: ItemWatch) -> None:
        self._watch = watch
        self._poller: Poller[object] = Poller(self._poll, ITEM_POLL_SECONDS)
        self._polled = asyncio.Event()
        self._active_at = 0.0
        self._latest: bytes | None = None
        self._is_over = False

    @property
    def has_readers(self) -> bool:
        """Whether a page shows the item."""
        return self._poller.has_subscribers

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield server-sent events with the state of the item when it changes; slow readers skip outdated states."""
        reader = object()
        if self._poller.add(reader):
            self._active_at, self._is_over = monotonic(), False
        try:
            yield RETRY_MESSAGE
            async for message in self._messages():
                yield message
        finally:
            self._poller.remove(reader)

    async def _messages(self) -> AsyncIterator[bytes]:
        sent: bytes | None = None
        ends_at = monotonic() + MAX_STREAM_SECONDS
        while monotonic() < ends_at:
            polled = self._polled
            if self._latest is not None and self._latest is not sent:
                sent = self._latest
                yield sent
            elif self._is_over:
                yield END_MESSAGE
                return
            else:
                try:
                    async with asyncio.timeout(KEEPALIVE_SECONDS):
                        await polled.wait()
                except TimeoutError:
                    yield KEEPALIVE_MESSAGE

    async def _poll(self, readers: Collection[object]) -> bool:
        try:
            snapshot = await run_in_pool(WATCHING, self._watch.snapshot)
        except TarantulaError:
            # The item was removed, or the database failed: the browser reconnects.
            self._is_over = True
        else:
            now = monotonic()
            self._active_at = now if snapshot.is_alive else self._active_at
            self._is_over = now > self._active_at + AFTER_END_SECONDS
            message = b"data: " + snapshot.model_dump_json().encode() + b"\n\n"
            # The same object stays if nothing has changed: readers compare by identity.
            self._latest = message if message != self._latest else self._latest
        self._polled.set()
        self._polled = asyncio.Event()
        return not self._is_over


_channels: dict[str, ItemChannel] = {}


async def channel_of(context: ServiceContext, urn: str) -> ItemChannel:
    """Return the channel of an item; one per process."""
    for other in [name for name, channel in _channels.items() if not channel.has_readers]:
        del _channels[other]
    if urn not in _channels:
        watch = await run_in_pool(WATCHING, items.watch_item, context, urn)
        _channels.setdefault(urn, ItemChannel(watch))
    return _channels[urn]


@router.get(
    "/api/items/{urn}/live", summary="Live progress of an item", tags=["items"], response_class=StreamingResponse
)
async def live(request: Request, urn: str) -> StreamingResponse:
    """Send the state of an item as server-sent events when it changes, at most twice a second."""
    if request.state.person is None:
        raise HTTPException(401, "Log in first.")
    context: ServiceContext = request.state.authenticator.context(request.state.person)
    channel = await channel_of(context, urn)
    return StreamingResponse(
        channel.stream(),
        media_type="text/event-stream",
        # No proxy may buffer the stream.
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


SOURCE_POLL_SECONDS = 0.25
"""Interval between two polls of the sources."""
logger = logging.getLogger(__name__)


class SourceChanges(NamedTuple):
    """Changes that concern a page."""

    sources: frozenset[int]
    fired: bool
    """Whether an alert of any account fired."""


class SourceListener:
    """A page that shows sources, with the state in which it shows them."""

    def __init__(self, on_changes: Callable[[SourceChanges], None]) -> None:
        self.stamps: dict[int, int] = {}
        """Stamp of each source as it is shown; the page has checked that they are visible to its account."""
        self.firing: int | None = None
        self._on_changes = on_changes

    def notify(self, stamps: Mapping[int, int], firing: int) -> None:
        """Report sources whose stamp differs from the one shown; sources that were not polled are skipped."""
        changed = frozenset(number for number, stamp in self.stamps.items() if stamps.get(number, stamp) != stamp)
        fired = self.firing is not None and self.firing != firing
        self.stamps |= {number: stamps[number] for number in changed}
        self.firing = firing
        if changed or fired:
            self._on_changes(SourceChanges(changed, fired))


@lru_cache(maxsize=1)
def source_poller(database: Database) -> Poller[SourceListener]:
    """Return the poller of this process: it polls the stamps of all sources that pages show."""

    async def poll(listeners: Collection[SourceListener]) -> bool:
        shown = sorted({number for listener in listeners for number in listener.stamps})
        try:
            stamps, firing = await run_in_pool(WATCHING, source_stamps, database, shown)
        except TarantulaError as error:
            logger.debug("The state of the sources could not be read: %s", error)
        else:
            for listener in listeners:
                listener.notify(stamps, firing)
        return True

    return Poller(poll, SOURCE_POLL_SECONDS)


class Poller(Generic[Subscriber]):
    """Runs *poll* at an interval while there are subscribers; belongs to one event loop.

    *poll* is given the present subscribers, notifies them, and returns whether to continue.
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
