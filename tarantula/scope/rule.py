"""The shape of a rule."""

from __future__ import annotations

from typing import Protocol, TypeVar

from tarantula.scope.rule_part_verdict import Verdict

Subject_contra = TypeVar("Subject_contra", contravariant=True)


class ScopeRule(Protocol[Subject_contra]):
    """A question with three answers: accepted, refused, or ``None`` for no opinion."""

    def judge(self, subject: Subject_contra, /) -> Verdict | None:
        """Answer it."""
