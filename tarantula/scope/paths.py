"""Rules on the URL itself: its scheme, its length and characters, the segments of its path."""

from __future__ import annotations

from collections import Counter

from tarantula.core.states import DocumentState
from tarantula.core.urls import host_of, is_web, path_depth, path_of
from tarantula.scope.rule import Candidate, Verdict, refuse


class SchemeNotWeb:
    """Refuses what is neither http nor https. That is no document, so it has no state."""

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if is_web(candidate.url):
            return None
        scheme = candidate.url.partition(":")[0][:40]
        return refuse(self, None, f"A collector asks for http and https only, and this is {scheme}.")


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


MAX_SEGMENTS = 30
"""Segments of a path. The source trees that git shows on the web, the deepest honest paths, have about twenty."""
SCHEME_SLASHES = 2
"""Those of ``http://``."""


class PathTooLong:
    """Refuses a path of more segments than people make: links that are relative by mistake lengthen it at each step."""

    def __init__(self, most: int = MAX_SEGMENTS) -> None:
        self._most = most
        self._slashes = most + SCHEME_SLASHES

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if candidate.url.count("/") <= self._slashes or (segments := path_depth(candidate.url)) <= self._most:
            return None
        reason = f"Its path has {segments} segments, and {self._most} is the limit."
        return refuse(self, DocumentState.OVER_LIMIT, reason)


MAX_GROUP_REPEATS = 2
"""How often two or more segments may come in a row: /a/b/a/b is let in, /a/b/a/b/a/b is not."""
MAX_SEGMENT_REPEATS = 5
"""How often one segment may come in a path, in a row or not."""
_SEGMENTS = 2 * (MAX_GROUP_REPEATS + 1)
_SLASHES = _SEGMENTS + 2
_DOUBLES = min(2 * MAX_GROUP_REPEATS, MAX_SEGMENT_REPEATS)


class PathRepeats:
    """Refuses paths that repeat names. Numbers may repeat: catalogues keep record 1000000 at /01/00/00/00."""

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if candidate.url.count("/") < _SLASHES:
            return None
        segments = candidate.url.split("/")
        if len(segments) - len(set(segments)) < _DOUBLES:
            return None
        segments = path_of(candidate.url)[1:].removesuffix("/").split("/")
        repeated = _too_frequent(segments) or _too_often_in_a_row(segments)
        if repeated is None:
            return None
        return refuse(self, DocumentState.OVER_LIMIT, f"Its path repeats {repeated[:200]} again and again.")


def _too_frequent(segments: list[str]) -> str | None:
    names = Counter(one for one in segments if not one.isdigit())
    return next((f"/{name}" for name, times in names.items() if times > MAX_SEGMENT_REPEATS), None)


def _too_often_in_a_row(segments: list[str]) -> str | None:
    for length in range(2, len(segments) // (MAX_GROUP_REPEATS + 1) + 1):
        alike = 0
        for position in range(length, len(segments)):
            alike = alike + 1 if segments[position] == segments[position - length] else 0
            if alike == length * MAX_GROUP_REPEATS:
                group = segments[position - length + 1 : position + 1]
                if not all(one.isdigit() for one in group):
                    return "/" + "/".join(group)
    return None
