"""A value of a source while somebody puts it together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.picker.pick import Pick
from tarantula.streams.values import FieldGuess


@dataclass(slots=True)
class DraftField:
    """A value, as it will be followed."""

    title: str
    text: str
    """What it says now."""
    guessed: FieldGuess
    kind: ValueKind | None = None
    """What somebody says it is; as guessed unless said."""
    unit: str | None = None
    """In which somebody wants it; as it is written unless said."""
    pick: Pick | None = None
    place: dict[str, Any] = field(default_factory=dict)
    """Where it is, if nobody pointed at it: in a document that is no page."""
    texts: list[str] = field(default_factory=list)
    """What it says in every row."""
    key: str = ""
    """By which it is known; made of what it is called unless said."""
    aggregation: Aggregation | None = None
    """Which value stands for many; as usual for its kind unless said."""

    @property
    def what(self) -> ValueKind:
        """What it is."""
        return self.kind or self.guessed.kind

    @property
    def in_unit(self) -> str:
        """In which unit it is kept."""
        if self.unit is not None:
            return self.unit
        return self.guessed.unit if self.what == self.guessed.kind else ""
