"""HTTP/1.1 client that keeps the bytes as received and limits time, size and headers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from time import monotonic

from tarantula.core.reasons import Reason
from tarantula.fetch.connection import LOOKUP, ConnectionPool, Connector, FetchProgress, HttpConnection
from tarantula.fetch.content_coding import DecodedBody, decode_body
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import (
    DownloadError,
    Exchange,
    FetchRequest,
    FetchTimeout,
    LocalResourceError,
    ServerUnreachable,
    TruncatedBody,
)
from tarantula.fetch.names import Resolver
from tarantula.fetch.request import Origin, WireRequest, write_request
from tarantula.fetch.response import ResponseReader

INLINE_DECODE_BYTES = 64 * 1024
"""Compressed bytes that are decoded on the event loop; larger bodies are decoded in a thread."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""RFC 9110, 9.2.1: safe to repeat."""
DECODING = Reason.of("stage_decoding")
PUBLIC_ONLY = EgressPolicy()


class HttpClient:
    """Fetches documents; belongs to the event loop on which it is first used."""

    def __init__(
        self,
        *,
        policy: EgressPolicy = PUBLIC_ONLY,
        verify: bool = True,
        max_head: int = 256 * 1024,
        max_idle: int = 256,
        max_idle_per_server: int = 8,
        idle_seconds: float = 30.0,
        bind_address: str = "",
        resolver: Resolver | None = None,
    ) -> None:
        self._max_head = max_head
        self._pool = ConnectionPool(
            max_idle=max_idle, max_idle_per_server=max_idle_per_server, idle_seconds=idle_seconds
        )
        self._policy = policy
        self._owns_resolver = resolver is None
        self._resolver = resolver or Resolver()
        self._connector = Connector(
            self._resolver, verify=verify, bind_address=bind_address, on_close=self._pool.forget
        )

    async def fetch(self, request: FetchRequest) -> Exchange:
        """Fetch one document; every failure is a `DownloadError`, or the exception that ``request.on_head`` raised.

        A `TruncatedBody` has the part of the response that arrived.
        """
        progress = FetchProgress()
        try:
            async with asyncio.timeout(request.timeout or None) as limit:
                return await self._fetch(request, progress)
        except TimeoutError:
            if not limit.expired():
                raise
            raise FetchTimeout(Reason.of("timeout", seconds=request.timeout, stage=progress.stage)) from None

    def close_idle(self) -> None:
        """Close idle connections, which hold files, ports and memory."""
        self._pool.close()

    async def close(self) -> None:
        """Close idle connections and a resolver of its own; the caller cancels running fetches."""
        self._pool.close()
        if self._owns_resolver:
            await self._resolver.close()
        # Transports close in the next iteration of the event loop.
        await asyncio.sleep(0)

    async def _fetch(self, request: FetchRequest, progress: FetchProgress) -> Exchange:
        started_at, started = datetime.now(UTC), monotonic()
        wire_request = write_request(request)
        reader = ResponseReader(request, self._max_head)
        connection, failure = await self._exchange(request, wire_request, reader, progress)
        assert reader.body is not None
        raw_body, payload = reader.body.raw(), reader.body.payload()
        received = monotonic()
        body, notes = await _decode(payload, reader.codings, request.max_size, progress)
        exchange = Exchange(
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
            notes=notes,
            truncated="disconnect" if failure is not None else "",
        )
        if failure is not None:
            raise TruncatedBody.of(failure, exchange) from failure
        return exchange

    async def _exchange(
        self, request: FetchRequest, wire_request: WireRequest, reader: ResponseReader, progress: FetchProgress
    ) -> tuple[HttpConnection, DownloadError | None]:
        policy = request.policy or self._policy
        if request.proxy:
            await self._check_proxied(wire_request.target, policy, progress)
        is_repeatable = request.is_repeatable or request.method in SAFE_METHODS
        idle = self._take_idle(wire_request.origin, policy) if is_repeatable else None
        if idle is not None:
            try:
                return await self._exchange_on(idle, wire_request, reader, progress)
            except DownloadError:
                # The server closed the idle connection before it saw the request, so repeating is safe.
                if not reader.untouched:
                    raise
        try:
            opened = await self._connector.connect(wire_request.origin, policy, progress)
        except LocalResourceError:
            self.close_idle()
            raise
        return await self._exchange_on(opened, wire_request, reader, progress)

    def _take_idle(self, origin: Origin, policy: EgressPolicy) -> HttpConnection | None:
        idle = self._pool.take(origin)
        if idle is None or origin.proxy is not None or policy.permits(origin.host, origin.port, idle.address):
            return idle
        # Another request was permitted to connect to this address.
        self._pool.give(idle)
        return None

    async def _check_proxied(self, target: Origin, policy: EgressPolicy, progress: FetchProgress) -> None:
        """Refuse a server that a proxy must not be asked for: the proxy would connect to any address of it."""
        if policy.proxy_guards:
            policy.check_literal(target.host, target.port)
            return
        progress.enter(LOOKUP)
        try:
            addresses = await self._resolver.addresses(target.host)
        except ServerUnreachable as error:
            raise ServerUnreachable(Reason.of("proxied_name_unknown", host=target.host)) from error
        policy.check_all(target.host, target.port, addresses)

    async def _exchange_on(
        self, connection: HttpConnection, wire_request: WireRequest, reader: ResponseReader, progress: FetchProgress
    ) -> tuple[HttpConnection, DownloadError | None]:
        """Send a request; return the connection, and the error if it ended within the body."""
        progress.follow(reader)
        try:
            await connection.exchange(wire_request.wire, reader)
        except (TruncatedBody, ServerUnreachable) as error:
            if reader.body is None:
                raise
            return connection, error
        finally:
            if connection.open:
                self._pool.give(connection)
        return connection, None


async def _decode(payload: bytes, codings: list[bytes], max_size: int, progress: FetchProgress) -> DecodedBody:
    if not codings:
        return DecodedBody(payload)
    if len(payload) <= INLINE_DECODE_BYTES:
        return decode_body(payload, codings, max_size)
    progress.enter(DECODING)
    return await asyncio.to_thread(decode_body, payload, codings, max_size)
