"""What became of looking for a value."""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Element

from tarantula.streams.relocate.labels import Labels


@dataclass(frozen=True, slots=True)
class Found:
    """The element, and its text."""

    element: Element
    text: str
    labels: Labels
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Unsure:
    """A text that may be another one, and why."""

    text: str
    why: str
    element: Element | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """Nothing, and why."""

    why: str


Outcome = Found | Unsure | Gone
