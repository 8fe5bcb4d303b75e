"""Rules against crawler traps: repeated bodies, growing URLs, endless calendars, session ids."""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.scope.rule import Candidate, Verdict, refuse

REMEMBERED_PAGES = 50_000
"""Pages; when there are more, all but the last are forgotten."""


class StepCounter:
    """Remembers pages that were reached by steps of a kind, and by how many."""

    def __init__(self, size: int = REMEMBERED_PAGES) -> None:
        self._size = size
        self._steps: dict[int, int] = {}

    def take(self, via: str, url: str) -> int:
        """Go one such step from *via* to *url*; return how many that are in a row."""
        steps = self._steps.get(hash(via), 0) + 1
        if len(self._steps) >= self._size:
            self._steps.clear()
        self._steps[hash(url)] = steps
        return steps


MAX_COPIES = 100
"""Addresses of one server with one body whose links are followed."""
REMEMBERED_BODIES = 50_000
"""Bodies, and as many addresses; those not met for longest are forgotten first."""


class SameBody:
    """Refuses the links that a reader would follow from a page whose body was met too often.

    They are new only because they are relative: the same words lead elsewhere from every address. What the page needs
    to be whole is let in, for a hundred albums may well have the same frames.
    """

    def __init__(self, most: int = MAX_COPIES, size: int = REMEMBERED_BODIES) -> None:
        self._most = most
        self._size = size
        self._copies: OrderedDict[tuple[str, int, int], int] = OrderedDict()
        self._barren: OrderedDict[int, None] = OrderedDict()
        self._met: OrderedDict[int, None] = OrderedDict()

    def learn(self, server: str, url: str, body: bytes) -> None:
        """Take note of a page."""
        key = (server, len(body), hash(body))
        # A page that is visited again is no other address.
        if (known := hash((url, key))) in self._met:
            return
        self._met[known] = None
        _shorten(self._met, self._size)
        copies = self._copies[key] = self._copies.get(key, 0) + 1
        self._copies.move_to_end(key)
        _shorten(self._copies, self._size)
        if copies > self._most:
            self._barren[hash(url)] = None
            _shorten(self._barren, self._size)

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if not self._barren or candidate.kind != LinkKind.NAVIGATION or hash(candidate.via) not in self._barren:
            return None
        reason = f"More than {self._most} addresses of its server have the body of the page that names it."
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _shorten(memory: OrderedDict[Any, Any], size: int) -> None:
    if len(memory) > size:
        memory.popitem(last=False)


MAX_GROWTH = 10
"""Steps in a row. ?p=1, ?p=10, ?p=100 are two; whoever chooses ten filters of a shop one by one has gone ten."""


class EverLonger:
    """Refuses URLs that grow out of one another, step by step, within the last segment or the query."""

    def __init__(self, most: int = MAX_GROWTH) -> None:
        self._most = most
        self._steps = StepCounter()

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        url, via = candidate.url, candidate.via
        if len(url) <= len(via) or not via or not _grown(via, url):
            return None
        steps = self._steps.take(via, url)
        if steps <= self._most:
            return None
        reason = f"{steps} URLs in a row only make the one before longer, and {self._most} is the limit."
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _grown(via: str, url: str) -> bool:
    """Whether *url* is *via* with something put in, other than a segment of the path."""
    name = via.find("?") + 1 or via.rfind("/") + 1
    if name == len(via) or url[:name] != via[:name]:
        return False
    while name < len(via) and url[name] == via[name]:
        name += 1
    return url.endswith(via[name:]) and ("?" in via or "/" not in url[name : len(url) - len(via) + name])


MAX_YEARS_AHEAD = 10
"""Years from now; nothing that already happened, or is announced, lies beyond."""
MAX_CALENDAR_STEPS = 60
"""Steps from date to date in a row. Archives have shorter ways to their dates than turning sixty pages."""
REMEMBERED_PARAMETERS = 4096
"""Names of parameters."""

_YEAR = r"(?P<year>[12][0-9]{3})"
_MONTH, _DAY = "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_WRITTEN = re.compile(rf"(?<![0-9]){_YEAR}([-/_]){_MONTH}(?:\2{_DAY})?(?![0-9])")
# Only a name can tell 20450112, the date, from 20450112, the number of an article.
_NAME = re.compile("date|data|datum|day|dia|jour|month|mes|monat|mois|year|ano|annee|jahr|week|time|cal", re.IGNORECASE)
_OF_A_YEAR = re.compile(rf"{_YEAR}(?:(?:[-/_.]|%2F)?[0-9]{{1,2}}){{0,2}}", re.IGNORECASE)
_DATE = "#"
"""What stands for a date: no canonical URL has one."""


class _Dated(NamedTuple):
    """A URL without its date."""

    mask: str
    start: str
    """What comes before the date."""
    end: str
    """What comes behind it, or behind the last of several."""
    year: int | None


class CalendarWithoutEnd:
    """Refuses what a page names that differs only in its date: too many in a row, or years that nobody plans for."""

    def __init__(
        self, steps: int = MAX_CALENDAR_STEPS, ahead: int = MAX_YEARS_AHEAD, this_year: int | None = None
    ) -> None:
        self._most = steps
        self._last_year = (this_year or datetime.now(UTC).year) + ahead
        self._steps = StepCounter()
        self._naming: tuple[str, _Dated | None] = ("", None)

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        via, naming = self._naming
        if candidate.via != via:
            via, naming = self._naming = candidate.via, _dated(candidate.via)
        url = candidate.url
        if naming is None or not (url.startswith(naming.start) and url.endswith(naming.end)):
            return None
        dated = _dated(url)
        if dated is None or dated.mask != naming.mask or url == via:
            return None
        steps = self._steps.take(via, url)
        if steps > self._most:
            return self._refuse(f"It is {steps} steps from date to date away, and {self._most} is the limit.")
        if dated.year is not None and dated.year > self._last_year:
            return self._refuse(f"It is a calendar's page for {dated.year}, and {self._last_year} is the limit.")
        return None

    def _refuse(self, reason: str) -> Verdict:
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _dated(url: str) -> _Dated | None:
    year = None
    if written := _WRITTEN.search(url):
        year = int(written["year"])
        url = f"{url[: written.start()]}{_DATE}{url[written.end() :]}"
    address, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    for place, parameter in enumerate(parameters):
        name, equals, value = parameter.partition("=")
        if equals and _names_a_date(name):
            found = _OF_A_YEAR.fullmatch(value)
            year = year or (int(found["year"]) if found else None)
            parameters[place] = f"{name}={_DATE}"
    mask = "?".join([address, "&".join(parameters)] if parameters else [address])
    start, date, _ = mask.partition(_DATE)
    return _Dated(mask, start, mask.rpartition(_DATE)[2], year) if date else None


@lru_cache(REMEMBERED_PARAMETERS)
def _names_a_date(name: str) -> bool:
    return _NAME.search(name) is not None


MAX_SESSIONS = 5
"""Session ids under which one address is asked for."""
REMEMBERED_ADDRESSES = 50_000
"""Addresses; when there are more, all are forgotten."""

# Short names such as sid also number articles: there, only what is long and drawn by lot is a session.
_IN_QUERY = re.compile(
    r"[;?&](?:jsessionid|phpsessid|aspsessionid[a-z]*|cfid|cftoken|oscsid|xtcsid|zenid|session_?id|sessid|sess)=[^&;?]+"
    r"|[;?&](?:s|sid|session)=(?=[a-z]*[0-9])[0-9a-z]{16,}(?![^&;])"
)
# As ASP.NET writes it: /(S(abc…))/page.aspx
_IN_PATH = re.compile(r"/\((?:[a-z]\([^()]*\))*s\([0-9a-z]{16,}\)\)")


class TooManySessions:
    """Refuses an address that differs from many others only in its session id."""

    def __init__(self, most: int = MAX_SESSIONS, size: int = REMEMBERED_ADDRESSES) -> None:
        self._most = most
        self._size = size
        self._sessions: dict[int, frozenset[int]] = {}

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        url = candidate.url
        session, start = (_IN_QUERY, _first_parameter(url)) if "=" in url else (_IN_PATH, url.find("("))
        if start < 0 or not (values := session.findall(lower := url.lower(), max(start - 1, 0))):
            return None
        address, session_id = hash(session.sub("", lower)), hash(str(values))
        known = self._sessions.get(address, frozenset())
        if session_id in known:
            return None
        if len(known) < self._most:
            self._remember(address, known | {session_id})
            return None
        reason = f"It differs from {self._most} other URLs only in its session id, and {self._most} is the limit."
        return refuse(self, DocumentState.OVER_LIMIT, reason)

    def _remember(self, address: int, sessions: frozenset[int]) -> None:
        if address not in self._sessions and len(self._sessions) >= self._size:
            self._sessions.clear()
        self._sessions[address] = sessions


def _first_parameter(url: str) -> int:
    return url.find(";") if ";" in url else url.find("?")
