"""Turn an exchange or a failure into a document: its state, type, links and reason, and whether it is retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from tarantula.core.states import REDIRECT_CODES, DocumentState, state_meaning
from tarantula.core.urls import is_web, redirect_target
from tarantula.fetch.errors import DownloadError, RefusedByRule
from tarantula.fetch.exchange import Exchange, ResponseHead
from tarantula.fetch.media_types import charset_of
from tarantula.fetch.politeness import Politeness
from tarantula.items import CollectedDocument, FrontierEntry, PreviousCapture
from tarantula.links.extract import extract_links
from tarantula.links.link import Link, LinkKind
from tarantula.scope.scope import Scope

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


def document_of(entry: FrontierEntry, exchange: Exchange, scope: Scope) -> CollectedDocument:
    """Return the document of a complete response."""
    media_type = scope.type_of(exchange.get(b"content-type"), entry.url, exchange.body[:1024])
    document = CollectedDocument(
        entry,
        exchange.status,
        _reason_text(exchange, entry.earlier),
        type=media_type,
        size=len(exchange.body),
        collected_at=exchange.started_at,
        exchange=exchange,
    )
    if exchange.status in REDIRECT_CODES:
        document.links = _redirect_links(exchange)
    elif 200 <= exchange.status < 300:
        head = ResponseHead(entry.url, exchange.status, exchange.headers)
        verdict = scope.judge_body(head, media_type, len(exchange.body))
        if exchange.body and not verdict.accepted:
            assert verdict.state is not None
            return failed_document(
                entry, RefusedByRule(verdict.state, verdict.reason, verdict.rule), exchange.started_at
            )
        document.links = extract_links(exchange.body, media_type, entry.url, charset_of(exchange.get(b"content-type")))
    return document


def failed_document(entry: FrontierEntry, error: DownloadError, at: datetime) -> CollectedDocument:
    """Return the document of an exchange that failed or was refused by a rule."""
    rule = error.rule if isinstance(error, RefusedByRule) else None
    return CollectedDocument(entry, error.state, error.reason, rule=rule, collected_at=at)


def _reason_text(exchange: Exchange, earlier: PreviousCapture | None) -> str:
    if exchange.not_modified is not None and earlier is not None:
        return f"Not modified since {earlier.collected_at:%Y-%m-%d %H:%M:%S} UTC, when {earlier.urn} collected it."
    phrase = state_meaning(exchange.status).removeprefix("HTTP").removeprefix(":")
    answered = f"{exchange.status}{phrase}"
    if exchange.status in REDIRECT_CODES:
        if not exchange.get(b"location"):
            return f"The server answered {answered}, without saying where to."
        target = _target(exchange)
        where = "itself" if target == exchange.url else target or "an address that cannot be read"
        return f"The server answered {answered}: it redirects to {where}."
    note = f" {exchange.note}" if exchange.note else ""
    return f"The server answered {answered}.{note}"


def _redirect_links(exchange: Exchange) -> list[Link]:
    target = _target(exchange)
    if target is None or target == exchange.url or not is_web(target):
        return []
    return [Link(target, LinkKind.REDIRECT)]


def _target(exchange: Exchange) -> str | None:
    return redirect_target(exchange.url, (exchange.get(b"location") or "").encode("latin-1"))


def retry_entry(document: CollectedDocument, politeness: Politeness) -> FrontierEntry | None:
    """Set a failed document to waiting if a retry may help; return the entry for the retry."""
    if not politeness.should_retry(document.state, document.entry.tries + 1):
        return None
    document.reason = f"To be tried again: {document.reason}"
    document.state = DocumentState.WAITING
    document.exchange = None
    document.links = []
    return replace(document.entry, tries=document.entry.tries + 1)


def exchange_for(request: Request, response: Response) -> Exchange:
    """Return an exchange for a response that a component made, such as an HTTP cache, with a note that says so."""
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
