"""Is it a page that was met before, under other session ids?"""

from __future__ import annotations

import re

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

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
