"""Retention: how long events and their summaries by minute, hour, day, month and year are kept."""

from __future__ import annotations

import re
from enum import IntEnum
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, model_validator

from tarantula.core.messages import Message, did_you_mean
from tarantula.core.times import format_duration, parse_duration

FOREVER = "forever"
YEAR_SECONDS = 365 * 86_400
MOST_KEPT_ROWS = 10**12
_YEARS = re.compile(r"(\d{1,3})\s*y(?:ears?)?", re.IGNORECASE | re.ASCII)
_ROWS = re.compile(r"(\d{1,13})\s*rows?", re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(r"\s*(?:,|\+|\bor\b)\s*")


class Grain(IntEnum):
    """Granularity of history, from single events to years."""

    EVENT = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5

    @property
    def plural(self) -> str:
        """Plural in lower case: events, minutes."""
        return f"{self.name.lower()}s"

    def counted(self, number: int) -> str:
        """Return a count with its noun: 1 event, 2,000 minutes."""
        return f"1 {self.name.lower()}" if number == 1 else f"{number:,} {self.plural}"


class RetentionLimit(NamedTuple):
    """Age and number after which the oldest rows are deleted; ``None`` is unlimited."""

    seconds: int | None = None
    """Maximum age."""
    rows: int | None = None
    """Maximum number of rows of one series."""

    def __str__(self) -> str:
        parts = [] if self.seconds is None else [_format_seconds(self.seconds)]
        parts += [] if self.rows is None else [f"{self.rows}rows"]
        return ",".join(parts) or FOREVER

    @property
    def description(self) -> str:
        """Description in words."""
        parts = [] if self.seconds is None else [f"for {_format_seconds(self.seconds)}"]
        parts += [] if self.rows is None else [f"the last {self.rows:,}"]
        return " and at most ".join(parts) or "for good"


def parse_limit(value: object) -> RetentionLimit:
    """Parse ``30d``, ``1y``, ``100000rows``, both separated by a comma, or ``forever``."""
    if isinstance(value, RetentionLimit):
        return value
    text = str(value).strip().lower()
    limit = RetentionLimit()
    for part in [] if text == FOREVER else _BETWEEN.split(text):
        limit = _add_part(limit, part, text)
    return limit


def _add_part(limit: RetentionLimit, part: str, text: str) -> RetentionLimit:
    if rows := _ROWS.fullmatch(part):
        if not 0 < int(rows[1]) <= MOST_KEPT_ROWS:
            raise ValueError(Message("{part!r}: keep at least one row, or write {limit}.", part=part, limit=FOREVER))
        return limit._replace(rows=int(rows[1]))
    years = _YEARS.fullmatch(part)
    try:
        seconds = parse_duration(f"{int(years[1]) * 365}d" if years else part)
    except ValueError:
        seconds = None
    if seconds is None:
        raise ValueError(
            Message(
                "{text!r} is not a retention limit. Write it as 30d, 1y, 100000rows, 30d,100000rows or {limit}.",
                text=text[:40],
                limit=FOREVER,
            )
        )
    return limit._replace(seconds=seconds)


RetentionField = Annotated[RetentionLimit, PlainValidator(parse_limit), PlainSerializer(str, return_type=str)]


class Retention(BaseModel):
    """Limits for events and for aggregates by minute, hour, day, month and year."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    events: RetentionField = RetentionLimit(YEAR_SECONDS)
    """Single events."""
    minutes: RetentionField = RetentionLimit(YEAR_SECONDS)
    """Aggregates by minute."""
    hours: RetentionField = RetentionLimit()
    """Aggregates by hour."""
    days: RetentionField = RetentionLimit()
    """Aggregates by day."""
    months: RetentionField = RetentionLimit()
    """Aggregates by month."""
    years: RetentionField = RetentionLimit()
    """Aggregates by year."""

    def of(self, grain: Grain) -> RetentionLimit:
        """Return the limit of one grain."""
        limit: RetentionLimit = getattr(self, grain.plural)
        return limit

    def __str__(self) -> str:
        return " ".join(f"{grain.plural}={self.of(grain)}" for grain in Grain)

    @property
    def sentence(self) -> str:
        """All limits, in words."""
        return "; ".join(f"{grain.plural} {self.of(grain).description}" for grain in Grain)

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, value: Any) -> Any:
        return parse_retention(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        for finer, coarser in pairwise(Grain):
            above, under = self.of(coarser), self.of(finer)
            if above.seconds is None or (under.seconds is None and under.rows is not None):
                continue
            if under.seconds is None or under.seconds > above.seconds:
                raise ValueError(
                    Message(
                        "{Coarser} would be deleted sooner than {finer}, "
                        "from which they are built. Keep {coarser} at least as long.",
                        Coarser=coarser.plural.capitalize(),
                        finer=finer.plural,
                        coarser=coarser.plural,
                    )
                )
        return self


def parse_retention(text: str) -> dict[str, str]:
    """Parse ``events=30d minutes=1y hours=forever``; grains that are not named keep their default."""
    limits, known = dict[str, str](), [grain.plural for grain in Grain]
    for word in text.replace(";", " ").split():
        name, equals, limit = word.partition("=")
        if not equals or name.lower() not in known:
            near = did_you_mean(name, known)
            raise ValueError(
                Message(
                    "{word!r} is not a retention setting.{hint} Write it as events=30d minutes=1y.",
                    word=word[:40],
                    hint=near,
                )
            )
        limits[name.lower()] = limit
    return limits


def _format_seconds(seconds: int) -> str:
    return f"{seconds // YEAR_SECONDS}y" if seconds % YEAR_SECONDS == 0 else format_duration(seconds)
