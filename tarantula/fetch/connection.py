"""A connection: one request, one answer, and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from tarantula.fetch.connection_part_failures import unreachable_error
from tarantula.fetch.errors import DownloadError, ServerUnreachable
from tarantula.fetch.request import Origin
from tarantula.fetch.response import ResponseReader

MAX_EARLY_BYTES = 64 * 1024


class HttpConnection(asyncio.Protocol):
    """Carries one exchange at a time; what comes outside of one closes it."""

    def __init__(self, origin: Origin, on_close: Callable[[HttpConnection], None]) -> None:
        self.origin = origin
        self.open = False
        self.reused = False
        self.idle_since = 0.0
        self.address = ""
        self.tls = ""
        self._on_close = on_close
        self._fresh = True
        self._early = b""
        self._loss: ServerUnreachable | None = None
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def transport(self) -> asyncio.Transport:
        """What carries the bytes."""
        assert self._transport is not None
        return self._transport

    def use(self, transport: asyncio.Transport) -> None:
        """Carry the bytes with *transport* from now on."""
        self._transport = transport

    async def exchange(self, request: bytes, reader: ResponseReader) -> None:
        """Send a request and have *reader* read the answer, until it is whole or something is wrong."""
        self._reader = reader
        self._waiter = asyncio.get_running_loop().create_future()
        if self.open:
            self.transport.write(request)
        self._catch_up()
        try:
            await self._waiter
        finally:
            self._reader = self._waiter = None
            self._fresh = False
            if not reader.reusable:
                self.drop()

    def drop(self) -> None:
        """Close at once; what is still under way is lost."""
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        self._transport = cast("asyncio.Transport", transport)
        self.open = True
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""

    def data_received(self, data: bytes) -> None:
        """Hand the bytes to the reader."""
        reader = self._reader
        if reader is None:
            self._take_early(data)
            return
        try:
            reader.feed(data)
        except Exception as error:
            self._end(error)
        else:
            if reader.complete:
                self._end(None)

    def eof_received(self) -> None:
        """The server has said all it wanted to."""
        self.open = False
        reader = self._reader
        if reader is None:
            return
        try:
            reader.finish()
        except DownloadError as error:
            self._end(error)
        else:
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone, with or without a reason."""
        if isinstance(exc, OSError):
            self.open = False
            self._loss = unreachable_error(self.origin.server, exc)
            self._end(self._loss)
        else:
            # Some event loops tell nothing else of a TLS stream that ends without a good-bye.
            self.eof_received()
        self._on_close(self)

    def _take_early(self, data: bytes) -> None:
        """Keep what a server says before it is asked, as those of mail do; after an answer it has no say."""
        self._early += data
        if not self._fresh or len(self._early) > MAX_EARLY_BYTES:
            self.drop()

    def _catch_up(self) -> None:
        """Have the reader read what happened before it was there."""
        if self._early:
            early, self._early = self._early, b""
            self.data_received(early)
        if not self.open:
            if self._loss is None:
                self.eof_received()
            else:
                self._end(self._loss)

    def _end(self, error: Exception | None) -> None:
        self._reader = None
        if self._waiter is None or self._waiter.done():
            return
        if error is None:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(error)
