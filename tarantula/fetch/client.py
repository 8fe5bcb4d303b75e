"""HTTP/1.1 client that keeps the bytes as received and limits time, size and headers."""

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
"""Compressed bytes that are decoded on the event loop; larger bodies are decoded in a thread."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""RFC 9110, 9.2.1: safe to repeat."""


class HttpClient:
    """Fetches documents; belongs to the event loop on which it is first used."""

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

    async def fetch(self, request: FetchRequest) -> Exchange:
        """Fetch one document; every failure is a `DownloadError`, or the exception that ``request.on_head`` raised."""
        progress = FetchProgress()
        try:
            async with asyncio.timeout(request.timeout or None) as limit:
                return await self._fetch(request, progress)
        except TimeoutError:
            if not limit.expired():
                raise
            seconds = "1 second" if request.timeout == 1 else f"{request.timeout:g} seconds"
            raise FetchTimeout(f"It took longer than {seconds}; it was {progress.stage}.") from None

    async def close(self) -> None:
        """Close idle connections and the resolver; the caller cancels running fetches."""
        self._pool.close()
        self._resolver.close()
        # Transports close in the next iteration of the event loop.
        await asyncio.sleep(0)

    async def _fetch(self, request: FetchRequest, progress: FetchProgress) -> Exchange:
        started_at, started = datetime.now(UTC), monotonic()
        wire_request = write_request(request)
        reader = ResponseReader(request, self._max_head)
        connection = await self._exchange(request, wire_request, reader, progress)
        assert reader.body is not None
        raw_body, payload = reader.body.raw(), reader.body.payload()
        received = monotonic()
        body, note = await _decode(payload, reader.codings, request.max_size, progress)
        return Exchange(
            url=request.url,
            request=wire_request.recorded,
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
        self, request: FetchRequest, wire_request: WireRequest, reader: ResponseReader, progress: FetchProgress
    ) -> HttpConnection:
        is_repeatable = request.is_repeatable or request.method in SAFE_METHODS
        idle = self._pool.take(wire_request.origin) if is_repeatable else None
        if idle is not None:
            try:
                return await self._exchange_on(idle, wire_request, reader, progress)
            except DownloadError:
                # The server closed the idle connection before it saw the request, so repeating is safe.
                if not reader.untouched:
                    raise
        if request.proxy:
            self._resolver.check_literal(wire_request.host)
        opened = await self._connector.connect(wire_request.origin, progress)
        return await self._exchange_on(opened, wire_request, reader, progress)

    async def _exchange_on(
        self, connection: HttpConnection, wire_request: WireRequest, reader: ResponseReader, progress: FetchProgress
    ) -> HttpConnection:
        progress.follow(reader)
        try:
            await connection.exchange(wire_request.wire, reader)
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
