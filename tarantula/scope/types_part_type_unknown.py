"""Can nobody tell what type it is?"""

from __future__ import annotations

from tarantula.core.states import DocumentState
from tarantula.fetch.media_types import TypesByExtension, extension_of
from tarantula.scope.rule_part_answer import CandidateResponse
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.types import TypeSet


class TypeUnknown:
    """Refuses documents without a usable Content-Type whose extension tells nothing, unless every type is wanted."""

    def __init__(self, extensions: TypesByExtension, wanted: TypeSet) -> None:
        self._extensions = extensions
        self._wanted = wanted

    def judge(self, answer: CandidateResponse) -> Verdict | None:
        """Refuse it, or have no opinion."""
        if answer.media_type or not answer.is_success or self._wanted.takes_unknown:
            return None
        if extension_of(answer.url) in self._extensions:
            return None
        reason = "Neither a Content-Type header nor its extension nor its content tells what type it is."
        return refuse(self, DocumentState.UNKNOWN_TYPE, reason)
