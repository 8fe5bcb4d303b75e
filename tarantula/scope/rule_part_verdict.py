"""What was decided, by which rule, and why."""

from __future__ import annotations

from typing import NamedTuple

from tarantula.core.states import DocumentState


class Verdict(NamedTuple):
    """A decision. A refusal has the state that the document ends in, or ``None`` if it is no document at all."""

    accepted: bool
    rule: str
    """The name of the class that decided."""
    state: DocumentState | None
    reason: str
    """One sentence a person can read."""


def accept(rule: object, reason: str) -> Verdict:
    """*rule* lets it in, unless a later one refuses."""
    return Verdict(True, type(rule).__name__, None, reason)


def refuse(rule: object, state: DocumentState | None, reason: str) -> Verdict:
    """*rule* refuses it, and nothing after it is asked."""
    return Verdict(False, type(rule).__name__, state, reason)
