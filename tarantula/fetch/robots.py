"""Rules of robots.txt (RFC 9309) and their cache. The file itself is fetched elsewhere."""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable

from protego import Protego

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
"""How long until a robots.txt that failed twice is fetched again."""

# RFC 9309 2.2.1: a group has a product token only, but many files have a version after it.
_VERSION = re.compile(r"^([ \t]*user-?agent[ \t]*:[ \t]*[a-z_-]+)/.*$", re.IGNORECASE | re.MULTILINE)


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt for a canonical URL; it is also the key in `RobotsCache`."""
    return f"{url.partition(':')[0]}://{server_of(url)}/robots.txt"


class RobotsRules:
    """Rules of one robots.txt.

    If there was no response, *status* is the document state of the failure, and *failure* its message.
    """

    def __init__(self, status: int, body: bytes, url: str, failure: str = "") -> None:
        self.url = url
        self._failure = failure
        # RFC 9309 2.3.1.3 and 2.3.1.4: unavailable allows everything, unreachable nothing.
        self.unreachable = status >= 500 or status in UNREACHED_STATES
        self._status = status
        self._rules = Protego.parse(_text(body) if 200 <= status < 300 else "")

    @property
    def state(self) -> DocumentState:
        """State of refused documents: that of robots.txt if it was not reached, else excluded by robots.txt."""
        return DocumentState(self._status) if self._status in UNREACHED_STATES else DocumentState.EXCLUDED_BY_ROBOTS

    @property
    def reason(self) -> str:
        """Reason of refused documents."""
        if self._status in UNREACHED_STATES:
            return f"{self.url} could not be fetched: {self._failure}"
        if self.unreachable:
            return f"{self.url} returned {self._status}; everything on that server is excluded until it can be read."
        return f"{self.url} excludes it."

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


class RobotsCache:
    """Rules of recently visited sites, each until it expires."""

    def __init__(self, size: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._cache: OrderedDict[str, tuple[float, RobotsRules]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, url: str) -> RobotsRules | None:
        """Return the rules for a canonical URL, or ``None`` if they must be fetched."""
        site = robots_url(url)
        until, rules = self._cache.get(site, (0.0, None))
        if rules is None or self._clock() >= until:
            return None
        self._cache.move_to_end(site)
        return rules

    def put(self, url: str, rules: RobotsRules) -> RobotsRules:
        """Store the rules for a canonical URL, and return the rules to follow."""
        site = robots_url(url)
        _, known = self._cache.pop(site, (0.0, None))
        until = self._clock() + _lifetime(rules, known)
        # RFC 9309 2.4: an old copy is better than none while the file is unreachable.
        followed = known if rules.unreachable and known is not None and not known.unreachable else rules
        self._cache[site] = (until, followed)
        if len(self._cache) > self._size:
            self._cache.popitem(last=False)
        return followed


def _lifetime(rules: RobotsRules, known: RobotsRules | None) -> float:
    if not rules.unreachable:
        return FRESH_SECONDS
    # One lost connection must not exclude a whole server: after the first failure, fetch again.
    return FRESH_FAILURE_SECONDS if known is not None else 0.0
