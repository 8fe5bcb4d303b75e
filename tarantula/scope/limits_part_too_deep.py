"""Does it lie too many links away from the base document?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.links.link import LinkKind
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse

EXTRA_DEPTH: dict[int, int] = {
    LinkKind.NAVIGATION: 0,
    # So that the last pages are whole: their images and styles, and what those styles ask for.
    LinkKind.REQUISITE: 1,
    LinkKind.IN_STYLE: 2,
    # It stands in the place, and at the depth, of a document that was let in, which may have been a requisite.
    LinkKind.REDIRECT: 2,
}


class TooDeep:
    """Refuses what lies past the publication's depth."""

    def __init__(self, publication: str, depth: int) -> None:
        self._publication = publication
        self._depth = depth
        self._deepest = tuple(depth + EXTRA_DEPTH[kind] for kind in sorted(LinkKind))

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if candidate.depth <= self._depth or candidate.depth <= self._deepest[candidate.kind]:
            return None
        links = "link" if candidate.depth == 1 else "links"
        past = EXTRA_DEPTH[candidate.kind]
        more = f", and {past} more for what a page needs to be whole" if past else ""
        return refuse(
            self,
            DocumentState.OVER_LIMIT,
            f"It lies {candidate.depth} {links} from the base document, "
            f"and {self._publication} goes {self._depth} deep{more}.",
        )
