"""HTTP connections: opening them directly or through a proxy, exchanges on them, and a pool of idle ones."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from collections.abc import Callable
from functools import cached_property
from time import monotonic
from typing import NamedTuple, cast

from tarantula.core.reasons import Reason
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import DownloadError, FetchRequest, ResponseHead, ServerUnreachable, local_resource_error
from tarantula.fetch.names import Resolver
from tarantula.fetch.request import Origin, authorization_field
from tarantula.fetch.response import ResponseReader
from tarantula.fetch.tls import describe_tls, make_tls_context, tls_problem

MAX_TRIED_ADDRESSES = 6
"""Addresses of one name that are tried."""
CONNECT_TIMEOUT_SECONDS = 10.0
"""For one address, if there is another one to try."""
TLS_TIMEOUT_SECONDS = 60.0
MAX_TUNNEL_HEAD_BYTES = 64 * 1024
"""Headers of a proxy's response to CONNECT."""
MAX_EARLY_BYTES = 64 * 1024
"""Bytes that a server may send before the first request."""
BEGINNING = Reason.of("stage_beginning")
LOOKUP = Reason.of("stage_lookup")
CONNECTING = Reason.of("stage_connecting")


def unreachable_error(server: str, error: OSError) -> ServerUnreachable:
    """Return the error for a connection that ended."""
    return ServerUnreachable(_reason(server, error))


def connect_error(server: str, error: OSError) -> DownloadError:
    """Return the error for a connection that could not be opened."""
    return local_resource_error(error) or unreachable_error(server, error)


def _reason(server: str, error: OSError) -> Reason:
    match error:
        case ssl.SSLError():
            return tls_problem(server, error)
        case ConnectionRefusedError():
            return Reason.of("connection_refused", server=server)
        case ConnectionResetError() | BrokenPipeError():
            return Reason.of("connection_reset", server=server)
        case TimeoutError():
            return Reason.of("connection_timeout", server=server)
    problem = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return Reason.of("connection_failed", server=server, error=problem)


class HttpConnection(asyncio.Protocol):
    """A connection that carries one exchange at a time; unexpected bytes between exchanges close it."""

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
        """The transport of an established connection."""
        assert self._transport is not None
        return self._transport

    def use(self, transport: asyncio.Transport) -> None:
        """Use *transport* from now on."""
        self._transport = transport

    async def exchange(self, request: bytes, reader: ResponseReader) -> None:
        """Send a request and feed the response to *reader*, until it is complete or fails."""
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
        """Close at once, without flushing."""
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.open = True
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""

    def data_received(self, data: bytes) -> None:
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
        if isinstance(exc, OSError):
            self.open = False
            self._loss = unreachable_error(self.origin.server, exc)
            self._end(self._loss)
        else:
            # Some event loops report a TLS stream that ends without close_notify only here.
            self.eof_received()
        self._on_close(self)

    def _take_early(self, data: bytes) -> None:
        """Keep bytes that arrive before the first request, as from mail servers; after a response they are an error."""
        self._early += data
        if not self._fresh or len(self._early) > MAX_EARLY_BYTES:
            self.drop()

    def _catch_up(self) -> None:
        """Give the reader the bytes and the end of stream that came before it."""
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


class FetchProgress:
    """Current stage of a fetch, for the message of a timeout."""

    __slots__ = ("_reader", "_stage")

    def __init__(self) -> None:
        self._stage = BEGINNING
        self._reader: ResponseReader | None = None

    @property
    def stage(self) -> Reason:
        """The stage, as part of a reason."""
        return self._stage if self._reader is None else self._reader.stage

    def enter(self, stage: Reason) -> None:
        """Enter another stage."""
        self._stage = stage
        self._reader = None

    def follow(self, reader: ResponseReader) -> None:
        """Report the stage of a response reader from now on."""
        self._reader = reader


class Endpoint(NamedTuple):
    """Address and port to connect to."""

    address: str
    port: int


class Connector:
    """Opens connections, only to addresses that the policy permits."""

    def __init__(
        self,
        resolver: Resolver,
        *,
        verify: bool,
        bind_address: str,
        on_close: Callable[[HttpConnection], None],
    ) -> None:
        self._resolver = resolver
        self._verify = verify
        self._local = (bind_address, 0) if bind_address else None
        self._on_close = on_close

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return make_tls_context(verify=self._verify)

    async def connect(self, origin: Origin, policy: EgressPolicy, progress: FetchProgress) -> HttpConnection:
        """Open a connection to an origin; raise a `DownloadError` if no permitted address accepts it."""
        progress.enter(LOOKUP)
        endpoints = await self._endpoints(origin, policy)
        progress.enter(CONNECTING)
        try:
            connection = await self._open_first(origin, endpoints)
            if origin.secure and origin.proxy is not None:
                await self._open_tunnel(connection, origin)
        except OSError as error:
            raise connect_error(origin.server, error) from error
        connection.tls = describe_tls(connection.transport.get_extra_info("ssl_object"))
        return connection

    async def _endpoints(self, origin: Origin, policy: EgressPolicy) -> list[Endpoint]:
        if origin.proxy is not None:
            # The operator chose the proxy. What it is asked for was checked before.
            addresses, port = await self._resolver.addresses(origin.proxy.host), origin.proxy.port
        else:
            found, port = await self._resolver.addresses(origin.host), origin.port
            addresses = policy.permitted(origin.host, port, found)
        return [Endpoint(address, port) for address in addresses[:MAX_TRIED_ADDRESSES]]

    async def _open_first(self, origin: Origin, endpoints: list[Endpoint]) -> HttpConnection:
        for endpoint in endpoints[:-1]:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                    return await self._open(origin, endpoint)
            except OSError as error:
                if isinstance(error, ssl.SSLError) or local_resource_error(error) is not None:
                    raise
        return await self._open(origin, endpoints[-1])

    async def _open(self, origin: Origin, endpoint: Endpoint) -> HttpConnection:
        try:
            return await self._open_transport(origin, endpoint)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and (self._local is not None or ":" in endpoint.address):
                # The machine has no IPv6, or not this address: it is not short of ports.
                raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH)) from error
            raise

    async def _open_transport(self, origin: Origin, endpoint: Endpoint) -> HttpConnection:
        secure = origin.secure and origin.proxy is None
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: HttpConnection(origin, self._on_close),
            *endpoint,
            local_addr=self._local,
            ssl=self._tls if secure else None,
            server_hostname=_tls_name(origin) if secure else None,
            ssl_handshake_timeout=TLS_TIMEOUT_SECONDS if secure else None,
        )
        return connection

    async def _open_tunnel(self, connection: HttpConnection, origin: Origin) -> None:
        try:
            await connection.exchange(*_tunnel_request(origin))
            transport = await asyncio.get_running_loop().start_tls(
                connection.transport,
                connection,
                self._tls,
                server_hostname=_tls_name(origin),
                ssl_handshake_timeout=TLS_TIMEOUT_SECONDS,
            )
        except BaseException:
            connection.drop()
            raise
        if transport is None:
            raise ServerUnreachable(Reason.of("proxy_closed", server=origin.server))
        connection.use(transport)


def _tls_name(origin: Origin) -> str:
    return origin.host.rstrip(".")


def _tunnel_request(origin: Origin) -> tuple[bytes, ResponseReader]:
    def check(head: ResponseHead) -> None:
        if not 200 <= head.status < 300:
            raise ServerUnreachable(Reason.of("proxy_refused", status=head.status, server=origin.server))

    authority = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
    lines = [f"CONNECT {authority} HTTP/1.1".encode(), f"Host: {authority}".encode()]
    if origin.proxy is not None and origin.proxy.authorization:
        lines.append(b"%s: %s" % authorization_field(origin.proxy))
    request = FetchRequest(f"https://{authority}/", method="CONNECT", on_head=check)
    return b"\r\n".join([*lines, b"", b""]), ResponseReader(request, MAX_TUNNEL_HEAD_BYTES)


class ConnectionPool:
    """Idle connections by origin, limited in number and time; the most recently used is taken first."""

    def __init__(self, *, max_idle: int, max_idle_per_server: int, idle_seconds: float) -> None:
        self._max_idle = max_idle
        self._max_idle_per_server = max_idle_per_server
        self._idle_seconds = idle_seconds
        self._idle: dict[HttpConnection, None] = {}
        self._by_origin: dict[Origin, list[HttpConnection]] = {}
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, origin: Origin) -> HttpConnection | None:
        """Remove and return an open idle connection to an origin, or ``None``."""
        while origin in self._by_origin:
            connection = self._by_origin[origin][-1]
            self.forget(connection)
            if connection.open:
                connection.reused = True
                return connection
            connection.drop()
        return None

    def give(self, connection: HttpConnection) -> None:
        """Add an idle connection; close the oldest one if there are too many."""
        connection.idle_since = monotonic()
        self._idle[connection] = None
        siblings = self._by_origin.setdefault(connection.origin, [])
        siblings.append(connection)
        if len(siblings) > self._max_idle_per_server:
            self._close(siblings[0])
        if len(self._idle) > self._max_idle:
            self._close(next(iter(self._idle)))
        if self._sweeper is None:
            self._sweep_in(self._idle_seconds)

    def forget(self, connection: HttpConnection) -> None:
        """Remove a connection, because it is used or closed."""
        if connection not in self._idle:
            return
        del self._idle[connection]
        siblings = self._by_origin[connection.origin]
        siblings.remove(connection)
        if not siblings:
            del self._by_origin[connection.origin]

    def close(self) -> None:
        """Close all connections."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for connection in list(self._idle):
            self._close(connection)

    def _close(self, connection: HttpConnection) -> None:
        self.forget(connection)
        connection.drop()

    def _sweep_in(self, seconds: float) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(seconds, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        oldest_kept = monotonic() - self._idle_seconds
        for connection in list(self._idle):
            if connection.idle_since > oldest_kept:
                self._sweep_in(connection.idle_since - oldest_kept)
                return
            self._close(connection)
