"""How long what was read is kept."""

from __future__ import annotations

from enum import IntEnum

from pydantic import BaseModel, ConfigDict


class Grain(IntEnum):
    """How finely history is kept, from single events to years."""

    EVENT = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5


class Retention(BaseModel):
    """Days, and number of rows, after which the oldest of a grain are forgotten; ``None`` keeps them for good."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    days: dict[Grain, float] = {}
    rows: dict[Grain, int] = {}
