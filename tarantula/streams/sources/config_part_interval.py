"""How often a source is read, as people write it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from tarantula.core.times import parse_duration

SHORTEST_INTERVAL_SECONDS = 1.0
"""Seconds."""
LONGEST_INTERVAL_SECONDS = 366 * 86400
INTERVAL_ERROR = "The interval has to be between a second and a year: write seconds, or 30s, 5m, 2h, 1d."


def _read_interval(value: object) -> object:
    """Read seconds, or as people write them: 5m."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return _duration(str(value))


def _duration(text: str) -> float:
    try:
        return float(parse_duration(text) or 0)
    except ValueError:
        raise ValueError(INTERVAL_ERROR) from None


def _check_interval(seconds: float) -> float:
    if not SHORTEST_INTERVAL_SECONDS <= seconds <= LONGEST_INTERVAL_SECONDS:
        raise ValueError(INTERVAL_ERROR)
    return seconds


IntervalSeconds = Annotated[float, BeforeValidator(_read_interval), AfterValidator(_check_interval)]
