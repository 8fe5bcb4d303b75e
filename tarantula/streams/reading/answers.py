"""From an HTTP exchange to one reading attempt for each source of the visit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from http import HTTPStatus

from tarantula.core.limited_worker import ParserFailedError, ParserLimitError
from tarantula.core.messages import Message
from tarantula.core.states import DocumentState
from tarantula.core.urls import redirect_target
from tarantula.fetch.errors import DownloadError, PrivateAddress, RefusedByRule
from tarantula.fetch.exchange import Exchange
from tarantula.streams.adapters.base import SourceReading, SourceResponse, UnreadableResponse
from tarantula.streams.ingest.outcome import FailedReading, UnchangedReading
from tarantula.streams.limited import needs_worker, read_response
from tarantula.streams.reading.visits import FollowedSource, StreamVisit
from tarantula.streams.sources.config import SourceStatus

logger = logging.getLogger(__name__)

MAX_REDIRECTS = 5
MAX_VALIDATOR_CHARS = 1000
"""Longer validators, such as an ETag, are ignored."""
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
TOO_MANY_REDIRECTS = Message("It was redirected more than {limit} times.", limit=MAX_REDIRECTS)


@dataclass(slots=True)
class ReadAttempt:
    """Outcome of one source of a visit: the item of the `streams` spider."""

    visit: StreamVisit
    source: FollowedSource
    outcome: SourceReading | FailedReading | UnchangedReading
    at: int
    """Time of the request, microseconds since 1970."""
    validators: Mapping[str, str] | None = None


def redirect_location(exchange: Exchange) -> str | None:
    """Return the target of a redirect; ``None`` if the response is none."""
    location = exchange.get(b"location") if exchange.status in REDIRECT_STATUSES else None
    return redirect_target(exchange.url, location.encode("latin-1")) if location else None


def attempts_from_exchange(visit: StreamVisit, exchange: Exchange, page: bytes | None = None) -> list[ReadAttempt]:
    """Read a response for every source of the visit; *page* is the HTML that a browser rendered from it."""
    at = int(exchange.started_at.timestamp() * 1_000_000)
    if exchange.status == HTTPStatus.NOT_MODIFIED:
        return [ReadAttempt(visit, source, UnchangedReading(), at) for source in visit.sources]
    if not 200 <= exchange.status < 300:
        failed = FailedReading(SourceStatus.UNREACHED, _status_sentence(exchange.status))
        return [ReadAttempt(visit, source, failed, at, {}) for source in visit.sources]
    validators = _validators(visit, exchange)
    answer = SourceResponse(
        exchange.url,
        exchange.body if page is None else page,
        (exchange.get(b"content-type") or "") if page is None else "text/html; charset=utf-8",
        exchange.started_at,
    )
    return [
        ReadAttempt(visit, source, UnchangedReading(), at, validators)
        if page is None and source.validators.get("digest") == validators["digest"]
        else ReadAttempt(visit, source, read_source(source, answer), at, validators if page is None else {})
        for source in visit.sources
    ]


def may_wait_for_worker(visit: StreamVisit, exchange: Exchange) -> bool:
    """Whether a source of the visit is read in a worker process."""
    return any(needs_worker(source.config, len(exchange.body)) for source in visit.sources)


def failed_attempts(visit: StreamVisit, error: Exception, at: int) -> list[ReadAttempt]:
    """Return a failed attempt for every source of the visit."""
    made = _failed_reading(error)
    return [
        ReadAttempt(visit, source, made.without_secrets(source.config.variables), at, {}) for source in visit.sources
    ]


def read_source(source: FollowedSource, answer: SourceResponse) -> SourceReading | FailedReading:
    """Read a response with the source's adapter; an error there affects this source only."""
    try:
        return read_response(answer, source.config, source.memory)
    except (UnreadableResponse, ParserLimitError) as error:
        return FailedReading(SourceStatus.UNREACHED, str(error)).without_secrets(source.config.variables)
    except Exception as error:
        logger.exception("The %s adapter failed on %s.", source.config.adapter, source.config.name)
        return FailedReading(
            SourceStatus.UNREACHED,
            Message("It could not be read ({error_type}): see the log.", error_type=_error_type(error)),
        )


def _error_type(error: Exception) -> str:
    return str(error).partition(":")[0] if isinstance(error, ParserFailedError) else type(error).__name__


def _failed_reading(error: Exception) -> FailedReading:
    if isinstance(error, RefusedByRule) and error.state == DocumentState.EXCLUDED_BY_ROBOTS:
        return FailedReading(SourceStatus.REFUSED, str(error))
    if isinstance(error, PrivateAddress):
        return FailedReading(SourceStatus.REFUSED, str(error))
    if isinstance(error, DownloadError):
        return FailedReading(SourceStatus.UNREACHED, str(error))
    return FailedReading(SourceStatus.UNREACHED, Message("It could not be fetched: {error}.", error=error))


def _status_sentence(status: int) -> str:
    try:
        words = f" ({HTTPStatus(status).phrase})"
    except ValueError:
        words = ""
    return Message("Its server answered with {status}{words}.", status=status, words=words)


def _validators(visit: StreamVisit, exchange: Exchange) -> dict[str, str]:
    known = {"digest": blake2b(exchange.body, digest_size=16).hexdigest()}
    for name, header in (("etag", b"etag"), ("last_modified", b"last-modified")):
        value = exchange.get(header)
        if value and len(value) <= MAX_VALIDATOR_CHARS:
            known[name] = value
    return {"url": visit.url, **known}
