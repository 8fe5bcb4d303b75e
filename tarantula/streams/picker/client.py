"""HTTP client of the picker: fetches with robots.txt, pauses, size limits and the egress policy."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace

from tarantula.core.errors import TarantulaError
from tarantula.core.states import UNREACHED_STATES
from tarantula.core.urls import canonical, host_of, is_web, origin_of, redirect_target, server_of
from tarantula.fetch.client import PUBLIC_ONLY, HttpClient
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import DownloadError, Exchange, FetchPostponed, FetchRequest, PrivateAddress
from tarantula.fetch.politeness import Politeness
from tarantula.fetch.robots import MAX_ROBOTS_BYTES, MAX_ROBOTS_REDIRECTS, RobotsCache, RobotsRules, robots_url
from tarantula.streams.sources.request import PLAIN_GET, SourceRequest, cross_origin_message

VISIT_PAUSE_SECONDS = 0.25
"""Seconds between two requests to a server, unless its robots.txt asks for more; short, because a person waits."""
LONGEST_WAIT_SECONDS = 10.0
"""Longest wait for a server's pause; a server with a longer pause cannot be opened in the picker."""
MOST_REMEMBERED_SERVERS = 1000
"""Maximum number of servers whose pauses are remembered."""


@dataclass(frozen=True, slots=True)
class PickerRequest:
    """A URL to fetch, and the limits of the request."""

    url: str
    policy: EgressPolicy = PUBLIC_ONLY
    max_size: int = 5_000_000
    timeout: float = 30.0
    robots: bool = True
    accept: str = "*/*"
    sent: SourceRequest = PLAIN_GET
    redirects: int = MAX_ROBOTS_REDIRECTS
    """Maximum number of redirects to follow."""


@dataclass(slots=True)
class _Server:
    turn: asyncio.Lock
    free_at: float = 0.0


class PickerClient:
    """HTTP client with one request at a time per server, and pauses. Bound to the event loop of its first use."""

    def __init__(self, user_agent: str) -> None:
        self._user_agent = user_agent.encode()
        self._client = HttpClient(max_idle=16)
        self._robots = RobotsCache(MOST_REMEMBERED_SERVERS)
        self._politeness = Politeness(VISIT_PAUSE_SECONDS, MOST_REMEMBERED_SERVERS)
        self._servers: OrderedDict[str, _Server] = OrderedDict()

    async def get(self, request: PickerRequest) -> Exchange:
        """Return the response after redirects; raise `TarantulaError` with the reason if there is none."""
        url = parse_address(request.url)
        try:
            async with asyncio.timeout(request.timeout):
                return await self._follow(url, request)
        except TimeoutError:
            raise TarantulaError(
                "It took longer than {timeout:g} seconds. Try again later.", timeout=request.timeout
            ) from None
        except DownloadError as error:
            raise TarantulaError(str(error)) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _follow(self, url: str, request: PickerRequest) -> Exchange:
        for _ in range(1 + request.redirects):
            if request.robots:
                await self._check_robots(url, request)
            exchange = await self._visit(url, request)
            location = exchange.get(b"location") if 300 <= exchange.status < 400 else None
            if location is None or not request.redirects:
                return exchange
            target = redirect_target(url, location.encode("latin-1"))
            if target is None or not is_web(target):
                raise TarantulaError(
                    "{url} leads to {location!r}, which is not a web address.", url=url, location=location[:200]
                )
            request, url = _redirected(request, exchange.status, url, target), target
        raise TarantulaError(
            "{url} redirects more than {redirects} times.", url=request.url, redirects=request.redirects
        )

    async def _check_robots(self, url: str, request: PickerRequest) -> None:
        rules = self._robots.get(url) or await self._fetch_robots(url, request)
        if not rules.allowed(url):
            raise TarantulaError(str(rules.reason))

    async def _fetch_robots(self, url: str, request: PickerRequest) -> RobotsRules:
        robots = robots_url(url)
        robots_request = PickerRequest(robots, request.policy, MAX_ROBOTS_BYTES * 4, request.timeout, robots=False)
        try:
            exchange = await self._follow(robots, robots_request)
            rules = RobotsRules(exchange.status, exchange.body, robots)
        except FetchPostponed:
            raise
        except DownloadError as error:
            if isinstance(error, PrivateAddress) and error.host == host_of(server_of(url)):
                raise
            rules = RobotsRules(error.state if error.state in UNREACHED_STATES else 404, b"", robots, error.reason)
        except TarantulaError:
            rules = RobotsRules(404, b"", robots)
        rules = self._robots.put(url, rules)
        self._politeness.set_crawl_delay(server_of(url), rules.crawl_delay())
        return rules

    async def _visit(self, url: str, request: PickerRequest) -> Exchange:
        name = server_of(url)
        server = self._servers.setdefault(name, _Server(asyncio.Lock()))
        self._servers.move_to_end(name)
        if len(self._servers) > MOST_REMEMBERED_SERVERS:
            self._servers.popitem(last=False)
        async with server.turn:
            await _wait(name, server.free_at - _now())
            try:
                exchange = await self._client.fetch(self._build_request(url, request))
                self._politeness.answered(name, exchange.status, exchange.get(b"retry-after"))
            except DownloadError as error:
                if error.state in UNREACHED_STATES:
                    self._politeness.failed(name)
                raise
            finally:
                server.free_at = _now() + self._politeness.pause(name)
        return exchange

    def _build_request(self, url: str, request: PickerRequest) -> FetchRequest:
        sent = request.sent
        headers_by_name = {"accept": ("Accept", request.accept), **{one[0].lower(): one for one in sent.headers}}
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers_by_name.values()]
        headers.insert(0, (b"User-Agent", self._user_agent))
        return FetchRequest(
            url,
            headers,
            sent.method,
            sent.body,
            timeout=request.timeout,
            max_size=request.max_size,
            policy=request.policy,
        )


def _redirected(request: PickerRequest, status: int, url: str, target: str) -> PickerRequest:
    sent = request.sent.after_redirect(status, origin_of(url) == origin_of(target))
    if sent is None:
        raise TarantulaError(cross_origin_message(server_of(target)))
    return replace(request, sent=sent)


def parse_address(typed: str) -> str:
    """Return the canonical URL of a typed address; raise `TarantulaError` if it is not a web address."""
    text = typed.strip()
    url = canonical(text if "://" in text else f"http://{text}") if text else None
    if url is None or not is_web(url):
        raise TarantulaError("{typed!r} is not a web address. Write it as https://example.org/page.", typed=typed[:100])
    return url


async def _wait(server: str, seconds: float) -> None:
    if seconds > LONGEST_WAIT_SECONDS:
        raise TarantulaError(
            "The server {server} asks for a pause of {seconds:.0f} more seconds. Try again later.",
            server=server,
            seconds=seconds,
        )
    await asyncio.sleep(max(seconds, 0))


def _now() -> float:
    return asyncio.get_running_loop().time()
