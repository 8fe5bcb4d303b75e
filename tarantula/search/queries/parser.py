"""Parser of search queries: words, phrases, alternatives, exclusions and filters.

Every text is a valid query: unknown syntax is searched as words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from unicodedata import normalize

from tarantula.core.messages import Message
from tarantula.core.urls import canonical

MOST_WORDS = 64
"""Most words of a query; further words are dropped with a note."""
LONGEST_QUERY = 200_000
"""Most characters of a query that are parsed."""

_TOKEN = re.compile(r'(?P<minus>-?)(?:(?P<filter>[a-z]+):(?=\S))?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
TEXT_FILTERS = frozenset({"title", "url"})
VALUE_FILTERS = frozenset({"site", "type", "lang", "publication"})
TIME_FILTERS = frozenset({"before", "after"})


@dataclass(frozen=True, slots=True)
class QueryWords:
    """A word, or the words of a phrase."""

    text: str
    is_phrase: bool = False
    field: str = ""
    """``title`` or ``url``; empty for all fields."""


@dataclass(slots=True)
class ParsedQuery:
    """A parsed query."""

    required: list[list[QueryWords]] = field(default_factory=list)
    """Groups of alternatives; each group must match."""
    excluded: list[QueryWords] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    """Values by filter; one of them must match."""
    excluded_values: dict[str, list[str]] = field(default_factory=dict)
    """Excluded values by filter."""
    links_to: list[str] = field(default_factory=list)
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user on parts that were ignored or reinterpreted."""

    @property
    def is_empty(self) -> bool:
        """Whether the query matches nothing in particular."""
        return not (self.required or self.values or self.links_to or self.since or self.until)

    @property
    def includes_past(self) -> bool:
        """Whether earlier captures are searched as well."""
        return self.since is not None or self.until is not None


def parse_query(text: str) -> ParsedQuery:
    """Parse the text of a query."""
    parsed = ParsedQuery()
    is_alternative = False
    number = 0
    # Compose accents that were typed as separate characters.
    for token in _TOKEN.finditer(_CONTROL.sub(" ", normalize("NFC", text[:LONGEST_QUERY]))):
        if token["word"] == "OR" and not token["minus"] and not token["filter"]:
            is_alternative = bool(parsed.required)
            continue
        number += 1
        if number > MOST_WORDS:
            parsed.notes.append(Message("Only the first {limit} words are searched for.", limit=MOST_WORDS))
            break
        _take(parsed, token, is_alternative)
        is_alternative = False
    return parsed


def _take(parsed: ParsedQuery, token: re.Match[str], is_alternative: bool) -> None:
    name, is_phrase = token["filter"] or "", token["phrase"] is not None
    text = (token["phrase"] if is_phrase else token["word"]).strip()
    # Punctuation is not indexed.
    if not any(map(str.isalnum, text)):
        return
    if name and _filter(parsed, name, text, bool(token["minus"])):
        return
    if name and name not in TEXT_FILTERS:
        text, name = f"{name}:{text}", ""
    words = QueryWords(text, is_phrase, name)
    if token["minus"]:
        parsed.excluded.append(words)
    elif is_alternative:
        parsed.required[-1].append(words)
    else:
        parsed.required.append([words])


def _filter(parsed: ParsedQuery, name: str, value: str, is_excluded: bool) -> bool:
    """Apply a filter; return whether it was a valid one."""
    if name in VALUE_FILTERS:
        (parsed.excluded_values if is_excluded else parsed.values).setdefault(name, []).append(value.lower())
        return True
    if name == "link" and not is_excluded and (url := canonical(value if "://" in value else f"http://{value}")):
        parsed.links_to.append(url)
        return True
    if name in TIME_FILTERS and not is_excluded:
        return _time(parsed, name, value)
    return False


def _time(parsed: ParsedQuery, name: str, value: str) -> bool:
    begin, end = date_span(value) or (None, None)
    if begin is None or end is None:
        parsed.notes.append(Message("{value!r} is not a date. Write it as 2026, 2026-06 or 2026-06-12.", value=value))
        return True
    if name == "before":
        parsed.until = min(parsed.until or begin, begin)
    else:
        parsed.since = max(parsed.since or end, end)
    return True


def date_span(text: str) -> tuple[datetime, datetime] | None:
    """Return the start and end of a year, month or day; None if it is not a valid date."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    try:
        begin = date(year, month or 1, day or 1)
    except ValueError:
        return None
    return _midnight(begin), _midnight(_end_of(begin, month, day))


def _end_of(begin: date, month: int | None, day: int | None) -> date:
    try:
        if day:
            return begin + timedelta(days=1)
        is_last = month in (None, 12)
        return date(begin.year + is_last, 1 if is_last else begin.month + 1, 1)
    except (ValueError, OverflowError):
        return date.max


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
