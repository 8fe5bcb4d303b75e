"""One HTTP exchange: the request with its limits, the response head, and the recorded bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tarantula.core.reasons import Reason

if TYPE_CHECKING:
    from tarantula.fetch.egress import EgressPolicy

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class ResponseHead:
    """Status and headers of a response, before its body is read."""

    url: str
    status: int
    headers: RawHeaders

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        for key, value in self.headers:
            if key.lower() == name:
                return value.decode("latin-1")
        return None

    @property
    def length(self) -> int | None:
        """Value of the Content-Length header, or ``None`` if it is missing or invalid."""
        text = (self.get(b"content-length") or "").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


@dataclass(slots=True)
class FetchRequest:
    """A request, with the limits of its response."""

    url: str
    headers: RawHeaders = field(default_factory=list)
    method: str = "GET"
    body: bytes = b""
    timeout: float = 300.0
    """Seconds for the whole exchange, from name resolution to the last byte."""
    max_size: int = 0
    """Maximum size of the body in bytes, as received and decoded; 0 for no limit."""
    on_head: Callable[[ResponseHead], None] | None = None
    """Called before the body is read; an exception ends the download."""
    proxy: str = ""
    """URL of an HTTP proxy, with user and password if needed; empty for a direct connection."""
    is_repeatable: bool = False
    """Whether the request is safe to repeat, whatever its method."""
    policy: EgressPolicy | None = None
    """Which addresses may be connected to; by default the client's."""


@dataclass(slots=True)
class Exchange:
    """A request and its response, with the bytes as transferred."""

    url: str
    request: bytes
    head: bytes
    """Status line and headers as received, including the final empty line."""
    raw_body: bytes
    """The body as received, with chunked framing and compression."""
    body: bytes
    """The body without transfer and content codings."""
    status: int
    headers: RawHeaders
    address: str
    """Address of the peer, which is the proxy if there is one."""
    started_at: datetime
    duration: float
    tls: str = ""
    """TLS version and cipher; empty for http."""
    latency: float = 0.0
    """Seconds until the response head arrived."""
    notes: tuple[Reason, ...] = ()
    """Notes, as when the body could not be decoded as declared."""
    truncated: str = ""
    """Why the body is incomplete, as in WARC-Truncated; empty if it is complete."""
    not_modified: Exchange | None = None
    """The 304 response to a conditional request; this exchange then is the earlier capture that it confirms."""

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        return ResponseHead(self.url, self.status, self.headers).get(name)
