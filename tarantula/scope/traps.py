"""Is it the next page of a calendar that has no last one?"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from tarantula.core.states import DocumentState
from tarantula.scope.rule_part_candidate import Candidate
from tarantula.scope.rule_part_verdict import Verdict, refuse
from tarantula.scope.traps_part_steps import StepCounter

MAX_YEARS_AHEAD = 10
"""Years from now; nothing that already happened, or is announced, lies beyond."""
MAX_CALENDAR_STEPS = 60
"""Steps from date to date in a row. Archives have shorter ways to their dates than turning sixty pages."""
REMEMBERED_PARAMETERS = 4096
"""Names of parameters."""

_YEAR = r"(?P<year>[12][0-9]{3})"
_MONTH, _DAY = "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_WRITTEN = re.compile(rf"(?<![0-9]){_YEAR}([-/_]){_MONTH}(?:\2{_DAY})?(?![0-9])")
# Only a name can tell 20450112, the date, from 20450112, the number of an article.
_NAME = re.compile("date|data|datum|day|dia|jour|month|mes|monat|mois|year|ano|annee|jahr|week|time|cal", re.IGNORECASE)
_OF_A_YEAR = re.compile(rf"{_YEAR}(?:(?:[-/_.]|%2F)?[0-9]{{1,2}}){{0,2}}", re.IGNORECASE)
_DATE = "#"
"""What stands for a date: no canonical URL has one."""


class _Dated(NamedTuple):
    """A URL without its date."""

    mask: str
    start: str
    """What comes before the date."""
    end: str
    """What comes behind it, or behind the last of several."""
    year: int | None


class CalendarWithoutEnd:
    """Refuses what a page names that differs only in its date: too many in a row, or years that nobody plans for."""

    def __init__(
        self, steps: int = MAX_CALENDAR_STEPS, ahead: int = MAX_YEARS_AHEAD, this_year: int | None = None
    ) -> None:
        self._most = steps
        self._last_year = (this_year or datetime.now(UTC).year) + ahead
        self._steps = StepCounter()
        self._naming: tuple[str, _Dated | None] = ("", None)

    def judge(self, candidate: Candidate) -> Verdict | None:
        """Refuse it, or have no opinion."""
        via, naming = self._naming
        if candidate.via != via:
            via, naming = self._naming = candidate.via, _dated(candidate.via)
        url = candidate.url
        if naming is None or not (url.startswith(naming.start) and url.endswith(naming.end)):
            return None
        dated = _dated(url)
        if dated is None or dated.mask != naming.mask or url == via:
            return None
        steps = self._steps.take(via, url)
        if steps > self._most:
            return self._refuse(f"It is {steps} steps from date to date away, and {self._most} is the limit.")
        if dated.year is not None and dated.year > self._last_year:
            return self._refuse(f"It is a calendar's page for {dated.year}, and {self._last_year} is the limit.")
        return None

    def _refuse(self, reason: str) -> Verdict:
        return refuse(self, DocumentState.OVER_LIMIT, reason)


def _dated(url: str) -> _Dated | None:
    year = None
    if written := _WRITTEN.search(url):
        year = int(written["year"])
        url = f"{url[: written.start()]}{_DATE}{url[written.end() :]}"
    address, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    for place, parameter in enumerate(parameters):
        name, equals, value = parameter.partition("=")
        if equals and _names_a_date(name):
            found = _OF_A_YEAR.fullmatch(value)
            year = year or (int(found["year"]) if found else None)
            parameters[place] = f"{name}={_DATE}"
    mask = "?".join([address, "&".join(parameters)] if parameters else [address])
    start, date, _ = mask.partition(_DATE)
    return _Dated(mask, start, mask.rpartition(_DATE)[2], year) if date else None


@lru_cache(REMEMBERED_PARAMETERS)
def _names_a_date(name: str) -> bool:
    return _NAME.search(name) is not None
