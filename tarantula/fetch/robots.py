"""Rules of robots.txt (RFC 9309) and their cache. The file itself is fetched elsewhere."""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from protego import Protego

from tarantula.core.reasons import Reason
from tarantula.core.states import UNREACHED_STATES, DocumentState
from tarantula.core.urls import server_of
from tarantula.fetch.media_types import sniff_type

logger = logging.getLogger(__name__)

PRODUCT_TOKEN = "Tarantula"
"""Name of this crawler in robots.txt: the product in the User-Agent header."""
MAX_ROBOTS_REDIRECTS = 5
"""RFC 9309 2.3.1.2: redirects to follow before the file counts as missing."""
MAX_ROBOTS_BYTES = 500 * 1024
"""RFC 9309 2.5: bytes of the file that are parsed."""
MAX_CRAWL_DELAY_SECONDS = 300.0
"""A longer Crawl-delay is cut to this."""
FRESH_SECONDS = 24 * 3600.0
"""RFC 9309 2.4: how long a robots.txt is cached."""
FRESH_FAILURE_SECONDS = 300.0
"""How long until a robots.txt that failed at every try is fetched again."""
MAX_ROBOTS_TRIES = 5
"""Tries of a failing robots.txt before the documents of its server are given up."""
MAX_ROBOTS_RETRY_SECONDS = 120.0
"""Time after the first failure at which no further try is planned."""
TOO_MANY_REQUESTS = 429

# RFC 9309 2.2.1: a group has a product token only, but many files have a version after it.
_VERSION = re.compile(r"^([ \t]*user-?agent[ \t]*:[ \t]*[a-z_-]+)/.*$", re.IGNORECASE | re.MULTILINE)


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt for a canonical URL; it is also the key in `RobotsCache`."""
    return f"{url.partition(':')[0]}://{server_of(url)}/robots.txt"


class RobotsRules:
    """Rules of one robots.txt.

    If there was no response, *status* is the document state of the failure, and *failure* its reason.
    """

    def __init__(self, status: int, body: bytes, url: str, failure: Reason | None = None) -> None:
        self.url = url
        self._failure = failure
        # RFC 9309 2.3.1.3 and 2.3.1.4: unavailable allows everything, unreachable nothing.
        self.unreachable = status >= 500 or status in UNREACHED_STATES
        self.failed = self.unreachable or status == TOO_MANY_REQUESTS
        """Whether another try may have a better result."""
        self._status = status
        self._rules = Protego.parse(_text(body) if 200 <= status < 300 else "")

    @property
    def state(self) -> DocumentState:
        """State of refused documents: that of robots.txt if it was not reached, else excluded by robots.txt."""
        return DocumentState(self._status) if self._status in UNREACHED_STATES else DocumentState.EXCLUDED_BY_ROBOTS

    @property
    def reason(self) -> Reason:
        """Reason of refused documents."""
        if self._status in UNREACHED_STATES:
            return self.failure
        if self.unreachable:
            return Reason.of("robots_error", robots=self.url, status=self._status)
        return Reason.of("robots_excluded", robots=self.url)

    @property
    def failure(self) -> Reason:
        """Reason for which the file failed, if it did."""
        if self._status in UNREACHED_STATES:
            return Reason.of("robots_unreached", robots=self.url, reason=self._failure)
        return Reason.of("robots_failed", robots=self.url, status=self._status)

    def allowed(self, url: str, user_agent: str = PRODUCT_TOKEN) -> bool:
        """Whether a crawler may request a canonical URL."""
        return not self.unreachable and self._rules.can_fetch(url, user_agent)

    def crawl_delay(self, user_agent: str = PRODUCT_TOKEN) -> float | None:
        """Return the Crawl-delay in seconds, up to `MAX_CRAWL_DELAY_SECONDS`, or ``None``."""
        asked = self._rules.crawl_delay(user_agent)
        if asked is None or asked <= MAX_CRAWL_DELAY_SECONDS:
            return asked
        logger.warning("The Crawl-delay of %s is %g s; %g s is used.", self.url, asked, MAX_CRAWL_DELAY_SECONDS)
        return MAX_CRAWL_DELAY_SECONDS


def _text(body: bytes) -> str:
    """Return the text of a robots.txt, empty if it is a web page or binary data."""
    kind = sniff_type(body)
    comment_first = body.lstrip().startswith(b"<!--")
    if b"\0" in body[:MAX_ROBOTS_BYTES] or (kind is not None and not comment_first):
        return ""
    return _VERSION.sub(r"\1", body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace"))


class _CachedRules(NamedTuple):
    """Rules to follow until a time, and the failures of their robots.txt since it was last read."""

    until: float
    rules: RobotsRules
    failures: int = 0
    failing_since: float = 0.0


class RobotsCache:
    """Rules of recently visited sites, each until it expires.

    A robots.txt that failed is not cached while it is to be tried again: `get` then returns ``None``.
    """

    def __init__(self, size: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._cache: OrderedDict[str, _CachedRules] = OrderedDict()

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, url: str) -> RobotsRules | None:
        """Return the rules for a canonical URL, or ``None`` if they must be fetched."""
        site = robots_url(url)
        cached = self._cache.get(site)
        if cached is None or self._clock() >= cached.until:
            return None
        self._cache.move_to_end(site)
        return cached.rules

    def put(self, url: str, rules: RobotsRules) -> RobotsRules:
        """Store the rules for a canonical URL, and return the rules to follow."""
        site, now = robots_url(url), self._clock()
        known = self._cache.pop(site, None)
        self._cache[site] = cached = (
            _failed(rules, known, now) if rules.failed else _CachedRules(now + FRESH_SECONDS, rules)
        )
        if len(self._cache) > self._size:
            self._cache.popitem(last=False)
        return cached.rules


def _failed(rules: RobotsRules, known: _CachedRules | None, now: float) -> _CachedRules:
    """Return the cache entry of a robots.txt that failed; it has expired already if the file is to be tried again."""
    failures = known.failures + 1 if known is not None else 1
    since = known.failing_since if known is not None and known.failures else now
    if known is not None and not known.rules.failed:
        # RFC 9309 2.4: an old copy is better than none while the file is unreachable.
        return _CachedRules(now + FRESH_FAILURE_SECONDS, known.rules, failures, since)
    is_given_up = failures >= MAX_ROBOTS_TRIES or now - since >= MAX_ROBOTS_RETRY_SECONDS
    return _CachedRules(now + FRESH_FAILURE_SECONDS if is_given_up else now, rules, failures, since)
