"""What visits saw of pages, and what two visits in a row say of the time between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tarantula.revisit.model import Floats, Ints

Flags = NDArray[np.bool_]

NO_OBSERVATION = 0
"""What a visit saw that ended in an error: it says something of the way to the page, and nothing of the page."""
REDIRECT = 1
GONE = 2
FIRST_BODY = 3
"""From here on each number is a body, the same for the same bytes."""
TEMPORARY_STATES = (408, 425, 429)
"""Answers that say to come again, and nothing of the page; what a server refuses otherwise is gone."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = len("Sun, 06 Nov 1994 08:49:37 GMT")


@dataclass(frozen=True)
class Observations:
    """Visits that saw something, page by page, in the order of their times; each moment once."""

    pages: Ints
    times: Floats
    """Seconds since 1970."""
    faces: Ints
    modified: Floats
    """What Last-Modified said, in seconds since 1970; not a number where it said nothing."""
    unsent: NDArray[np.bool_]
    """Where the server sent nothing, for it said that nothing had changed."""

    @classmethod
    def of(cls, pages: Ints, times: Floats, faces: Ints, modified: Floats, unsent: Flags) -> Self:
        """Take visits in any order. A page that is carried over was seen when it was seen first, and not again."""
        order = np.lexsort((times, pages))
        order = order[faces[order] != NO_OBSERVATION]
        again = np.zeros(len(order), dtype=np.bool_)
        again[1:] = (np.diff(pages[order]) == 0) & (np.diff(times[order]) == 0)
        order = order[~again]
        return cls(pages[order], times[order], faces[order], modified[order], unsent[order])

    def __len__(self) -> int:
        return len(self.pages)


class VisitPairs(NamedTuple):
    """Two visits in a row to one page each."""

    pages: Ints
    gaps: Floats
    changed: Flags
    later: Ints
    """Which of the sights the second one is; the first is the one before it."""


def visit_pairs(sights: Observations) -> VisitPairs:
    """Return what was seen twice in a row."""
    later = np.flatnonzero(np.diff(sights.pages, prepend=-1) == 0)
    return VisitPairs(
        sights.pages[later],
        sights.times[later] - sights.times[later - 1],
        sights.faces[later] != sights.faces[later - 1],
        later,
    )


def observed_faces(states: Ints, bodies: Ints) -> Ints:
    """Return what visits saw: of a page its body, numbered from `FIRST_BODY`, and where it led or that it was gone."""
    faces = np.where((states >= 200) & (states < 300), bodies, NO_OBSERVATION)
    faces = np.where((states >= 300) & (states < 400), REDIRECT, faces)
    return np.where((states >= 400) & (states < 500) & ~np.isin(states, TEMPORARY_STATES), GONE, faces)


def parse_http_dates(dates: Iterable[str | None]) -> Floats:
    """Read dates as HTTP writes them, many at a time; what is none becomes not a number."""
    usable = (date if date and len(date) == _DATE and date.isascii() else " " * _DATE for date in dates)
    written = np.array(list(usable), dtype=f"S{_DATE}")
    letters = written.view(np.uint8).reshape(-1, _DATE).astype(np.int64)

    def number(start: int, end: int) -> Ints:
        digits = letters[:, start:end] - ord("0")
        value = digits @ (10 ** np.arange(end - start)[::-1])
        return np.where(np.all((digits >= 0) & (digits <= 9), axis=1), value, -1)

    names = written.astype(f"U{_DATE}").view("U1").reshape(-1, _DATE)[:, 8:11]
    joined = np.ascontiguousarray(names).view("U3").ravel()
    month = np.full(len(written), -1, dtype=np.int64)
    for place, name in enumerate(_MONTHS):
        month[joined == name] = place
    year, day = number(12, 16), number(5, 7)
    hour, minute, second = number(17, 19), number(20, 22), number(23, 25)
    first = (np.maximum(year, 0) - 1970) * 12 + np.maximum(month, 0)
    days = first.astype("M8[M]").astype("M8[D]").astype(np.int64) + day - 1
    is_date = (year >= 1) & (month >= 0) & (day >= 1) & (day <= 31) & (hour >= 0) & (minute >= 0) & (second >= 0)
    return np.where(is_date, days * 86_400.0 + hour * 3600.0 + minute * 60.0 + second, np.nan)
