"""Do its headers say that its type is not wanted?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.fetch.media_types import TypesByExtension, extension_of
from tarantula.scope.rule_part_answer import CandidateResponse
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.types import TypeSet


class TypeNotWanted:
    """Refuses documents of types outside the publication's; where the headers are silent, the extension speaks."""

    def __init__(self, publication: str, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._publication = publication
        self._extensions = extensions
        self._wanted = wanted

    def judge(self, answer: CandidateResponse) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if not answer.is_success:
            return None
        mimes = (answer.media_type,) if answer.media_type else self._extensions.get(extension_of(answer.url), ())
        if not mimes or any(mime in self._wanted for mime in mimes):
            return None
        reason = f"Its type is {mimes[0]}, which {self._publication} does not want."
        return refuse(self, DocumentState.TYPE_NOT_WANTED, reason)
