"""From what a server sent to what came of each source that wanted it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from http import HTTPStatus

from tarantula.core.states import DocumentState
from tarantula.core.urls import redirect_target
from tarantula.fetch.errors import DownloadError, PrivateAddress, Refused
from tarantula.fetch.exchange import Exchange
from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import Answer, CannotRead, Reading
from tarantula.streams.ingest.outcome import NotMade, Unchanged
from tarantula.streams.reading.visits import Followed, Visit
from tarantula.streams.sources.config_part_state import Status

logger = logging.getLogger(__name__)

MOST_HOPS = 5
"""Redirects that are followed in a row."""
LONGEST_VALIDATOR = 1000
"""Characters; a longer ETag is none."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TOO_MANY_HOPS = f"It was redirected more than {MOST_HOPS} times."


@dataclass(slots=True)
class Attempt:
    """What came of one source that was visited: the item of the `streams` spider."""

    visit: Visit
    source: Followed
    outcome: Reading | NotMade | Unchanged
    at: int
    """When it was asked for, in microseconds since 1970."""
    validators: Mapping[str, str] | None = None


def redirected(exchange: Exchange) -> str | None:
    """Return where an answer leads, if it leads somewhere else."""
    location = exchange.get(b"location") if exchange.status in REDIRECTS else None
    return redirect_target(exchange.url, location.encode("latin-1")) if location else None


def attempts(visit: Visit, exchange: Exchange, page: bytes | None = None) -> list[Attempt]:
    """Read what came, for every source that wanted it; *page* is what a browser made of it."""
    at = int(exchange.started_at.timestamp() * 1_000_000)
    if exchange.status == HTTPStatus.NOT_MODIFIED:
        return [Attempt(visit, source, Unchanged(), at) for source in visit.sources]
    if not 200 <= exchange.status < 300:
        failed = NotMade(Status.UNREACHED, _said(exchange.status))
        return [Attempt(visit, source, failed, at, {}) for source in visit.sources]
    validators = _validators(visit, exchange)
    answer = Answer(
        exchange.url,
        exchange.body if page is None else page,
        (exchange.get(b"content-type") or "") if page is None else "text/html; charset=utf-8",
        exchange.started_at,
    )
    return [
        Attempt(visit, source, Unchanged(), at, validators)
        if page is None and source.validators.get("digest") == validators["digest"]
        else Attempt(visit, source, read(source, answer), at, validators if page is None else {})
        for source in visit.sources
    ]


def failed_attempts(visit: Visit, error: Exception, at: int) -> list[Attempt]:
    """Say of every source why nothing came."""
    made = _not_made(error)
    return [Attempt(visit, source, made.without_secrets(source.config.variables), at, {}) for source in visit.sources]


def read(source: Followed, answer: Answer) -> Reading | NotMade:
    """Let a source's adapter read; what goes wrong there is said of this source, and harms no other."""
    try:
        return adapter_named(source.config.adapter).read(answer, source.config, source.memory)
    except CannotRead as error:
        return NotMade(Status.UNREACHED, str(error)).without_secrets(source.config.variables)
    except Exception as error:
        logger.exception("The %s adapter failed on %s.", source.config.adapter, source.config.name)
        return NotMade(Status.UNREACHED, f"It could not be read ({type(error).__name__}): the log has more.")


def _not_made(error: Exception) -> NotMade:
    if isinstance(error, Refused) and error.state == DocumentState.EXCLUDED_BY_ROBOTS:
        return NotMade(Status.REFUSED, error.reason)
    if isinstance(error, PrivateAddress):
        return NotMade(Status.REFUSED, error.reason)
    if isinstance(error, DownloadError):
        return NotMade(Status.UNREACHED, error.reason)
    return NotMade(Status.UNREACHED, f"It could not be had: {error}.")


def _said(status: int) -> str:
    try:
        words = f" ({HTTPStatus(status).phrase})"
    except ValueError:
        words = ""
    return f"Its server answered with {status}{words}."


def _validators(visit: Visit, exchange: Exchange) -> dict[str, str]:
    known = {"digest": blake2b(exchange.body, digest_size=16).hexdigest()}
    for name, header in (("etag", b"etag"), ("last_modified", b"last-modified")):
        value = exchange.get(header)
        if value and len(value) <= LONGEST_VALIDATOR:
            known[name] = value
    return {"url": visit.url, **known}
