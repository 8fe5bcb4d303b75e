"""Visits to a source that are due, and the answers that they bring."""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from tarantula.core.limited_worker import ParserFailedError, ParserLimitError
from tarantula.core.messages import Message
from tarantula.core.states import DocumentState
from tarantula.core.urls import origin_of, redirect_target, server_of
from tarantula.fetch.exchange import DownloadError, Exchange, InvalidResponse, PrivateAddress, RefusedByRule
from tarantula.streams.adapters.base import AdapterMemory, SourceReading, SourceResponse, UnreadableResponse
from tarantula.streams.history.levels import SECOND
from tarantula.streams.ingest.value_typing import FailedReading, UnchangedReading
from tarantula.streams.limited import needs_worker, read_response
from tarantula.streams.sources.config import SourceConfig, SourceStatus
from tarantula.streams.sources.request import PLAIN_GET, RequestMethod, SourceRequest, cross_origin_message

LATE_READINGS_PER_SECOND = 100
"""Maximum rate at which sources that are overdue at the start are read."""
T = TypeVar("T")
logger = logging.getLogger(__name__)

MAX_REDIRECTS = 5
MAX_VALIDATOR_CHARS = 1000
"""Longer validators, such as an ETag, are ignored."""
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})


VisitKey = tuple[Any, ...]
"""What sources must have in common to share a visit."""


def next_due(address: str, interval: float, after: int) -> int:
    """Return the first due time after *after*, in microseconds since 1970."""
    step = round(interval * SECOND)
    offset = int.from_bytes(blake2b(address.encode(), digest_size=8).digest()) % step
    return after + step - (after - offset) % step


def spread_late(number: int, now: int, interval: float) -> int:
    """Return when the *number*-th of many overdue sources is read: soon, at a limited rate."""
    return now + min(number * SECOND // LATE_READINGS_PER_SECOND, round(interval * SECOND))


class DueHeap(Generic[T]):
    """Priority queue by due time; of equal times the first added comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, at: int, what: T) -> None:
        self._pushed += 1
        heappush(self._heap, (at, self._pushed, what))

    def pop_until(self, now: int) -> Iterator[T]:
        """Remove and yield everything that is due."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]

    def first(self) -> int | None:
        """Return the earliest due time."""
        return self._heap[0][0] if self._heap else None


@dataclass(slots=True, eq=False)
class FollowedSource:
    """A source as it was last loaded."""

    id: int
    revision: int
    config: SourceConfig
    memory: AdapterMemory = field(default_factory=dict)
    """State of the adapter."""
    validators: Mapping[str, str] = field(default_factory=dict)
    due_at: int = 0
    """Next due time in microseconds since 1970; 0 is at once."""
    read_at: int | None = None
    is_gone: bool = False
    """Whether the source was changed, paused or removed since it was loaded."""
    url: str = ""
    server: str = ""
    sent: SourceRequest = PLAIN_GET

    def __post_init__(self) -> None:
        self.url, self.sent = self.config.canonical_url, self.config.sent
        self.server = server_of(self.url)

    @property
    def needs_browser(self) -> bool:
        return self.config.render

    @property
    def key(self) -> VisitKey:
        """Return the key that sources of one visit share; rendered sources have visits of their own."""
        config = self.config
        if self.needs_browser:
            return (self.id,)
        return (self.url, self.sent, config.robots, config.allow_private, config.max_size, config.timeout)

    def next_due(self, after: int) -> int:
        return next_due(self.url, self.config.interval, after)


@dataclass(slots=True, eq=False)
class StreamVisit:
    """One request to a server, for all sources that need the same page."""

    key: VisitKey
    url: str
    server: str
    sources: list[FollowedSource] = field(default_factory=list)
    hops: int = 0
    """Number of redirects before this visit."""
    ready: Future[None] | None = None
    """Set for a visit that occupies the server for a request made elsewhere (by the browser); resolved when its turn
    comes.
    """
    sent: SourceRequest = PLAIN_GET
    """Method, headers and body of the request."""
    ended_at: int = 0
    """End of the visit in microseconds since 1970; one value for all sources, so that they stay due together."""
    stored: list[tuple[FollowedSource, int]] = field(default_factory=list)
    """Sources whose outcome is stored, with their next due time."""

    @property
    def config(self) -> SourceConfig:
        """Configuration with the limits that all sources of the visit share."""
        return self.sources[0].config

    @property
    def needs_browser(self) -> bool:
        """Whether the server stays occupied until the browser has rendered the page."""
        return self.sources[0].needs_browser

    @property
    def conditions(self) -> dict[str, str]:
        """Headers of a conditional request; empty unless all sources have the same validators.

        Only for GET: RFC 9110, 13.1, defines preconditions differently for other methods.
        """
        known = self.sources[0].validators
        if self.needs_browser or self.sent.method != RequestMethod.GET or known.get("url") != self.url:
            return {}
        if any(source.validators != known for source in self.sources):
            return {}
        names = (("etag", "If-None-Match"), ("last_modified", "If-Modified-Since"))
        return {header: known[name] for name, header in names if name in known}

    def redirected_to(self, url: str, status: int) -> StreamVisit:
        """Return the visit that a redirect leads to; raise `InvalidResponse` if the request must not go there."""
        sent = self.sent.after_redirect(status, origin_of(url) == origin_of(self.url))
        if sent is None:
            raise InvalidResponse(cross_origin_message(server_of(url)))
        return StreamVisit((*self.key, url), url, server_of(url), self.sources, self.hops + 1, sent=sent)


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
