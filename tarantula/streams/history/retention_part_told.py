"""What is kept of a series, and what was forgotten, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.streams.history.retention import moment_of
from tarantula.streams.sources.retention import Grain
from tarantula.tables.publications import Event, Forgotten, Level

SPARKLINE_BARS = "▁▂▃▄▅▆▇█"
MAX_SPARKLINE_SPREAD = 1e300


class RowRange(NamedTuple):
    """How many rows of a grain there are, from when to when."""

    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RetentionSummary:
    """What is there of a series, and what no more."""

    kept: dict[Grain, RowRange]
    forgotten: dict[Grain, Forgotten]

    @property
    def sentences(self) -> list[str]:
        """The same in words."""
        lines = [
            f"{grain.counted(one.rows)}, from {_day(moment_of(one.first))} to {_day(moment_of(one.last))}."
            for grain, one in self.kept.items()
        ]
        for grain, noted in self.forgotten.items():
            before = _day(moment_of(noted.before))
            lines.append(f"Forgotten: {grain.counted(noted.rows)} before {before}, on {_day(noted.at)}.")
            if noted.refused:
                lines.append(f"Refused, because they came too late: {Grain.EVENT.counted(noted.refused)}.")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The same for a program."""
        kept = {
            grain.plural: {"rows": one.rows, "first": _iso(one.first), "last": _iso(one.last)}
            for grain, one in self.kept.items()
        }
        forgotten = {
            grain.plural: {
                "rows": one.rows, "before": _iso(one.before), "at": one.at.isoformat(), "refused": one.refused
            }
            for grain, one in self.forgotten.items()
        }  # fmt: skip
        return {"rows": kept, "forgotten": forgotten}


def retention_summary(session: Session, series_id: int) -> RetentionSummary:
    """Count the rows of every grain, and return what was noted when others were forgotten."""
    kept = dict[Grain, RowRange]()
    counted = select(func.count(), func.min(Event.at), func.max(Event.at)).where(Event.series_id == series_id)
    number, first, last = session.execute(counted).one()
    if number:
        kept[Grain.EVENT] = RowRange(number, first, last)
    rows = session.execute(
        select(Level.grain, func.count(), func.min(Level.start), func.max(Level.start))
        .where(Level.series_id == series_id)
        .group_by(Level.grain)
        .order_by(Level.grain)
    )
    kept |= {Grain(grain): RowRange(number, first, last) for grain, number, first, last in rows}
    noted = session.scalars(select(Forgotten).where(Forgotten.series_id == series_id).order_by(Forgotten.grain))
    return RetentionSummary(kept, {Grain(one.grain): one for one in noted})


def sparkline(numbers: Sequence[float | None]) -> str:
    """Draw numbers as a line of bars; a gap where there is none."""
    numbers = [None if number is None or not math.isfinite(number) else number for number in numbers]
    there = [number for number in numbers if number is not None]
    if not there:
        return ""
    least, most = min(there), max(there)
    height = (len(SPARKLINE_BARS) - 1) / (most - least) if least < most < least + MAX_SPARKLINE_SPREAD else 0.0
    return "".join(" " if number is None else SPARKLINE_BARS[round((number - least) * height)] for number in numbers)


def _day(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _iso(at: int) -> str:
    return moment_of(at).isoformat()
