"""Limits of requests: threads by kind of work, seconds, requests per second and at a time, for each account and
address. What exceeds it gets 429 or 503 with a sentence, and the others still get their answers.
"""

from __future__ import annotations

import functools
import inspect
import logging
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, NamedTuple, ParamSpec, TypeVar

from anyio import CapacityLimiter, fail_after, to_thread
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tarantula.accounts.roles import Person
from tarantula.core.config import Config
from tarantula.core.connection_limits import client_network
from tarantula.core.deadlines import TimeBudgetError, current_budget, time_budget
from tarantula.core.errors import DatabaseUnavailableError, TarantulaError
from tarantula.web.i18n import LANGUAGE_COOKIE, _, language, negotiate_language, set_language
from tarantula.web.middleware import templates_with_nonces

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
logger = logging.getLogger(__name__)

WAIT_SECONDS = 10.0
"""How long a request waits for a thread."""
MAX_WAITING = 100
"""Maximum number of requests that wait for a thread of one pool."""
RETRY_SECONDS = 5
"""`Retry-After` of a response that says that something is busy or away."""


class BusyError(TarantulaError):
    """All threads of a pool are in use."""

    def __init__(self) -> None:
        super().__init__("The server is busy. Try again in a few seconds.")


class TooManyRequestsError(TarantulaError):
    """An account or an address has made too many requests, or has too many running."""

    def __init__(self, template: str, seconds: int, number: int = 0) -> None:
        super().__init__(template, seconds=seconds, number=number)
        self.seconds = seconds


class WorkPool:
    """Threads of one kind of work, which other kinds cannot use up."""

    def __init__(
        self, threads: int, *, is_expensive: bool = False, is_slow: bool = False, per_account: int | None = None
    ) -> None:
        self.is_slow = is_slow
        """Whether this work may take minutes."""
        self.is_expensive = is_expensive
        """Whether an account and an address may only have a few of these requests at a time."""
        self._per_account = per_account
        """Threads that one account may use; further work of it waits."""
        self._limiter = CapacityLimiter(threads)
        self._of_accounts: dict[str, CapacityLimiter] = {}

    async def run(self, call: Callable[[], Result]) -> Result:
        """Call a function in a thread, within the time budget; raise `BusyError` if no thread gets free."""
        request, ticket = _request.get(), object()
        limiters = [self._limiter]
        if self._per_account is not None:
            limiters.insert(0, self._of_accounts.setdefault(request.who, CapacityLimiter(self._per_account)))
        held = list[CapacityLimiter]()
        try:
            await _acquire(limiters, ticket, held)
            seconds = math.inf if self.is_slow else request.seconds
            return await to_thread.run_sync(_within_budget, seconds, call, limiter=_UNLIMITED)
        finally:
            for limiter in held:
                limiter.release_on_behalf_of(ticket)
            own = self._of_accounts.get(request.who)
            if own is not None and not own.borrowed_tokens and not own.statistics().tasks_waiting:
                del self._of_accounts[request.who]


async def _acquire(limiters: list[CapacityLimiter], ticket: object, held: list[CapacityLimiter]) -> None:
    try:
        with fail_after(WAIT_SECONDS):
            for limiter in limiters:
                if limiter.statistics().tasks_waiting >= MAX_WAITING:
                    raise BusyError
                await limiter.acquire_on_behalf_of(ticket)
                held.append(limiter)
    except TimeoutError:
        raise BusyError from None


def _within_budget(seconds: float, call: Callable[[], Result]) -> Result:
    budget = current_budget()
    # The reads of a page before it is sent have less time than a request.
    if seconds == math.inf or (budget is not None and budget.left < seconds):
        return call()
    with time_budget(seconds):
        return call()


_UNLIMITED = CapacityLimiter(math.inf)
"""The pools count their threads themselves."""

HEALTH = WorkPool(2)
LOGIN = WorkPool(4)
"""Logins, which compute password hashes."""
SESSIONS = WorkPool(4)
"""Short queries that tell who makes a request."""
ORDINARY = WorkPool(6)
SEARCH = WorkPool(4, is_expensive=True)
HEAVY = WorkPool(3, is_expensive=True)
"""Requests that read much: differences, reports, dry runs of alerts, long lists."""
SLOW = WorkPool(2, is_expensive=True, is_slow=True)
"""Requests that read files or tables to their end, for administrators."""
DOWNLOADS = WorkPool(3, is_expensive=True)
REPLAY = WorkPool(4)
PAGES = WorkPool(6, per_account=3)
"""Calls of open pages."""
WATCHING = WorkPool(1)
"""Polls for all open pages together."""

_ITEM = r"/api/items/[^/]+"
_STREAM = r"/api/streams/[^/]+"
WORK = (
    (r"/health", HEALTH),
    (r"/login(/.*)?|/begin|/language/.*|/account/factors(/.*)?", LOGIN),
    (r"/search|/search/complete|/api/search(/.*)?", SEARCH),
    (rf"{_STREAM}/export\.[^/]+|{_ITEM}/exports/.+|.*\.csv", DOWNLOADS),
    (rf"/api/checks/alert/past|/api/alerts/[^/]+/past|/api/views/[^/]+/data|{_STREAM}/(points|events)", HEAVY),
    (rf"{_ITEM}/(differences|documents(/.*)?|report|attention|servers|log)", HEAVY),
    (r"/api/publications/[^/]+/reports|/api/audit|/api/checks/scope|/metrics", HEAVY),
    (rf"{_ITEM}/removal|/api/audit/verification", SLOW),
)
"""Pools by path; the first match counts, all others are `ORDINARY`."""
STATIC_PATHS = ("/static/", "/_nicegui/", "/favicon.ico", "/tell.js", "/pick.js")
"""Files, which need no thread of a pool and are not counted."""


def pool_of(path: str) -> WorkPool:
    """Return the pool of a path of the management app."""
    return next((pool for pattern, pool in _PATTERNS if pattern.fullmatch(path)), ORDINARY)


_PATTERNS = [(re.compile(pattern, re.DOTALL), pool) for pattern, pool in WORK]


class RunningRequest(NamedTuple):
    """Threads and seconds that the work for a request may use."""

    pool: WorkPool = ORDINARY
    seconds: float = 30.0
    """Time budget of each step: a response, or a part of a streamed one."""
    who: str = ""
    """Account or address."""


_UNKNOWN = RunningRequest()
_request: ContextVar[RunningRequest] = ContextVar("request", default=_UNKNOWN)


async def run_in_pool(
    pool: WorkPool, call: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Call a blocking function in a thread of a pool."""
    return await pool.run(functools.partial(call, *args, **kwargs))


def in_request_pool(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that calls a blocking endpoint in a thread of the pool of its path."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    async def call(*args: Any, **kwargs: Any) -> Any:
        return await _request.get().pool.run(functools.partial(endpoint, *args, **kwargs))

    # FastAPI would look through `__wrapped__`, and call it in a thread of its own.
    call.__name__, call.__qualname__ = endpoint.__name__, endpoint.__qualname__
    call.__doc__, call.__module__ = endpoint.__doc__, endpoint.__module__
    wrapper: Any = call
    wrapper.__signature__ = inspect.signature(endpoint, eval_str=True)
    return call


class PooledRoute(APIRoute):
    """A route whose blocking endpoint runs in the pool of its path, not in the default threads of the event loop."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, in_request_pool(endpoint), **options)


class BrokenStreamError(Exception):
    """A streamed response cannot be continued; its client sees that it is not whole."""


async def iterate_in_pool(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks of an iterator, each of which is made in a thread of the pool of the request's path."""
    pool = _request.get().pool
    try:
        while (chunk := await run_in_pool(pool, next, chunks, None)) is not None:
            yield chunk
    except TarantulaError as error:
        logger.warning("A download broke off: %s", error)
        raise BrokenStreamError from error


class RequestLimits:
    """Requests of each account and address: so many per second, and so many expensive ones at a time."""

    BURST_SECONDS = 10
    """Seconds of the permitted rate that may be used at once."""
    ADDRESS_FACTOR = 4
    """Limits of an address, which many people may share, in terms of those of an account."""
    MAX_BUCKETS = 10_000
    EVENT_SECONDS = 2
    """`Retry-After` of a request that waits for others of the same account to end."""

    def __init__(self, installation: Config, clock: Callable[[], float] = monotonic) -> None:
        self.rate = installation.request_rate
        self.at_a_time = installation.expensive_requests
        self.seconds = installation.request_seconds
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """Requests that are left, and when they were counted."""
        self._running = Counter[str]()

    def count(self, who: str, factor: int = 1) -> None:
        """Count a request of an account or address; raise `TooManyRequestsError` if there are too many."""
        rate = self.rate * factor
        now, most = self._clock(), rate * self.BURST_SECONDS
        left, counted_at = self._buckets.get(who, (most, now))
        left = min(most, left + (now - counted_at) * rate)
        if left < 1:
            seconds = math.ceil((1 - left) / rate)
            raise TooManyRequestsError("Too many requests. Try again in {seconds} seconds.", seconds)
        if len(self._buckets) >= self.MAX_BUCKETS:
            self._forget(now)
        self._buckets[who] = (left - 1, now)

    @contextmanager
    def running(self, who: str, factor: int = 1) -> Iterator[None]:
        """Count an expensive request while it runs; raise `TooManyRequestsError` if there are too many at a time."""
        most = self.at_a_time * factor
        if self._running[who] >= most:
            raise TooManyRequestsError(
                "{number} requests of this kind are running. Wait until one has ended.",
                self.EVENT_SECONDS,
                number=most,
            )
        self._running[who] += 1
        try:
            yield
        finally:
            self._running[who] -= 1
            if not self._running[who]:
                del self._running[who]

    def _forget(self, now: float) -> None:
        """Forget those that have made no request for long enough to have all of theirs left; at least one half."""
        by_age = sorted(self._buckets.items(), key=lambda one: one[1][1])
        recent = [one for one in by_age if one[1][1] > now - self.BURST_SECONDS]
        self._buckets = dict(recent[-self.MAX_BUCKETS // 2 :])


class AddressLimitMiddleware:
    """Refuses requests of an address that makes too many, before anything is done for them."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket") or scope["path"].startswith(STATIC_PATHS):
            await self._app(scope, receive, send)
            return
        token = _request.set(RunningRequest(seconds=self._limits.seconds, who=address_of(scope)))
        try:
            if pool_of(scope["path"]) is not HEALTH:
                self._limits.count(address_of(scope), RequestLimits.ADDRESS_FACTOR)
                if scope.get("state", {}).get("is_crowded") and pool_of(scope["path"]) is not LOGIN:
                    raise BusyError
        except TarantulaError as error:
            await refuse(error, scope, receive, send)
        else:
            await self._app(scope, receive, send)
        finally:
            _request.reset(token)


class RequestLimitMiddleware:
    """Gives each request its pool and its time, and limits those of an account.

    It stands where the account is known. *pool* is that of all paths of an app, if they have the same.
    """

    def __init__(self, app: ASGIApp, limits: RequestLimits, pool: WorkPool | None = None) -> None:
        self._app = app
        self._limits = limits
        self._pool = pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket") or scope["path"].startswith(STATIC_PATHS):
            await self._app(scope, receive, send)
            return
        person: Person | None = scope.get("state", {}).get("person")
        address = address_of(scope)
        who = f"account {person.name}" if person is not None else address
        pool = self._pool or pool_of(scope["path"])
        # What changes something may take long, and is not ended in the middle.
        is_limited = pool.is_expensive or scope.get("method", "GET") in ("GET", "HEAD")
        token = _request.set(RunningRequest(pool, self._limits.seconds if is_limited else math.inf, who))
        try:
            if person is not None:
                self._limits.count(who)
            if pool.is_expensive and scope["type"] == "http":
                with self._limits.running(who), self._limits.running(f"all of {address}", RequestLimits.ADDRESS_FACTOR):
                    await self._answer(scope, receive, send)
            else:
                await self._answer(scope, receive, send)
        except TooManyRequestsError as error:
            await refuse(error, scope, receive, send)
        finally:
            _request.reset(token)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except BrokenStreamError:
            # The server closes the connection of a response that has no end.
            logger.debug("A response has ended before its end.")


def address_of(scope: Scope) -> str:
    """Return what identifies the client of a request, by the rules for proxies of the server."""
    client = scope.get("client")
    return f"address {client_network(client[0]) if client else ''}"


templates = templates_with_nonces()
DATA_PATHS = ("/api/", "/metrics", "/health")
"""Paths of programs, which get errors as JSON; the others are pages."""


def error_status(error: TarantulaError, other: int) -> int:
    """Return the status of an error that does not depend on the request, or *other*."""
    if isinstance(error, TooManyRequestsError):
        return 429
    return 503 if isinstance(error, BusyError | TimeBudgetError | DatabaseUnavailableError) else other


def retry_headers(error: TarantulaError) -> dict[str, str]:
    """Return the header that says when to try again, for errors that pass."""
    seconds = error.seconds if isinstance(error, TooManyRequestsError) else RETRY_SECONDS
    return {"Retry-After": str(seconds)} if error_status(error, 0) else {}


def error_response(scope: Scope, sentence: str, status: int, headers: dict[str, str]) -> Response:
    """Return an error as JSON for programs, and as a page without scripts for people."""
    if scope["path"].startswith(DATA_PATHS):
        return JSONResponse({"detail": sentence}, status, headers)
    asked = HTTPConnection(scope)
    set_language(negotiate_language(asked.cookies.get(LANGUAGE_COOKIE), asked.headers.get("accept-language", "")))
    page = templates.get_template("unavailable.html").render(
        request=asked, language=language(), title=_("Not available"), complaint=_(sentence)
    )
    headers = {**headers, "Content-Type": "text/html; charset=utf-8"}
    return Response(page, status, headers)


async def refuse(error: TarantulaError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with an error, unless a response has begun."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1013, "reason": str(error)})
        return
    response = error_response(scope, str(error), error_status(error, 400), retry_headers(error))
    await response(scope, receive, send)
