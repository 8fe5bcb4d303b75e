"""Downloader middlewares (scope, robots.txt, politeness) and spider middlewares (batches of links).

The links of a page are passed on with its document, as one batch. For a spider middleware that expects requests, the
batch is unpacked before it, and packed again after it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from tarantula.core.reasons import Reason
from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.core.urls import canonical, host_of, is_web, redirect_target, server_of
from tarantula.engine.blame import error_text
from tarantula.engine.component import Component
from tarantula.fetch.exchange import DownloadError, FetchAbandoned, FetchPostponed, PrivateAddress, RefusedByRule
from tarantula.fetch.politeness import BACKED_OFF_STATUSES
from tarantula.fetch.robots import MAX_ROBOTS_REDIRECTS, RobotsCache, RobotsRules, robots_url
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.scope.rule import Candidate
from tarantula.signals import collection_over

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tarantula.crawl.collection import Collection
    from tarantula.engine.downloader import FrontierDownloader
    from tarantula.fetch.egress import EgressPolicy


ROBOTS_MAX_BYTES = 5_000_000
"""A longer robots.txt is ignored. RFC 9309 2.5: at least the first 500 KiB must be parsed."""


class ScopeMiddleware(Component):
    """Checks scope again before a request is sent, and when its response headers have arrived."""

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
    """Obeys robots.txt; fetches it before the first document of a server, and again after a day.

    While a failing robots.txt is tried again, the documents of its server wait in the frontier.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.collection.config.robots:
            raise NotConfigured
        self._cache = RobotsCache()
        self._fetches: dict[tuple[str, EgressPolicy | None], asyncio.Task[RobotsRules]] = {}
        crawler.signals.connect(self._cancel_fetches, collection_over)

    async def process_request(self, request: Request) -> None:
        if request.meta.get("is_robots") or request.meta.get("ignores_robots"):
            return
        rules = self._cache.get(request.url) or await self._fetch_once(request)
        if rules.allowed(request.url):
            return
        if rules.state == DocumentState.EXCLUDED_BY_ROBOTS:
            self.count("robots/excluded_count")
        raise RefusedByRule(rules.state, rules.reason, "Robots")

    async def _fetch_once(self, request: Request) -> RobotsRules:
        policy: EgressPolicy | None = request.meta.get("egress")
        key = robots_url(request.url), policy
        if key not in self._fetches:
            self._fetches[key] = asyncio.create_task(self._fetch_rules(key[0], server_of(request.url), policy))
            self._fetches[key].add_done_callback(lambda _: self._fetches.pop(key, None))
        fetch = self._fetches[key]
        try:
            with cast("FrontierDownloader", self.engine.downloader).without_slot():
                return await asyncio.shield(fetch)
        except asyncio.CancelledError:
            if fetch.cancelled():
                raise FetchAbandoned("The collection is over.") from None
            raise

    def _cancel_fetches(self) -> None:
        for fetch in self._fetches.values():
            fetch.cancel()

    async def _fetch_rules(self, url: str, server: str, policy: EgressPolicy | None) -> RobotsRules:
        politeness = self.collection.politeness
        try:
            rules = await self._fetch(url, server, policy)
        except (FetchAbandoned, FetchPostponed):
            raise
        except DownloadError as error:
            if isinstance(error, PrivateAddress) and error.host == host_of(server):
                # The document is refused for the same reason; another source may be allowed to visit the server.
                raise
            if error.state in UNREACHED_STATES:
                politeness.failed(server)
            # RFC 9309 2.3.1: an unreachable robots.txt disallows everything, an invalid one nothing.
            rules = RobotsRules(error.state if error.state in UNREACHED_STATES else 404, b"", url, error.reason)
        rules = self._cache.put(url, rules)
        politeness.set_crawl_delay(server, rules.crawl_delay())
        # The request for robots.txt counts as a visit.
        pause = politeness.pause(server)
        is_to_retry = self._cache.get(url) is None
        if rules.unreachable or is_to_retry:
            self.collection.frontier.postpone(server, asyncio.get_running_loop().time() + pause)
        else:
            await asyncio.sleep(pause)
        if is_to_retry:
            self.count("robots/retry_count")
            raise FetchPostponed(rules.failure)
        return rules

    async def _fetch(self, url: str, server: str, policy: EgressPolicy | None) -> RobotsRules:
        target = url
        for _ in range(1 + MAX_ROBOTS_REDIRECTS):
            response = await self._download(target, server, policy)
            location = response.headers.get(b"Location")
            if not (300 <= response.status < 400 and location):
                self.collection.politeness.answered(server, response.status, _retry_after(response))
                if response.status >= 500 and response.status not in BACKED_OFF_STATUSES:
                    # A document with such a status is final; robots.txt is tried again, with growing pauses.
                    self.collection.politeness.failed(server)
                return RobotsRules(response.status, response.body, url)
            target = redirect_target(target, location) or url
        # RFC 9309 2.3.1.2: after five consecutive redirects robots.txt may be treated as unavailable.
        return RobotsRules(404, b"", url)

    async def _download(self, url: str, server: str, policy: EgressPolicy | None) -> Response:
        self.count("robots/request_count")
        request = self.spider.side_request(url, server)
        request.meta.update(is_robots=True, download_maxsize=ROBOTS_MAX_BYTES, egress=policy)
        return await self.engine.download_async(request)


class PolitenessMiddleware(Component):
    """Records in the frontier when a visit has ended and when the next one is allowed."""

    def process_request(self, request: Request) -> None:
        # Last middleware before the network: a request that gets here is a visit.
        request.meta["asked"] = True

    def process_response(self, request: Request, response: Response) -> Response:
        entry: FrontierEntry | None = request.meta.get("entry")
        if entry is not None:
            self.collection.politeness.answered(entry.server, response.status, _retry_after(response))
            if not self.collection.holds(entry):
                # Otherwise the server stays reserved until the browser has rendered the page.
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
    """Needed only with a spider middleware that does not set `knows_batches`."""

    collection: Collection

    knows_batches = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not foreign_middlewares(crawler):
            raise NotConfigured


class LinkUnpackMiddleware(_LinkMiddleware):
    """Turns the links of a document into requests, for middlewares that expect these."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, CollectedDocument):
                links, output.links = output.links, []
                _request_of(response).meta["document"] = output
                for link in links:
                    yield Request(link.url, meta={"link_kind": link.kind, "verbatim_url": True})
            yield output


class LinkPackMiddleware(_LinkMiddleware):
    """Turns requests back into links of their document."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        links: dict[str, Link] = {}
        async for output in result:
            if isinstance(output, Request):
                if (link := _link_of(output)) is not None:
                    links.setdefault(link.url, link)
            elif not isinstance(output, CollectedDocument):
                yield output
        # A middleware may drop links, but not the document: the response is always stored.
        document: CollectedDocument | None = _request_of(response).meta.pop("document", None)
        if document is not None:
            document.links = list(links.values())
            yield document

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        document: CollectedDocument | None = _request_of(response).meta.pop("document", None)
        if document is None:
            return None
        error = error_text(exception, self.crawler.settings)
        logger.error("A spider middleware failed on %s: %s", response.url, error)
        document.why = document.why.with_note(Reason.of("links_lost", error=error))
        return [document]


def foreign_middlewares(crawler: Crawler) -> list[str]:
    """Return the names of the spider middlewares that expect requests instead of batches of links."""
    components = crawler.settings.get_component_priority_dict_with_base("SPIDER_MIDDLEWARES")
    classes = [load_object(path) for path, order in components.items() if order is not None]
    return [cls.__qualname__ for cls in classes if not getattr(cls, "knows_batches", False)]


def _link_of(request: Request) -> Link | None:
    url = canonical(request.url)
    if url is None or not is_web(url) or request.method != "GET":
        logger.warning("Only GET requests to the web become documents: %s was dropped.", request)
        return None
    return Link(url, request.meta.get("link_kind", LinkKind.NAVIGATION))


def _request_of(response: Response) -> Request:
    assert response.request is not None
    return response.request
