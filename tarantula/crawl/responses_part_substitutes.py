"""An exchange for an answer that never came over the wire: a cache's, or that of a middleware of one's own."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from tarantula.fetch.exchange import Exchange

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


def exchange_for(request: Request, response: Response) -> Exchange:
    """Write down an answer as if it had been sent, and say that it was not."""
    headers = [(name, value) for name, values in response.headers.items() for value in values]
    known = response.status in HTTPStatus.__members__.values()
    phrase = HTTPStatus(response.status).phrase if known else ""
    lines = [f"HTTP/1.1 {response.status} {phrase}".encode(), *(b": ".join(header) for header in headers), b"", b""]
    return Exchange(
        url=request.url,
        request=f"GET {request.url} HTTP/1.1\r\n\r\n".encode(),
        head=b"\r\n".join(lines),
        raw_body=response.body,
        body=response.body,
        status=response.status,
        headers=headers,
        address=str(response.ip_address or "0.0.0.0"),
        started_at=datetime.now(UTC),
        duration=0.0,
        note="The answer did not come from the server, but from a component of the collector.",
    )
