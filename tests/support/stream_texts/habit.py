"""One way in which a page writes its values, and the time of reading."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tarantula.streams.kinds import ValueKind

NOW = datetime(2026, 6, 14, 12, 0, tzinfo=ZoneInfo("Europe/Lisbon"))


class Habit(NamedTuple):
    """One way in which a page writes its values."""

    where: str
    kind: ValueKind
    unit: str
    history: tuple[str, str, str, str, str]
    texts: dict[str, str]
    """Value of each text."""
