"""Does its path say the same thing again and again?"""

from __future__ import annotations

from collections import Counter

from tarantula.core.states import DocumentState
from tarantula.core.urls import path_of
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

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
