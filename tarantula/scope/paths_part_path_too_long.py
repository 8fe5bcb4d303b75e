"""Does its path go on and on?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.core.urls import path_depth
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

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
