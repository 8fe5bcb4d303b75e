"""iCalendar adapter: the next events of a calendar, including recurring ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.core.messages import Message
from tarantula.publications.fields import at_least
from tarantula.streams.adapters.base import (
    Adapter,
    AdapterMemory,
    BodyFormat,
    NewsRow,
    ReadRow,
    SourceReading,
    SourceResponse,
    UnreadableResponse,
    check_not_empty,
    mark_missing_fields,
    unseen_rows,
)
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.suggestions import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    DocumentOffer,
    FieldSuggestion,
    RowChoice,
    SuggestionGroup,
)
from tarantula.streams.texts import LONGEST_TEXT, fold_text

if TYPE_CHECKING:
    from icalendar import Calendar, Component

MOST_EVENTS = 5000
MOST_STEPS = 100_000
"""Maximum number of recurrence steps to compute for one calendar."""
LONGEST_WINDOW = 366
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
EventPart = Literal["summary", "start", "end", "location", "description", "url", "uid", "status", "categories"]


class IcalOptions(BaseModel):
    """Options of the `ical` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    rows: Literal["next", "news"] = "next"
    """Rows to read: the next events, or each new event as news."""
    most: Annotated[int, AfterValidator(at_least(1, "The number of events"))] = 1
    """Number of next events; with several, row 1 is the earliest."""
    days: Annotated[int, AfterValidator(at_least(1, "The number of days"))] = 60
    """Days to look ahead, at most a year."""
    words: str = ""
    """Only events with these words in their summary."""


class EventPlace(BaseModel):
    """Part of a calendar event."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    part: EventPart = "summary"
    """Part of each event to read."""


class IcalAdapter(Adapter):
    """Read the next events of a calendar."""

    Options = IcalOptions
    Place = EventPlace

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read the next events, earliest first."""
        options = IcalOptions.model_validate(source.options)
        places = {field.key: EventPlace.model_validate(field.place).part for field in source.fields}
        now = response.at or datetime.now(UTC)
        events = _next_events(parse_calendar(response), now, min(options.days, LONGEST_WINDOW))
        matching = [event for event in events if fold_text(options.words) in fold_text(str(event.get("SUMMARY", "")))]
        texts = [
            {key: text for key, part in places.items() if (text := text_of_part(event, part))} for event in matching
        ]
        if options.rows == "news":
            new = [NewsRow(_identity(event), found) for event, found in zip(matching, texts, strict=True) if found]
            rows, remembered = unseen_rows(new, memory, response)
            return SourceReading(rows, memory=remembered, news=True)
        several = options.most > 1
        rows = [ReadRow(found, str(place) if several else "") for place, found in enumerate(texts[: options.most], 1)]
        reading = SourceReading(rows)
        mark_missing_fields(
            source, reading, Message("No event in the next {days} days has this field.", days=options.days)
        )
        return reading

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Return whether each new event is news."""
        return options.get("rows") == "news"

    def suitability(self, response: SourceResponse) -> int:
        """Accept calendars by media type or by their first line."""
        body = BodyFormat.of(response)
        return 40 if body.media_type == "text/calendar" or body.start.startswith(b"begin:vcalendar") else 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Suggest every part that the first events have."""
        events = list(islice(parse_calendar(response).walk("VEVENT"), MOST_SAMPLES))
        fields = [
            FieldSuggestion(part, part.capitalize(), {"part": part}, texts)
            for part in get_args(EventPart)
            if (texts := [text for one in events if (text := text_of_part(one, part)[:LONGEST_SAMPLE])])
        ]
        return [SuggestionGroup({}, fields, [])] if fields else []

    def offers(self, group: SuggestionGroup) -> Iterator[DocumentOffer]:
        """Offer the next events."""
        yield DocumentOffer(RowChoice.NEXT, group.fields, group.options)


def parse_calendar(response: SourceResponse) -> Calendar:
    """Return a parsed calendar; raise `UnreadableResponse` if it is not one."""
    from icalendar import Calendar

    check_not_empty(response)
    if b"BEGIN:VCALENDAR" not in response.body[:10_000].upper():
        raise UnreadableResponse("This is not a calendar: it does not begin with BEGIN:VCALENDAR.")
    if response.body.upper().count(b"BEGIN:VEVENT") > MOST_EVENTS:
        raise UnreadableResponse("The calendar has more than {limit:,} events.", limit=MOST_EVENTS)
    try:
        return Calendar.from_ical(response.body)
    except (ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise UnreadableResponse("The calendar cannot be read: {error}.", error=str(error)[:200]) from error


def _next_events(calendar: Calendar, now: datetime, days: int) -> list[Component]:
    from recurring_ical_events import of

    end = now + timedelta(days=days)
    steps = 0
    for event in list(calendar.walk("VEVENT")):
        steps += _steps(event, end)
        if steps > MOST_STEPS:
            raise UnreadableResponse("The events of the calendar recur too often.")
    try:
        found = of(calendar, skip_bad_series=True).between(now, end)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise UnreadableResponse("The calendar cannot be read: {error}.", error=str(error)[:200]) from error
    return sorted(found, key=lambda event: (_moment(event), str(event.get("UID", ""))))


def _steps(event: Component, end: datetime) -> int:
    """Return how many recurrence steps an event needs until *end*."""
    rules = event.get("RRULE")
    if rules is None:
        return 0
    try:
        days = max((end - _moment(event)).days, 1)
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError):
        return 0
    return sum(_rule_steps(rule, days) for rule in (rules if isinstance(rules, list) else [rules]))


def _rule_steps(rule: Any, days: int) -> int:
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    never_advances = any(int(interval) < 1 for interval in rule.get("INTERVAL") or [])
    if frequency not in ("DAILY", "WEEKLY", "MONTHLY", "YEARLY") or never_advances or _selects_no_day(rule, frequency):
        return MOST_STEPS + 1
    times = 1
    for part in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        times *= max(len(rule.get(part) or []), 1)
    return max(days // (7 if frequency == "WEEKLY" else 1), 1) * times


def _selects_no_day(rule: Any, frequency: str) -> bool:
    """Whether a rule may select only days that do not exist, so that expanding it would not end."""
    if frequency in ("DAILY", "WEEKLY") and any(part in rule for part in ("BYYEARDAY", "BYWEEKNO", "BYSETPOS")):
        return True
    months, days = rule.get("BYMONTH") or [], rule.get("BYMONTHDAY") or []
    return bool(months and days) and all(
        abs(int(day)) > _LONGEST_MONTHS[(int(month) - 1) % 12] for month in months for day in days
    )


def _moment(event: Component) -> datetime:
    start = event.get("DTSTART").dt
    if not isinstance(start, datetime):
        start = datetime.combine(start, time())
    return start if start.tzinfo is not None else start.replace(tzinfo=UTC)


def _identity(event: Component) -> str:
    return f"{event.get('UID', '')}\n{_moment(event).isoformat()}"


def text_of_part(event: Component, part: EventPart) -> str:
    """Return one part of an event as text."""
    if part in ("start", "end"):
        moment: Any = getattr(event.get("DTSTART" if part == "start" else "DTEND"), "dt", None)
        return moment.isoformat() if isinstance(moment, date) else ""
    value = event.get(part.upper())
    if part == "categories" and value is not None:
        lists = value if isinstance(value, list) else [value]
        return ", ".join(str(name) for one in lists for name in getattr(one, "cats", [one]))[:LONGEST_TEXT]
    return " ".join(str(value).split())[:LONGEST_TEXT] if value is not None else ""
