"""What is asked of a server, and what came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class ResponseHead:
    """Status line and headers of an answer, before its body is read."""

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
        """What the Content-Length header says, if it says a number that a body can have."""
        text = (self.get(b"content-length") or "").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


@dataclass(slots=True)
class FetchRequest:
    """A request, with the limits that its answer must keep."""

    url: str
    headers: RawHeaders = field(default_factory=list)
    method: str = "GET"
    body: bytes = b""
    timeout: float = 300.0
    """Seconds for the whole document, from looking up the name to the last byte."""
    max_size: int = 0
    """Largest body in bytes, on the wire and unpacked; 0 sets no limit."""
    on_head: Callable[[ResponseHead], None] | None = None
    """Called before the body is read; what it raises ends the download there."""
    proxy: str = ""
    """The URL of an HTTP proxy, with user and password if it wants them; empty asks the server itself."""
    is_repeatable: bool = False
    """Whether asking twice does no harm, whatever the method."""


@dataclass(slots=True)
class Exchange:
    """A request and its answer, with the bytes as they were sent."""

    url: str
    request: bytes
    head: bytes
    """Status line and headers as received, up to and with the empty line."""
    raw_body: bytes
    """The body as it was on the wire: chunked framing and compression are still there."""
    body: bytes
    """The body without transfer coding and content coding."""
    status: int
    headers: RawHeaders
    address: str
    """The peer's address: the proxy's, if there was one."""
    started_at: datetime
    duration: float
    tls: str = ""
    """Protocol version and cipher, for https."""
    latency: float = 0.0
    """Seconds until the head was there."""
    note: str = ""
    """What was odd about the body, if it could not be unpacked as the headers promised."""
    not_modified: Exchange | None = None
    """The answer 304 to which this exchange, of an earlier capture, gives the body."""

    def get(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name, decoded as latin-1."""
        return ResponseHead(self.url, self.status, self.headers).get(name)
