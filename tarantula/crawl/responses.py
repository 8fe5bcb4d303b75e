"""Turn an exchange or a failure into a document: its state, type, links and reason, and whether it is retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from tarantula.core.reasons import Reason
from tarantula.core.states import REDIRECT_CODES, DocumentState, state_meaning
from tarantula.core.urls import canonical, is_web, redirect_target
from tarantula.fetch.exchange import DownloadError, Exchange, RefusedByRule, ResponseHead, TruncatedBody
from tarantula.fetch.media_types import charset_of
from tarantula.fetch.politeness import Politeness
from tarantula.items import CollectedDocument, FrontierEntry, PreviousCapture
from tarantula.links.extract import header_links, read_links
from tarantula.links.link import Link, LinkKind
from tarantula.scope.scope import Scope

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

MIDDLEWARE_ERROR = "MiddlewareError"
"""Rule of documents that a custom middleware failed on."""


def document_of(entry: FrontierEntry, exchange: Exchange, scope: Scope) -> CollectedDocument:
    """Return the document of a response."""
    if exchange.url != entry.url:
        return rewritten_document(entry, exchange.url)
    media_type = scope.type_of(exchange.get(b"content-type"), entry.url, exchange.body[:1024])
    document = CollectedDocument(
        entry,
        exchange.status,
        _reason(exchange, entry.earlier),
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
        charset = charset_of(exchange.get(b"content-type"))
        document.links, document.encoding = read_links(exchange.body, media_type, entry.url, charset)
        if in_headers := header_links(exchange.headers, entry.url):
            known = {link.url for link in document.links}
            document.links += [link for link in in_headers if link.url not in known]
    return document


def rewritten_document(entry: FrontierEntry, url: str) -> CollectedDocument:
    """Return the document of a request that a component sent, or wants to send, to another URL.

    The other URL becomes a document of its own, at its own server, if it is in scope: rows and records always agree.
    """
    reason = Reason.of("rewritten_by_component", url=url)
    links = [Link(target, LinkKind.REDIRECT)] if (target := canonical(url)) and is_web(target) else []
    return CollectedDocument(entry, DocumentState.OVER_LIMIT, reason, collected_at=datetime.now(UTC), links=links)


def truncated_document(entry: FrontierEntry, error: TruncatedBody, scope: Scope) -> CollectedDocument:
    """Return the document of a response whose body is incomplete; it is stored if no further attempt is made."""
    assert error.exchange is not None
    document = document_of(entry, error.exchange, scope)
    if document.exchange is not None:
        document.why = document.why.with_note(Reason.of("kept_in_part", reason=error.reason))
    return document


def failed_document(entry: FrontierEntry, error: DownloadError, at: datetime) -> CollectedDocument:
    """Return the document of an exchange that failed or was refused by a rule."""
    rule = error.rule if isinstance(error, RefusedByRule) else None
    return CollectedDocument(entry, error.state, error.reason, rule=rule, collected_at=at)


def _reason(exchange: Exchange, earlier: PreviousCapture | None) -> Reason:
    if exchange.not_modified is not None and earlier is not None:
        return Reason.of("not_modified", collected_at=f"{earlier.collected_at:%Y-%m-%d %H:%M:%S}", urn=earlier.urn)
    if exchange.status in REDIRECT_CODES:
        return _redirect_reason(exchange)
    reason = _answered(exchange.status)
    for note in exchange.notes:
        reason = reason.with_note(note)
    return reason


def _redirect_reason(exchange: Exchange) -> Reason:
    answer = _answer(exchange.status)
    if not exchange.get(b"location"):
        return Reason.of("redirected_nowhere", answer=answer)
    target = _target(exchange)
    if target is None:
        return Reason.of("redirected_unreadably", answer=answer)
    if target == exchange.url:
        return Reason.of("redirected_to_itself", answer=answer)
    return Reason.of("redirected", answer=answer, target=target)


@cache
def _answered(status: int) -> Reason:
    """Return the reason of most documents; it is the same object for each status, whose JSON is made once."""
    return Reason.of("answered", answer=_answer(status))


def _answer(status: int) -> str:
    return f"{status}{state_meaning(status).removeprefix('HTTP').removeprefix(':')}"


def _redirect_links(exchange: Exchange) -> list[Link]:
    target = _target(exchange)
    if target is None or target == exchange.url or not is_web(target):
        return []
    return [Link(target, LinkKind.REDIRECT)]


def _target(exchange: Exchange) -> str | None:
    return redirect_target(exchange.url, (exchange.get(b"location") or "").encode("latin-1"))


def retry_entry(document: CollectedDocument, politeness: Politeness) -> FrontierEntry | None:
    """Set a failed document to waiting if a retry may help; return the entry for the retry.

    A document that was postponed waits already: no try was made. A middleware that failed would fail again.
    """
    if document.rule == MIDDLEWARE_ERROR:
        return None
    if document.state != DocumentState.WAITING:
        tries = document.entry.tries + 1
        is_truncated = document.exchange is not None and document.exchange.truncated
        if not politeness.should_retry(DocumentState.SYSTEM_ERROR if is_truncated else document.state, tries):
            return None
        document.entry = replace(document.entry, tries=tries)
    document.why = Reason.of("to_be_retried", reason=document.why)
    document.state = DocumentState.WAITING
    document.exchange = None
    document.links = []
    return document.entry


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
        notes=(Reason.of("made_by_component"),),
    )
