"""Downloader middlewares (scope, robots.txt, politeness) and spider middlewares (batches of links).

A page's links travel with their document, as one batch. For a spider middleware of a publication, which expects
requests,
the batch is unpacked in front of it, and packed again behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.core.urls import canonical, is_web, redirect_target, server_of
from tarantula.engine.component import Component
from tarantula.fetch.errors import DownloadError, FetchAbandoned, RefusedByRule
from tarantula.fetch.robots import MAX_ROBOTS_REDIRECTS, RobotsCache, RobotsRules, robots_url
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.scope.rule import Candidate
from tarantula.signals import collection_over

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tarantula.crawl.collection import Collection


ROBOTS_MAX_BYTES = 5_000_000
"""A longer robots.txt is none; RFC 9309 2.5 wants the first 500 KiB read."""
PRIVATE_META_KEYS = ("allow_private",)
"""What a request says of private addresses; its server's robots.txt may be where it is."""


class ScopeMiddleware(Component):
    """Asks scope once more before a request leaves, and again when its headers have come."""

    collection: Collection

    def process_request(self, request: Request) -> None:
        entry: FrontierEntry | None = request.meta.get("entry")
        if entry is None:
            return
        verdict = self.collection.scope.judge(
            Candidate(entry.url, entry.server, entry.depth, entry.kind, entry.redirects)
        )
        if not verdict.accepted:
            self.count(f"scope/rejected_count/{verdict.rule}")
            raise RefusedByRule(verdict.state or DocumentState.OVER_LIMIT, verdict.reason, verdict.rule)
        request.meta["on_head"] = self.collection.check_head

    def process_exception(self, request: Request, exception: Exception) -> None:
        if isinstance(exception, RefusedByRule) and "asked" in request.meta:
            self.count(f"scope/rejected_count/{exception.rule}")


class RobotsMiddleware(Component):
    """Asks a server's robots.txt first: once a day, and before the first document."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.collection.config.robots:
            raise NotConfigured
        self._cache = RobotsCache()
        self._asking: dict[str, asyncio.Task[RobotsRules]] = {}
        crawler.signals.connect(self._give_up, collection_over)

    async def process_request(self, request: Request) -> None:
        if request.meta.get("is_robots") or request.meta.get("ignores_robots"):
            return
        rules = self._cache.get(request.url) or await self._ask_once(request)
        if rules.allowed(request.url):
            return
        if rules.state == DocumentState.EXCLUDED_BY_ROBOTS:
            self.count("robots/excluded_count")
        raise RefusedByRule(rules.state, rules.reason, "Robots")

    async def _ask_once(self, request: Request) -> RobotsRules:
        robots = robots_url(request.url)
        if robots not in self._asking:
            private = {key: request.meta[key] for key in PRIVATE_META_KEYS if key in request.meta}
            self._asking[robots] = asyncio.create_task(self._ask(robots, server_of(request.url), private))
            self._asking[robots].add_done_callback(lambda _: self._asking.pop(robots, None))
        asking = self._asking[robots]
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            if asking.cancelled():
                raise FetchAbandoned("The collection is over.") from None
            raise

    def _give_up(self) -> None:
        for asking in self._asking.values():
            asking.cancel()

    async def _ask(self, url: str, server: str, private: dict[str, bool]) -> RobotsRules:
        politeness = self.collection.politeness
        try:
            rules = await self._fetch(url, server, private)
        except FetchAbandoned:
            raise
        except DownloadError as error:
            if error.state in UNREACHED_STATES:
                politeness.failed(server)
            # What cannot be parsed excludes nothing; what cannot be reached, everything.
            rules = RobotsRules(error.state if error.state in UNREACHED_STATES else 404, b"", url, error.reason)
        rules = self._cache.put(url, rules)
        politeness.set_crawl_delay(server, rules.crawl_delay())
        # That was a visit, too.
        pause = politeness.pause(server)
        if rules.unreachable:
            self.collection.frontier.postpone(server, asyncio.get_running_loop().time() + pause)
        else:
            await asyncio.sleep(pause)
        return rules

    async def _fetch(self, url: str, server: str, private: dict[str, bool]) -> RobotsRules:
        target = url
        for _ in range(1 + MAX_ROBOTS_REDIRECTS):
            response = await self._download(target, server, private if server_of(target) == server else {})
            location = response.headers.get(b"Location")
            if not (300 <= response.status < 400 and location):
                self.collection.politeness.answered(server, response.status, _retry_after(response))
                return RobotsRules(response.status, response.body, url)
            target = redirect_target(target, location) or url
        # RFC 9309 2.3.1.2: after five redirects in a row it may be taken for unavailable.
        return RobotsRules(404, b"", url)

    async def _download(self, url: str, server: str, private: dict[str, bool]) -> Response:
        self.count("robots/request_count")
        request = self.spider.side_request(url, server)
        request.meta.update(is_robots=True, download_maxsize=ROBOTS_MAX_BYTES, **private)
        return await self.engine.download_async(request)


class PolitenessMiddleware(Component):
    """Tells the frontier that a visit is over, and when the next may be."""

    def process_request(self, request: Request) -> None:
        # Nearest to the network: what comes this far is a visit.
        request.meta["asked"] = True

    def process_response(self, request: Request, response: Response) -> Response:
        entry: FrontierEntry | None = request.meta.get("entry")
        if entry is not None:
            self.collection.politeness.answered(entry.server, response.status, _retry_after(response))
            if not self.collection.holds(entry):
                # Otherwise the server is kept until the browser is done with the page.
                self.collection.release(entry)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        entry: FrontierEntry | None = request.meta.get("entry")
        if entry is None:
            return
        if "asked" not in request.meta:
            self.collection.frontier.release(entry, not_before=0.0)
            return
        if isinstance(exception, FetchAbandoned):
            return
        if isinstance(exception, DownloadError) and exception.state in UNREACHED_STATES:
            self.collection.politeness.failed(entry.server)
        self.collection.release(entry)


def _retry_after(response: Response) -> str | None:
    header = response.headers.get(b"Retry-After")
    return header.decode("latin-1") if header else None


logger = logging.getLogger(__name__)


class _LinkMiddleware(Component):
    """Has work only when a middleware that knows nothing of batches stands between the two."""

    collection: Collection

    knows_batches = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not foreign_middlewares(crawler):
            raise NotConfigured


class LinkUnpackMiddleware(_LinkMiddleware):
    """Makes requests of a document's links, for middlewares written as Scrapy's documentation teaches."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, CollectedDocument):
                links, output.links = output.links, []
                _request_of(response).meta["document"] = output
                for link in links:
                    yield Request(link.url, meta={"link_kind": link.kind, "verbatim_url": True})
            yield output


class LinkPackMiddleware(_LinkMiddleware):
    """Makes links of the requests that came through, and gives them back to their document."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        links: dict[str, Link] = {}
        async for output in result:
            if isinstance(output, Request):
                if (link := _link_of(output)) is not None:
                    links.setdefault(link.url, link)
            elif not isinstance(output, CollectedDocument):
                yield output
        # A middleware may drop links, not the document: what the server sent is kept.
        document: CollectedDocument | None = _request_of(response).meta.pop("document", None)
        if document is not None:
            document.links = list(links.values())
            yield document

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        document: CollectedDocument | None = _request_of(response).meta.pop("document", None)
        if document is None:
            return None
        logger.error("A spider middleware failed on %s: %r", response.url, exception)
        document.reason += f" Its links were lost to an error in a spider middleware: {exception!r}."
        return [document]


def foreign_middlewares(crawler: Crawler) -> list[str]:
    """Return the spider middlewares of this crawl that expect requests, not batches of links."""
    components = crawler.settings.get_component_priority_dict_with_base("SPIDER_MIDDLEWARES")
    classes = [load_object(path) for path, order in components.items() if order is not None]
    return [cls.__qualname__ for cls in classes if not getattr(cls, "knows_batches", False)]


def _link_of(request: Request) -> Link | None:
    url = canonical(request.url)
    if url is None or not is_web(url) or request.method != "GET":
        logger.warning("Only GET requests to the web become documents: %s was left out.", request)
        return None
    return Link(url, request.meta.get("link_kind", LinkKind.NAVIGATION))


def _request_of(response: Response) -> Request:
    assert response.request is not None
    return response.request
