"""What helps a librarian to decide about an item, counted for every item that ends."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from tarantula.models import Item


@dataclass(frozen=True, slots=True)
class Indicators:
    """An item in figures."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that an item breaks."""

    reason: str


def compute(session: Session, item: Item) -> Indicators:
    """Count an item."""
    return Indicators()


def keep_indicators(session: Session, item: Item, indicators: Indicators | None = None) -> list[Fired]:
    """Store the indicators of an item that ended, and return the rules that it breaks."""
    return []
