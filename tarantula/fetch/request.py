"""Serialize HTTP requests, for the server itself or for a proxy."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tarantula.core.urls import host_of
from tarantula.fetch.errors import InvalidRequest
from tarantula.fetch.exchange import FetchRequest, RawHeaders

DEFAULT_PROXY_PORT = 8080


class Proxy(NamedTuple):
    """Where a proxy is, and what it wants to hear first."""

    host: str
    port: int
    authorization: bytes = b""
    """The value of ``Proxy-Authorization``, or nothing."""


@lru_cache(maxsize=256)
def parse_proxy(url: str) -> Proxy:
    """Read the URL of a proxy; without a scheme it is http."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or DEFAULT_PROXY_PORT
    except ValueError as error:
        raise InvalidRequest(f"The proxy {url} is not a URL: {error}.") from error
    if parts.scheme != "http" or not parts.hostname:
        raise InvalidRequest(f"The proxy {url} is not supported. Write it as http://host:port.")
    return Proxy(parts.hostname, port, _basic(parts.username, parts.password))


def _basic(user: str | None, password: str | None) -> bytes:
    if not user:
        return b""
    return b"Basic " + b64encode(f"{unquote(user)}:{unquote(password or '')}".encode())


ACCEPTED_CODINGS = b"gzip, deflate"

_URL = re.compile(r"(https?)://([^/?#]+)([^#]*)", re.IGNORECASE)
_TARGET = re.compile(rb"[\x21-\x7e]+")
_METHOD = re.compile(rb"[A-Za-z!#$%&'*+.^_`|~0-9-]+")
_BREAKS_A_LINE = re.compile(rb"[\r\n\0]")
_PROXY_AUTHORIZATION = b"proxy-authorization"


class Origin(NamedTuple):
    """What a connection leads to; two requests of the same origin can share one."""

    secure: bool
    host: str
    port: int
    proxy: Proxy | None = None

    @property
    def server(self) -> str:
        """The host, with the port if it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


class WireRequest(NamedTuple):
    """The bytes of a request, and where they go."""

    origin: Origin
    wire: bytes
    kept: bytes
    """The same without the password for the proxy, which is no part of what the server was asked."""
    host: str
    """The host that is asked, whoever carries the request there."""


def write_request(ask: FetchRequest) -> WireRequest:
    """Write the bytes of a request, or say why they cannot be written."""
    matched = _URL.match(ask.url)
    if matched is None:
        raise InvalidRequest(f"The address {ask.url[:100]} is not an http or https URL.")
    scheme, authority, target = matched.groups()
    server = authority.rpartition("@")[2]
    origin = _origin(scheme.lower(), server)
    if not target.startswith("/"):
        target = f"/{target}"
    if not ask.proxy:
        written = _write(ask, server, target, ask.headers)
        return WireRequest(origin, written, written, origin.host)
    return _write_for_proxy(ask, origin, server, target)


def _write_for_proxy(ask: FetchRequest, origin: Origin, server: str, target: str) -> WireRequest:
    headers = [field for field in ask.headers if field[0].lower() != _PROXY_AUTHORIZATION]
    given = [value for name, value in ask.headers if name.lower() == _PROXY_AUTHORIZATION]
    proxy = parse_proxy(ask.proxy)
    if given:
        proxy = proxy._replace(authorization=given[0])
    if origin.secure:
        written = _write(ask, server, target, headers)
        return WireRequest(origin._replace(proxy=proxy), written, written, origin.host)
    kept = wire = _write(ask, server, f"http://{server}{target}", headers)
    if proxy.authorization:
        wire = _write(ask, server, f"http://{server}{target}", [*headers, authorization_field(proxy)])
    return WireRequest(Origin(False, proxy.host, proxy.port, proxy), wire, kept, origin.host)


def authorization_field(proxy: Proxy) -> tuple[bytes, bytes]:
    """The header by which a proxy knows us."""
    return b"Proxy-Authorization", proxy.authorization


def _write(ask: FetchRequest, server: str, target: str, headers: RawHeaders) -> bytes:
    method, path = _ascii(ask.method, _METHOD, "method"), _ascii(target, _TARGET, "address")
    given = {name.lower() for name, _ in headers}
    lines = [b"%s %s HTTP/1.1" % (method, path)]
    if b"host" not in given:
        lines.append(b"Host: " + server.encode())
    lines += [b"%s: %s" % field for field in headers]
    if b"accept-encoding" not in given:
        lines.append(b"Accept-Encoding: " + ACCEPTED_CODINGS)
    if b"content-length" not in given and (ask.body or ask.method in ("POST", "PUT", "PATCH")):
        lines.append(b"Content-Length: %d" % len(ask.body))
    for line in lines:
        if _BREAKS_A_LINE.search(line):
            raise InvalidRequest(f"The header {line.partition(b':')[0].decode('latin-1')!r} has a line break in it.")
    return b"\r\n".join([*lines, b"", ask.body])


def _ascii(text: str, allowed: re.Pattern[bytes], what: str) -> bytes:
    written = text.encode("utf-8", "replace")
    if not allowed.fullmatch(written):
        raise InvalidRequest(f"The {what} {text[:100]!r} has characters that cannot be sent.")
    return written


@lru_cache(maxsize=4096)
def _origin(scheme: str, server: str) -> Origin:
    secure = scheme == "https"
    try:
        host = host_of(server)
        port = server.removeprefix(f"[{host}]").removeprefix(host).removeprefix(":")
        number = int(port) if port else (443 if secure else 80)
    except ValueError as error:
        raise InvalidRequest(f"The port of the server {server[:100]} is not a number.") from error
    if not host or not 0 < number < 65536:
        raise InvalidRequest(f"The server {server[:100]} has no valid host and port.")
    return Origin(secure, host, number)
