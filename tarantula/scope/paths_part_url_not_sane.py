"""Is it a URL that no server would have given on purpose?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.core.urls import host_of
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

MAX_URL_LENGTH = 8192
"""Characters. Servers commonly refuse request lines longer than this."""
MAX_HOST_LENGTH = 253
"""Letters. RFC 1035 2.3.4: 255 octets on the wire leave this many to write."""
MAX_SERVER_LENGTH = MAX_HOST_LENGTH + len(":65535")


class UrlNotSane:
    """Refuses what is too long, in all or in its host, carries a user name, or holds what a canonical URL cannot."""

    def __init__(self, max_length: int = MAX_URL_LENGTH) -> None:
        self._max_length = max_length

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        url = candidate.url
        if len(url) > self._max_length:
            return self._refuse(f"The URL has {len(url):,} characters, and {self._max_length:,} is the limit.")
        if len(candidate.server) > MAX_HOST_LENGTH and (letters := len(host_of(candidate.server))) > MAX_HOST_LENGTH:
            return self._refuse(f"The URL's host has {letters:,} letters, and {MAX_HOST_LENGTH} is the limit.")
        if not url.isascii() or not url.isprintable() or " " in url:
            return self._refuse("The URL holds spaces, control characters or letters that are not escaped.")
        if "@" in url and "@" in url.split("/", 3)[2]:
            return self._refuse("The URL carries a user name, and a collector logs in nowhere.")
        return None

    def _refuse(self, reason: str) -> Verdict:
        return refuse(self, DocumentState.OVER_LIMIT, reason)
