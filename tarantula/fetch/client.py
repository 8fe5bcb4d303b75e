"""An HTTP/1.1 client that keeps the bytes as they were sent, and has a limit for everything."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from time import monotonic

from tarantula.fetch.connection import ConnectionPool, Connector, FetchProgress, HttpConnection
from tarantula.fetch.content_coding import DecodedBody, decode_body
from tarantula.fetch.errors import DownloadError, FetchTimeout
from tarantula.fetch.exchange import Exchange, FetchRequest
from tarantula.fetch.request import WireRequest, write_request
from tarantula.fetch.resolver import Resolver
from tarantula.fetch.response import ResponseReader

INLINE_DECODE_BYTES = 64 * 1024
"""Packed bytes that are unpacked on the event loop; more go to a thread."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""RFC 9110, 9.2.1: asking twice does no harm."""


class HttpClient:
    """Asks servers for documents; belongs to the event loop that it is first used on."""

    def __init__(
        self,
        *,
        allow_private: bool = True,
        verify: bool = True,
        max_head: int = 256 * 1024,
        max_idle: int = 256,
        max_idle_per_server: int = 8,
        idle_seconds: float = 30.0,
        bind_address: str = "",
    ) -> None:
        self._max_head = max_head
        self._pool = ConnectionPool(
            max_idle=max_idle, max_idle_per_server=max_idle_per_server, idle_seconds=idle_seconds
        )
        self._resolver = Resolver(allow_private=allow_private)
        self._connector = Connector(
            self._resolver, verify=verify, bind_address=bind_address, on_close=self._pool.forget
        )

    async def fetch(self, ask: FetchRequest) -> Exchange:
        """Ask for one document; every failure is a `DownloadError`, or what ``ask.on_head`` raised."""
        progress = FetchProgress()
        try:
            async with asyncio.timeout(ask.timeout or None) as limit:
                return await self._fetch(ask, progress)
        except TimeoutError:
            if not limit.expired():
                raise
            seconds = "1 second" if ask.timeout == 1 else f"{ask.timeout:g} seconds"
            raise FetchTimeout(f"It took longer than {seconds}; it was {progress.stage}.") from None

    async def close(self) -> None:
        """Close what is open; fetches that are still under way are the caller's to cancel."""
        self._pool.close()
        self._resolver.close()
        # Transports close in the next turn of the loop.
        await asyncio.sleep(0)

    async def _fetch(self, ask: FetchRequest, progress: FetchProgress) -> Exchange:
        started_at, started = datetime.now(UTC), monotonic()
        request = write_request(ask)
        reader = ResponseReader(ask, self._max_head)
        connection = await self._exchange(ask, request, reader, progress)
        assert reader.body is not None
        raw_body, payload = reader.body.raw(), reader.body.payload()
        received = monotonic()
        body, note = await _decode(payload, reader.codings, ask.max_size, progress)
        return Exchange(
            url=ask.url,
            request=request.kept,
            head=reader.head,
            raw_body=raw_body,
            body=body,
            status=reader.status,
            headers=reader.headers,
            address=connection.address,
            started_at=started_at,
            duration=received - started,
            tls=connection.tls,
            latency=reader.head_at - started,
            note=note,
        )

    async def _exchange(
        self, ask: FetchRequest, request: WireRequest, reader: ResponseReader, progress: FetchProgress
    ) -> HttpConnection:
        is_repeatable = ask.is_repeatable or ask.method in SAFE_METHODS
        rested = self._pool.take(request.origin) if is_repeatable else None
        if rested is not None:
            try:
                return await self._converse(rested, request, reader, progress)
            except DownloadError:
                # The server had closed it while it rested, and could not have seen the request.
                if not reader.untouched:
                    raise
        if ask.proxy:
            self._resolver.check_literal(request.host)
        fresh = await self._connector.connect(request.origin, progress)
        return await self._converse(fresh, request, reader, progress)

    async def _converse(
        self, connection: HttpConnection, request: WireRequest, reader: ResponseReader, progress: FetchProgress
    ) -> HttpConnection:
        progress.follow(reader)
        try:
            await connection.exchange(request.wire, reader)
        finally:
            if connection.open:
                self._pool.give(connection)
        return connection


async def _decode(payload: bytes, codings: list[bytes], max_size: int, progress: FetchProgress) -> DecodedBody:
    if not codings:
        return DecodedBody(payload)
    if len(payload) <= INLINE_DECODE_BYTES:
        return decode_body(payload, codings, max_size)
    progress.enter("decoding the body")
    return await asyncio.to_thread(decode_body, payload, codings, max_size)
