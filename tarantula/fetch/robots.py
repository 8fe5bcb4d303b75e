"""What a server's robots.txt asks of us (RFC 9309). Reading it from the server is somebody else's work."""

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
"""The name by which a robots.txt speaks of us: the product in our User-Agent header."""
MAX_ROBOTS_REDIRECTS = 5
"""RFC 9309 2.3.1.2: how many redirects to follow before there is no robots.txt."""
MAX_ROBOTS_BYTES = 500 * 1024
"""RFC 9309 2.5: what is read of a robots.txt, in bytes."""
MAX_CRAWL_DELAY_SECONDS = 300.0
"""Seconds; a server that asks for more is visited this often."""
FRESH_SECONDS = 24 * 3600.0
"""RFC 9309 2.4: seconds for which a robots.txt is believed."""
FRESH_FAILURE_SECONDS = 300.0
"""Seconds before a robots.txt that could not be had twice is asked for again."""

# RFC 9309 2.2.1: a group is named by a product token alone, but many files write a version after it.
_VERSION = re.compile(r"^([ \t]*user-?agent[ \t]*:[ \t]*[a-z_-]+)/.*$", re.IGNORECASE | re.MULTILINE)


def robots_url(url: str) -> str:
    """Return where the robots.txt that speaks of a canonical URL is. It also names the site in `RobotsCache`."""
    return f"{url.partition(':')[0]}://{server_of(url)}/robots.txt"


class RobotsRules:
    """One robots.txt, from the answer to our asking for it: its status, body and URL.

    Where there was no answer, the status is the state that says so, and *failure* the sentence.
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
        """How what is not allowed ends: where nothing is known of what the server wants, as its robots.txt did."""
        return DocumentState(self._status) if self._status in UNREACHED_STATES else DocumentState.EXCLUDED_BY_ROBOTS

    @property
    def reason(self) -> str:
        """Why what is not allowed is not."""
        if self._status in UNREACHED_STATES:
            return f"{self.url} could not be fetched: {self._failure}"
        if self.unreachable:
            return f"{self.url} returned {self._status}; everything on that server is excluded until it can be read."
        return f"{self.url} excludes it."

    def allowed(self, url: str, user_agent: str = PRODUCT_TOKEN) -> bool:
        """Whether the product of that name may ask for a canonical URL."""
        return not self.unreachable and self._rules.can_fetch(url, user_agent)

    def crawl_delay(self, user_agent: str = PRODUCT_TOKEN) -> float | None:
        """Return the seconds that the server asks for between visits, if it asks, up to `MAX_CRAWL_DELAY`."""
        asked = self._rules.crawl_delay(user_agent)
        if asked is None or asked <= MAX_CRAWL_DELAY_SECONDS:
            return asked
        logger.warning("The Crawl-delay of %s is %g s; %g s is used.", self.url, asked, MAX_CRAWL_DELAY_SECONDS)
        return MAX_CRAWL_DELAY_SECONDS


def _text(body: bytes) -> str:
    """Return the lines of a robots.txt, or nothing if it is a web page or no text at all."""
    kind = sniff_type(body)
    comment_first = body.lstrip().startswith(b"<!--")
    if b"\0" in body[:MAX_ROBOTS_BYTES] or (kind is not None and not comment_first):
        return ""
    return _VERSION.sub(r"\1", body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace"))


class RobotsCache:
    """The robots.txt of the sites visited lately, each for as long as it may be believed."""

    def __init__(self, size: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, RobotsRules]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, url: str) -> RobotsRules | None:
        """Return the rules that speak of a canonical URL, or ``None`` if they must be asked for (again)."""
        site = robots_url(url)
        until, rules = self._kept.get(site, (0.0, None))
        if rules is None or self._clock() >= until:
            return None
        self._kept.move_to_end(site)
        return rules

    def put(self, url: str, rules: RobotsRules) -> RobotsRules:
        """Keep the rules that speak of a canonical URL, and return those to follow."""
        site = robots_url(url)
        _, known = self._kept.pop(site, (0.0, None))
        until = self._clock() + _fresh(rules, known)
        # RFC 9309 2.4: an old copy is better than none while the file is unreachable.
        followed = known if rules.unreachable and known is not None and not known.unreachable else rules
        self._kept[site] = (until, followed)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return followed


def _fresh(rules: RobotsRules, known: RobotsRules | None) -> float:
    if not rules.unreachable:
        return FRESH_SECONDS
    # One lost connection must not cost a whole server: the first failure is not believed.
    return FRESH_FAILURE_SECONDS if known is not None else 0.0
