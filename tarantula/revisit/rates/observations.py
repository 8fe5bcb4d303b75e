"""Observations of pages by visits, and the pairs of successive visits to one page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tarantula.revisit.model import Floats, Ints

Flags = NDArray[np.bool_]

NO_OBSERVATION = 0
"""Face of a visit that ended in an error, which says nothing about the page."""
REDIRECT = 1
GONE = 2
FIRST_BODY = 3
"""Faces from here on are body numbers, equal for equal bytes."""
TEMPORARY_STATES = (408, 425, 429)
"""Statuses that ask to try again and say nothing about the page; other client errors mean that it is gone."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = len("Sun, 06 Nov 1994 08:49:37 GMT")


@dataclass(frozen=True)
class Observations:
    """Successful observations, ordered by page and time, without duplicates."""

    pages: Ints
    times: Floats
    """Seconds since 1970."""
    contents: Ints
    modified: Floats
    """Last-Modified in seconds since 1970; NaN if missing."""
    not_modified: NDArray[np.bool_]
    """Whether the server sent no body because nothing had changed (304)."""

    @classmethod
    def of(cls, pages: Ints, times: Floats, contents: Ints, modified: Floats, not_modified: Flags) -> Self:
        """Sort and filter visits. A capture that was carried over counts at the time of its first observation only."""
        order = np.lexsort((times, pages))
        order = order[contents[order] != NO_OBSERVATION]
        again = np.zeros(len(order), dtype=np.bool_)
        again[1:] = (np.diff(pages[order]) == 0) & (np.diff(times[order]) == 0)
        order = order[~again]
        return cls(pages[order], times[order], contents[order], modified[order], not_modified[order])

    def __len__(self) -> int:
        return len(self.pages)


class VisitPairs(NamedTuple):
    """Pairs of successive visits to one page."""

    pages: Ints
    gaps: Floats
    changed: Flags
    later: Ints
    """Index of the later observation of each pair; the earlier one precedes it."""


def visit_pairs(observations: Observations) -> VisitPairs:
    """Return all pairs of successive observations."""
    later = np.flatnonzero(np.diff(observations.pages, prepend=-1) == 0)
    return VisitPairs(
        observations.pages[later],
        observations.times[later] - observations.times[later - 1],
        observations.contents[later] != observations.contents[later - 1],
        later,
    )


def observed_contents(states: Ints, bodies: Ints) -> Ints:
    """Return the face of each visit: its body number, or a code for a redirect or a page that is gone."""
    contents = np.where((states >= 200) & (states < 300), bodies, NO_OBSERVATION)
    contents = np.where((states >= 300) & (states < 400), REDIRECT, contents)
    return np.where((states >= 400) & (states < 500) & ~np.isin(states, TEMPORARY_STATES), GONE, contents)


def parse_http_dates(dates: Iterable[str | None]) -> Floats:
    """Parse HTTP dates in bulk; return seconds since 1970, NaN for invalid dates."""
    padded = (date if date and len(date) == _DATE and date.isascii() else " " * _DATE for date in dates)
    encoded = np.array(list(padded), dtype=f"S{_DATE}")
    letters = encoded.view(np.uint8).reshape(-1, _DATE).astype(np.int64)

    def number(start: int, end: int) -> Ints:
        digits = letters[:, start:end] - ord("0")
        value = digits @ (10 ** np.arange(end - start)[::-1])
        return np.where(np.all((digits >= 0) & (digits <= 9), axis=1), value, -1)

    names = encoded.astype(f"U{_DATE}").view("U1").reshape(-1, _DATE)[:, 8:11]
    month_names = np.ascontiguousarray(names).view("U3").ravel()
    month = np.full(len(encoded), -1, dtype=np.int64)
    for place, name in enumerate(_MONTHS):
        month[month_names == name] = place
    year, day = number(12, 16), number(5, 7)
    hour, minute, second = number(17, 19), number(20, 22), number(23, 25)
    first = (np.maximum(year, 0) - 1970) * 12 + np.maximum(month, 0)
    days = first.astype("M8[M]").astype("M8[D]").astype(np.int64) + day - 1
    is_date = (year >= 1) & (month >= 0) & (day >= 1) & (day <= 31) & (hour >= 0) & (minute >= 0) & (second >= 0)
    return np.where(is_date, days * 86_400.0 + hour * 3600.0 + minute * 60.0 + second, np.nan)
