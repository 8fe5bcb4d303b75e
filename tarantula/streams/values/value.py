"""One typed value, as it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tarantula.streams.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class Value:
    """What a text on a page means."""

    kind: ValueKind
    text: str
    """In one way of writing for each: ``-3.5``, ``2026-06-12T22:00:00+00:00``, an absolute URL, words."""
    number: Decimal | None = None
    """The same as an exact number, in the field's unit: seconds of a duration, seconds since 1970 of a moment."""
    unit: str = ""
    """The unit that the text itself named: ``EUR``, ``km/h``, ``%``."""


class ValueParseError(ValueError):
    """A text that does not say what was expected: a sentence that says why."""
