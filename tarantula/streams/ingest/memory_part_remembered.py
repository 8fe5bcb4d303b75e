"""What is remembered of a source from one reading to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tarantula.streams.adapters.base import AdapterMemory
from tarantula.streams.ingest.memory import OutlierRun, UsualRange
from tarantula.streams.values.numbers_part_histories import informative_texts


@dataclass(slots=True)
class SourceMemory:
    """One part for each that has something to remember; kept as JSON in the source's state."""

    adapter: AdapterMemory = field(default_factory=dict)
    """What the adapter wants to know next time."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Different texts of each field, from which its way of writing is told."""
    last: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    """The last value of each field and row, and the text that it was read from where that differs."""
    usual: dict[str, dict[str, UsualRange]] = field(default_factory=dict)
    runs: dict[str, dict[str, OutlierRun]] = field(default_factory=dict)
    """Readings in a row that were far outside."""
    guessed: list[str] = field(default_factory=list)
    """Fields whose kind nobody chose."""
    rows: list[str] = field(default_factory=list)
    """The names of the rows that were there when it was read last, in their order; nothing if they have none."""
    news: bool = False
    """Whether each row is news, and none stays."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> SourceMemory:
        """Read what was stored; it may be changed in place, for the row is given a new one."""
        return cls(**{part.name: _copied(stored[part.name]) for part in fields(cls) if part.name in stored})

    def as_json(self) -> dict[str, Any]:
        """Return it for the row, without what is empty."""
        return {part.name: value for part in fields(self) if (value := getattr(self, part.name))}

    def note_text(self, key: str, text: str) -> None:
        """Add to the texts from which a field's way of writing is told."""
        texts = self.texts.get(key, [])
        if text not in texts:
            self.texts[key] = informative_texts(texts, text)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value
