"""New connections: the name looked up, its addresses tried in turn, a proxy passed, TLS begun."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from tarantula.fetch.connection import HttpConnection
from tarantula.fetch.connection_part_failures import unreachable_error
from tarantula.fetch.connection_part_progress import FetchProgress
from tarantula.fetch.errors import ServerUnreachable
from tarantula.fetch.exchange import FetchRequest, ResponseHead
from tarantula.fetch.request import Origin, authorization_field
from tarantula.fetch.resolver import Resolver
from tarantula.fetch.response import ResponseReader
from tarantula.fetch.tls import describe_tls, make_tls_context

CONNECT_TIMEOUT_SECONDS = 10.0
"""Seconds for an address that takes no connection, when there is another to try."""
TLS_TIMEOUT_SECONDS = 60.0
MAX_TUNNEL_HEAD_BYTES = 64 * 1024


class Endpoint(NamedTuple):
    """One address and port to connect to."""

    address: str
    port: int


class Connector:
    """Opens connections to the very addresses that the resolver allowed."""

    def __init__(
        self, resolver: Resolver, *, verify: bool, bind_address: str, on_close: Callable[[HttpConnection], None]
    ) -> None:
        self._resolver = resolver
        self._verify = verify
        self._local = (bind_address, 0) if bind_address else None
        self._on_close = on_close

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return make_tls_context(verify=self._verify)

    async def connect(self, origin: Origin, progress: FetchProgress) -> HttpConnection:
        """Open a connection to an origin, or say why there is none."""
        progress.enter("looking up the name")
        points = await self._points(origin)
        progress.enter("connecting")
        try:
            connection = await self._first_that_answers(origin, points)
            if origin.secure and origin.proxy is not None:
                await self._pass_proxy(connection, origin)
        except OSError as error:
            raise unreachable_error(origin.server, error) from error
        connection.tls = describe_tls(connection.transport.get_extra_info("ssl_object"))
        return connection

    async def _points(self, origin: Origin) -> list[Endpoint]:
        if origin.proxy is not None:
            addresses = await self._resolver.addresses(origin.proxy.host)
            return [Endpoint(address, origin.proxy.port) for address in addresses]
        return [Endpoint(address, origin.port) for address in await self._resolver.visitable(origin.host)]

    async def _first_that_answers(self, origin: Origin, points: list[Endpoint]) -> HttpConnection:
        for point in points[:-1]:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                    return await self._open(origin, point)
            except ssl.SSLError:
                raise
            except OSError:
                continue
        return await self._open(origin, points[-1])

    async def _open(self, origin: Origin, point: Endpoint) -> HttpConnection:
        secure = origin.secure and origin.proxy is None
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: HttpConnection(origin, self._on_close),
            *point,
            local_addr=self._local,
            ssl=self._tls if secure else None,
            server_hostname=_name_for_tls(origin) if secure else None,
            ssl_handshake_timeout=TLS_TIMEOUT_SECONDS if secure else None,
        )
        return connection

    async def _pass_proxy(self, connection: HttpConnection, origin: Origin) -> None:
        try:
            await connection.exchange(*_ask_for_tunnel(origin))
            transport = await asyncio.get_running_loop().start_tls(
                connection.transport,
                connection,
                self._tls,
                server_hostname=_name_for_tls(origin),
                ssl_handshake_timeout=TLS_TIMEOUT_SECONDS,
            )
        except BaseException:
            connection.drop()
            raise
        if transport is None:
            raise ServerUnreachable(f"The proxy closed the connection to {origin.server}.")
        connection.use(transport)


def _name_for_tls(origin: Origin) -> str:
    return origin.host.rstrip(".")


def _ask_for_tunnel(origin: Origin) -> tuple[bytes, ResponseReader]:
    def check(head: ResponseHead) -> None:
        if not 200 <= head.status < 300:
            raise ServerUnreachable(f"The proxy answered {head.status} when asked for {origin.server}.")

    authority = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
    lines = [f"CONNECT {authority} HTTP/1.1".encode(), f"Host: {authority}".encode()]
    if origin.proxy is not None and origin.proxy.authorization:
        lines.append(b"%s: %s" % authorization_field(origin.proxy))
    ask = FetchRequest(f"https://{authority}/", method="CONNECT", on_head=check)
    return b"\r\n".join([*lines, b"", b""]), ResponseReader(ask, MAX_TUNNEL_HEAD_BYTES)
