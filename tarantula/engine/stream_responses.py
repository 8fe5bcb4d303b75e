"""Turn the response, or the failure, of a visit into one attempt for each stream source that wanted it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarantula.browser.chromium import check_browser
from tarantula.core.limited_worker import in_parser_thread
from tarantula.fetch.exchange import FetchAbandoned, FetchPostponed, InvalidResponse
from tarantula.streams.reading.visits import (
    MAX_REDIRECTS,
    TOO_MANY_REDIRECTS,
    ReadAttempt,
    StreamVisit,
    attempts_from_exchange,
    failed_attempts,
    may_wait_for_worker,
    redirect_location,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tarantula.engine.source_renderer import SourceRenderer
    from tarantula.fetch.exchange import Exchange
    from tarantula.streams.reading.reader import StreamReader

INLINE_PARSE_BYTES = 64 * 1024
"""Pages up to this size are parsed on the event loop; larger ones in a thread."""


class StreamResponses:
    """Reads the responses that a stream reader gets."""

    def __init__(self, crawler: Crawler, reader: StreamReader) -> None:
        self._crawler = crawler
        self._reader = reader
        self._renderer: SourceRenderer | None = None

    async def parse(self, visit: StreamVisit, exchange: Exchange) -> list[ReadAttempt]:
        """Read a response, or follow its redirect."""
        target = redirect_location(exchange)
        if target is not None:
            if visit.needs_browser:
                self._reader.release(visit)
            if visit.hops >= MAX_REDIRECTS:
                return failed_attempts(visit, InvalidResponse(TOO_MANY_REDIRECTS), self._reader.now())
            try:
                onward = visit.redirected_to(target, exchange.status)
            except InvalidResponse as error:
                return failed_attempts(visit, error, self._reader.now())
            self._reader.follow_redirect(visit, onward)
            return []
        if visit.needs_browser:
            return await self._parse_rendered(visit, exchange)
        if len(exchange.body) > INLINE_PARSE_BYTES or may_wait_for_worker(visit, exchange):
            attempts: list[ReadAttempt] = await in_parser_thread(attempts_from_exchange, visit, exchange)
            return attempts
        return attempts_from_exchange(visit, exchange)

    async def _parse_rendered(self, visit: StreamVisit, exchange: Exchange) -> list[ReadAttempt]:
        """Read a response rendered in the browser; its server stays reserved until then."""
        try:
            if not 200 <= exchange.status < 300:
                return attempts_from_exchange(visit, exchange)
            page = await self._browser().render(visit, exchange)
            attempts: list[ReadAttempt] = await in_parser_thread(attempts_from_exchange, visit, exchange, page)
            return attempts
        except FetchAbandoned:
            return []
        except Exception as error:
            return failed_attempts(visit, error, self._reader.now())
        finally:
            self._reader.release(visit)

    def _browser(self) -> SourceRenderer:
        if self._renderer is None:
            check_browser()
            from tarantula.engine.source_renderer import SourceRenderer

            self._renderer = SourceRenderer(self._crawler)
        return self._renderer

    def failed(self, visit: StreamVisit, error: Exception) -> list[ReadAttempt]:
        """Return the failed attempts of an exchange that failed."""
        if isinstance(error, FetchPostponed):
            self._reader.postpone(visit)
            return []
        return [] if isinstance(error, FetchAbandoned) else failed_attempts(visit, error, self._reader.now())
