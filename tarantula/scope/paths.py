"""Rules on the URL itself: its scheme, its length and characters, the segments of its path."""

from __future__ import annotations

from collections import Counter

from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.core.urls import MAX_HOST_LENGTH, MAX_URL_LENGTH, host_of, is_web, path_depth, path_of
from tarantula.scope.rule import Candidate, Verdict, refuse

MAX_SEGMENTS = 30
"""Segments of a path. Source trees that git shows on the web, the deepest ordinary paths, have about twenty."""
MAX_GROUP_REPEATS = 2
"""How often a group of two or more segments may occur in a row: /a/b/a/b is accepted, /a/b/a/b/a/b is not."""
MAX_SEGMENT_REPEATS = 5
"""How often one segment may occur in a path, in a row or not."""
SCHEME_SLASHES = 2
"""Slashes of ``http://``."""

# Lower bounds that let PathRepeats skip most URLs without taking their path apart.
_MIN_SLASHES = 2 * (MAX_GROUP_REPEATS + 1) + SCHEME_SLASHES
_MIN_DUPLICATES = min(2 * MAX_GROUP_REPEATS, MAX_SEGMENT_REPEATS)


class SchemeNotWeb:
    """Refuse schemes other than http and https. Such a link does not become a document, so it has no state."""

    def judge(self, candidate: Candidate) -> Verdict | None:
        if is_web(candidate.url):
            return None
        scheme = candidate.url.partition(":")[0][:40]
        return refuse(self, None, Reason.of("scheme_not_web", scheme=scheme))


class UrlNotSane:
    """Refuse URLs that are too long, have too long a host, a user name, or unescaped characters."""

    def __init__(self, max_length: int = MAX_URL_LENGTH) -> None:
        self._max_length = max_length

    def judge(self, candidate: Candidate) -> Verdict | None:
        url = candidate.url
        if len(url) > self._max_length:
            return self._refuse(Reason.of("url_too_long", length=len(url), limit=self._max_length))
        if len(candidate.server) > MAX_HOST_LENGTH and (length := len(host_of(candidate.server))) > MAX_HOST_LENGTH:
            return self._refuse(Reason.of("host_too_long", length=length, limit=MAX_HOST_LENGTH))
        if not url.isascii() or not url.isprintable() or " " in url:
            return self._refuse(Reason.of("url_not_escaped"))
        if "@" in url and "@" in url.split("/", 3)[2]:
            return self._refuse(Reason.of("url_with_user"))
        return None

    def _refuse(self, reason: Reason) -> Verdict:
        return refuse(self, DocumentState.OVER_LIMIT, reason)


class PathTooLong:
    """Refuse paths with too many segments: links that are relative by mistake lengthen the path at each step."""

    def __init__(self, limit: int = MAX_SEGMENTS) -> None:
        self._limit = limit
        self._max_slashes = limit + SCHEME_SLASHES

    def judge(self, candidate: Candidate) -> Verdict | None:
        if candidate.url.count("/") <= self._max_slashes or (segments := path_depth(candidate.url)) <= self._limit:
            return None
        reason = Reason.of("path_too_long", segments=segments, limit=self._limit)
        return refuse(self, DocumentState.OVER_LIMIT, reason)


class PathRepeats:
    """Refuse paths that repeat names. Numbers may repeat: catalogues store record 1000000 at /01/00/00/00."""

    def judge(self, candidate: Candidate) -> Verdict | None:
        if candidate.url.count("/") < _MIN_SLASHES:
            return None
        segments = candidate.url.split("/")
        if len(segments) - len(set(segments)) < _MIN_DUPLICATES:
            return None
        segments = path_of(candidate.url)[1:].removesuffix("/").split("/")
        repeated = _frequent_segment(segments) or _repeated_group(segments)
        if repeated is None:
            return None
        return refuse(self, DocumentState.OVER_LIMIT, Reason.of("path_repeats", repeated=repeated[:200]))


def _frequent_segment(segments: list[str]) -> str | None:
    counts = Counter(one for one in segments if not one.isdigit())
    return next((f"/{name}" for name, count in counts.items() if count > MAX_SEGMENT_REPEATS), None)


def _repeated_group(segments: list[str]) -> str | None:
    for length in range(2, len(segments) // (MAX_GROUP_REPEATS + 1) + 1):
        matches = 0
        for position in range(length, len(segments)):
            matches = matches + 1 if segments[position] == segments[position - length] else 0
            if matches == length * MAX_GROUP_REPEATS:
                group = segments[position - length + 1 : position + 1]
                if not all(one.isdigit() for one in group):
                    return "/" + "/".join(group)
    return None
