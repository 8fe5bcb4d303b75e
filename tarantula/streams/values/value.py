"""Typed value that a text was parsed into, and the error for texts that cannot be parsed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tarantula.core.errors import MessageError
from tarantula.streams.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value."""

    kind: ValueKind
    text: str
    """Canonical text: ``-3.5``, ``2026-06-12T22:00:00+00:00``, an absolute URL, words."""
    number: Decimal | None = None
    """Exact number in the unit of the field; seconds for durations, seconds since 1970 for moments."""
    unit: str = ""
    """Unit named in the text: ``EUR``, ``km/h``, ``%``."""


class ValueParseError(MessageError, ValueError):
    """A text does not have the expected value; the message gives the reason."""
