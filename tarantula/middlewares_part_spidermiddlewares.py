"""Where links pass through spider middlewares of one's own.

A page's links travel with their document, as one batch. For a middleware that expects
requests the batch is unpacked in front of it, and packed again behind it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from tarantula.core.urls import canonical, is_web
from tarantula.engine.component import Component
from tarantula.items import CollectedDocument
from tarantula.links.link import Link, LinkKind

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class _LinkMiddleware(Component):
    """Has work only when a middleware that knows nothing of batches stands between the two."""

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
