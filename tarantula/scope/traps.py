"""Rules against crawler traps: repeated bodies, growing URLs, endless calendars, session ids.

A trap is a part of a site that never ends although every page of it is within the limits.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate, Verdict, refuse

MAX_COPIES = 100
"""URLs of one server with the same body whose links are followed."""
REMEMBERED_BODIES = 50_000
"""Bodies, and as many URLs; the least recently seen are dropped first."""
MAX_GROWTH = 10
"""Steps in a row. ?p=1, ?p=10, ?p=100 are two; selecting ten filters of a shop one by one are ten."""
MAX_CALENDAR_STEPS = 60
"""Steps from date to date in a row. Archives link to their dates on shorter paths."""
MAX_YEARS_AHEAD = 10
"""Years from now; no real event lies further ahead."""
MAX_SESSIONS = 5
"""Session ids for which the same address is requested."""
REMEMBERED_PAGES = 50_000
"""Pages in a step counter; when it is full, all are dropped."""
REMEMBERED_ADDRESSES = 50_000
"""Addresses with session ids; when there are more, all are dropped."""
REMEMBERED_PARAMETERS = 4096
"""Names of query parameters in the cache."""


class StepCounter:
    """Count consecutive steps of one kind that led to a page."""

    def __init__(self, size: int = REMEMBERED_PAGES) -> None:
        self._size = size
        self._steps: dict[int, int] = {}

    def take(self, via: str, url: str) -> int:
        """Add a step from *via* to *url*; return the number of such steps in a row."""
        steps = self._steps.get(hash(via), 0) + 1
        if len(self._steps) >= self._size:
            self._steps.clear()
        self._steps[hash(url)] = steps
        return steps


class SameBody:
    """Refuse navigation links on a page whose body its server returns for too many URLs.

    The links differ only because they are relative to different URLs. Requisites are accepted, because a hundred albums
    may well have the same frames.
    """

    def __init__(self, limit: int = MAX_COPIES, size: int = REMEMBERED_BODIES) -> None:
        self._limit = limit
        self._size = size
        self._copies: OrderedDict[tuple[str, int, int], int] = OrderedDict()
        self._repeated: OrderedDict[int, None] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()

    def learn(self, server: str, url: str, body: bytes) -> None:
        """Record the body of a page."""
        key = (server, len(body), hash(body))
        # A second visit to the same page is not another copy.
        if (known := hash((url, key))) in self._seen:
            return
        self._seen[known] = None
        _drop_oldest(self._seen, self._size)
        copies = self._copies[key] = self._copies.get(key, 0) + 1
        self._copies.move_to_end(key)
        _drop_oldest(self._copies, self._size)
        if copies > self._limit:
            self._repeated[hash(url)] = None
            _drop_oldest(self._repeated, self._size)

    def judge(self, candidate: Candidate) -> Verdict | None:
        if not self._repeated or candidate.kind != LinkKind.NAVIGATION or hash(candidate.via) not in self._repeated:
            return None
        reason = Reason.of("same_body", limit=self._limit)
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _drop_oldest(memory: OrderedDict[Any, Any], size: int) -> None:
    if len(memory) > size:
        memory.popitem(last=False)


class EverLonger:
    """Refuse URLs that extend the URL of their page, step by step, in the last segment or the query."""

    def __init__(self, limit: int = MAX_GROWTH) -> None:
        self._limit = limit
        self._steps = StepCounter()

    def judge(self, candidate: Candidate) -> Verdict | None:
        url, via = candidate.url, candidate.via
        if len(url) <= len(via) or not via or not _extends(via, url):
            return None
        steps = self._steps.take(via, url)
        if steps <= self._limit:
            return None
        reason = Reason.of("ever_longer", steps=steps, limit=self._limit)
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _extends(via: str, url: str) -> bool:
    """Whether *url* is *via* with something inserted that is not a path segment."""
    position = via.find("?") + 1 or via.rfind("/") + 1
    if position == len(via) or url[:position] != via[:position]:
        return False
    while position < len(via) and url[position] == via[position]:
        position += 1
    inserted = url[position : len(url) - len(via) + position]
    return url.endswith(via[position:]) and ("?" in via or "/" not in inserted)


_YEAR = r"(?P<year>[12][0-9]{3})"
_MONTH, _DAY = "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_WRITTEN_DATE = re.compile(rf"(?<![0-9]){_YEAR}([-/_]){_MONTH}(?:\2{_DAY})?(?![0-9])")
# Only the parameter's name distinguishes 20450112, the date, from 20450112, the number of an article.
_DATE_PARAMETER = re.compile(
    "date|data|datum|day|dia|jour|month|mes|monat|mois|year|ano|annee|jahr|week|time|cal", re.IGNORECASE
)
_DATE_VALUE = re.compile(rf"{_YEAR}(?:(?:[-/_.]|%2F)?[0-9]{{1,2}}){{0,2}}", re.IGNORECASE)
_PLACEHOLDER = "#"
"""Stands for a date; it never occurs in a canonical URL."""


class _DatedUrl(NamedTuple):
    """A URL with its dates replaced by placeholders."""

    mask: str
    start: str
    """The part before the first date."""
    end: str
    """The part after the last date."""
    year: int | None


class CalendarWithoutEnd:
    """Refuse a URL that differs from that of its page only in a date: too many in a row, or too far in the future."""

    def __init__(
        self, max_steps: int = MAX_CALENDAR_STEPS, years_ahead: int = MAX_YEARS_AHEAD, this_year: int | None = None
    ) -> None:
        self._max_steps = max_steps
        self._last_year = (this_year or datetime.now(UTC).year) + years_ahead
        self._steps = StepCounter()
        self._page: tuple[str, _DatedUrl | None] = ("", None)

    def judge(self, candidate: Candidate) -> Verdict | None:
        via, page = self._page
        if candidate.via != via:
            via, page = self._page = candidate.via, _dated(candidate.via)
        url = candidate.url
        if page is None or not (url.startswith(page.start) and url.endswith(page.end)):
            return None
        dated = _dated(url)
        if dated is None or dated.mask != page.mask or url == via:
            return None
        steps = self._steps.take(via, url)
        if steps > self._max_steps:
            return self._refuse(Reason.of("calendar_steps", steps=steps, limit=self._max_steps))
        if dated.year is not None and dated.year > self._last_year:
            return self._refuse(Reason.of("calendar_year", year=dated.year, limit=self._last_year))
        return None

    def _refuse(self, reason: Reason) -> Verdict:
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _dated(url: str) -> _DatedUrl | None:
    year = None
    if written := _WRITTEN_DATE.search(url):
        year = int(written["year"])
        url = f"{url[: written.start()]}{_PLACEHOLDER}{url[written.end() :]}"
    address, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    for place, parameter in enumerate(parameters):
        name, equals, value = parameter.partition("=")
        if equals and _is_date_parameter(name):
            match = _DATE_VALUE.fullmatch(value)
            year = year or (int(match["year"]) if match else None)
            parameters[place] = f"{name}={_PLACEHOLDER}"
    mask = "?".join([address, "&".join(parameters)] if parameters else [address])
    start, placeholder, _ = mask.partition(_PLACEHOLDER)
    return _DatedUrl(mask, start, mask.rpartition(_PLACEHOLDER)[2], year) if placeholder else None


@lru_cache(REMEMBERED_PARAMETERS)
def _is_date_parameter(name: str) -> bool:
    return _DATE_PARAMETER.search(name) is not None


# Short names such as sid also number articles: there, only a long random value is a session id.
_SESSION_IN_QUERY = re.compile(
    r"[;?&](?:jsessionid|phpsessid|aspsessionid[a-z]*|cfid|cftoken|oscsid|xtcsid|zenid|session_?id|sessid|sess)=[^&;?]+"
    r"|[;?&](?:s|sid|session)=(?=[a-z]*[0-9])[0-9a-z]{16,}(?![^&;])"
)
# The form of ASP.NET: /(S(abc…))/page.aspx
_SESSION_IN_PATH = re.compile(r"/\((?:[a-z]\([^()]*\))*s\([0-9a-z]{16,}\)\)")


class TooManySessions:
    """Refuse a URL that differs from too many others only in its session id."""

    def __init__(self, limit: int = MAX_SESSIONS, size: int = REMEMBERED_ADDRESSES) -> None:
        self._limit = limit
        self._size = size
        self._sessions: dict[int, frozenset[int]] = {}

    def judge(self, candidate: Candidate) -> Verdict | None:
        url = candidate.url
        pattern, start = (_SESSION_IN_QUERY, _first_parameter(url)) if "=" in url else (_SESSION_IN_PATH, url.find("("))
        if start < 0 or not (values := pattern.findall(lower := url.lower(), max(start - 1, 0))):
            return None
        address, session_id = hash(pattern.sub("", lower)), hash(str(values))
        known = self._sessions.get(address, frozenset())
        if session_id in known:
            return None
        if len(known) < self._limit:
            self._remember(address, known | {session_id})
            return None
        reason = Reason.of("too_many_sessions", limit=self._limit)
        return refuse(self, DocumentState.OVER_LIMIT, reason)

    def _remember(self, address: int, sessions: frozenset[int]) -> None:
        if address not in self._sessions and len(self._sessions) >= self._size:
            self._sessions.clear()
        self._sessions[address] = sessions


def _first_parameter(url: str) -> int:
    return url.find(";") if ";" in url else url.find("?")
