"""What became of looking for a value."""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Element

from tarantula.streams.relocate.labels import ElementLabels


@dataclass(frozen=True, slots=True)
class Located:
    """The element, and its text."""

    element: Element
    text: str
    labels: ElementLabels
    moved: bool = False


@dataclass(frozen=True, slots=True)
class LocatedDoubtfully:
    """A text that may be another one, and why."""

    text: str
    why: str
    element: Element | None = None


@dataclass(frozen=True, slots=True)
class NotLocated:
    """Nothing, and why."""

    why: str


LocateResult = Located | LocatedDoubtfully | NotLocated
