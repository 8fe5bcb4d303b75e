"""Serialize HTTP requests, for the server itself or for a proxy."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from w3lib.http import basic_auth_header

from tarantula.core.reasons import Reason
from tarantula.core.urls import host_of
from tarantula.fetch.exchange import FetchRequest, InvalidRequest, RawHeaders

DEFAULT_PROXY_PORT = 8080


class Proxy(NamedTuple):
    """Address of an HTTP proxy, and its credentials."""

    host: str
    port: int
    authorization: bytes = b""
    """Value of the ``Proxy-Authorization`` header, or empty."""


@lru_cache(maxsize=256)
def parse_proxy(url: str) -> Proxy:
    """Parse the URL of a proxy; without a scheme it is http."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or DEFAULT_PROXY_PORT
    except ValueError as error:
        raise InvalidRequest(Reason.of("proxy_not_url", proxy=url, error=str(error))) from error
    if parts.scheme != "http" or not parts.hostname:
        raise InvalidRequest(Reason.of("proxy_not_supported", proxy=url))
    if not parts.username:
        return Proxy(parts.hostname, port)
    user, password = unquote(parts.username), unquote(parts.password or "")
    return Proxy(parts.hostname, port, basic_auth_header(user, password, encoding="utf-8"))


ACCEPTED_CODINGS = b"gzip, deflate"

_URL = re.compile(r"(https?)://([^/?#]+)([^#]*)", re.IGNORECASE)
_TARGET = re.compile(rb"[\x21-\x7e]+")
_METHOD = re.compile(rb"[A-Za-z!#$%&'*+.^_`|~0-9-]+")
_LINE_BREAK = re.compile(rb"[\r\n\0]")
_PROXY_AUTHORIZATION = b"proxy-authorization"


class Origin(NamedTuple):
    """Target of a connection; requests to the same origin may share one."""

    secure: bool
    host: str
    port: int
    proxy: Proxy | None = None

    @property
    def server(self) -> str:
        """Host, with the port if it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


class WireRequest(NamedTuple):
    """A serialized request and its target."""

    origin: Origin
    wire: bytes
    recorded: bytes
    """The same without the credentials for the proxy; this is stored."""
    target: Origin
    """Origin of the URL, also if the request goes to a proxy."""


def write_request(request: FetchRequest) -> WireRequest:
    """Serialize a request; raise `InvalidRequest` if its URL, headers or proxy are invalid."""
    matched = _URL.match(request.url)
    if matched is None:
        raise InvalidRequest(Reason.of("address_invalid", url=request.url[:100]))
    scheme, authority, target = matched.groups()
    server = authority.rpartition("@")[2]
    origin = _origin(scheme.lower(), server)
    if not target.startswith("/"):
        target = f"/{target}"
    if not request.proxy:
        serialized = _serialize(request, server, target, request.headers)
        return WireRequest(origin, serialized, serialized, origin)
    return _proxied_request(request, origin, server, target)


def _proxied_request(request: FetchRequest, origin: Origin, server: str, target: str) -> WireRequest:
    headers = [field for field in request.headers if field[0].lower() != _PROXY_AUTHORIZATION]
    given = [value for name, value in request.headers if name.lower() == _PROXY_AUTHORIZATION]
    proxy = parse_proxy(request.proxy)
    if given:
        proxy = proxy._replace(authorization=given[0])
    if origin.secure:
        serialized = _serialize(request, server, target, headers)
        return WireRequest(origin._replace(proxy=proxy), serialized, serialized, origin)
    recorded = wire = _serialize(request, server, f"http://{server}{target}", headers)
    if proxy.authorization:
        wire = _serialize(request, server, f"http://{server}{target}", [*headers, authorization_field(proxy)])
    return WireRequest(Origin(False, proxy.host, proxy.port, proxy), wire, recorded, origin)


def authorization_field(proxy: Proxy) -> tuple[bytes, bytes]:
    """Return the header with the credentials for a proxy."""
    return b"Proxy-Authorization", proxy.authorization


def _serialize(request: FetchRequest, server: str, target: str, headers: RawHeaders) -> bytes:
    method, path = request.method.encode("utf-8", "replace"), target.encode("utf-8", "replace")
    if not _METHOD.fullmatch(method):
        raise InvalidRequest(Reason.of("method_not_sendable", method=repr(request.method[:100])))
    if not _TARGET.fullmatch(path):
        raise InvalidRequest(Reason.of("address_not_sendable", target=repr(target[:100])))
    given = {name.lower() for name, _ in headers}
    lines = [b"%s %s HTTP/1.1" % (method, path)]
    if b"host" not in given:
        lines.append(b"Host: " + server.encode())
    lines += [b"%s: %s" % field for field in headers]
    if b"accept-encoding" not in given:
        lines.append(b"Accept-Encoding: " + ACCEPTED_CODINGS)
    if b"content-length" not in given and (request.body or request.method in ("POST", "PUT", "PATCH")):
        lines.append(b"Content-Length: %d" % len(request.body))
    for line in lines:
        if _LINE_BREAK.search(line):
            name = line.partition(b":")[0].decode("latin-1")
            raise InvalidRequest(Reason.of("header_not_sendable", header=repr(name)))
    return b"\r\n".join([*lines, b"", request.body])


def origin_named(url: str) -> Origin:
    """Return the origin of a URL; raise `InvalidRequest` if it has no valid host and port."""
    matched = _URL.match(url)
    if matched is None:
        raise InvalidRequest(Reason.of("address_invalid", url=url[:100]))
    return _origin(matched[1].lower(), matched[2].rpartition("@")[2])


@lru_cache(maxsize=4096)
def _origin(scheme: str, server: str) -> Origin:
    secure = scheme == "https"
    try:
        host = host_of(server)
        port = server.removeprefix(f"[{host}]").removeprefix(host).removeprefix(":")
        number = int(port) if port else (443 if secure else 80)
    except ValueError as error:
        raise InvalidRequest(Reason.of("port_invalid", server=server[:100])) from error
    if not host or not 0 < number < 65536:
        raise InvalidRequest(Reason.of("server_invalid", server=server[:100]))
    return Origin(secure, host, number)
