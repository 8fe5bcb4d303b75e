"""Entries of feeds, and events of calendars."""

from __future__ import annotations

from itertools import islice
from typing import get_args

from tarantula.streams.adapters import feed, ical
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.suggest.suggestions_part_suggestion import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    FieldSuggestion,
    SuggestionGroup,
)


def suggest_feed(answer: SourceResponse) -> list[SuggestionGroup]:
    entries = feed.entries_of(answer)[:MOST_SAMPLES]
    fields = [
        FieldSuggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(feed.FeedPart)
        if (texts := [text for one in entries if (text := feed.text_of_part(one, part, answer.url)[:LONGEST_SAMPLE])])
    ]
    return [SuggestionGroup({}, fields, [])] if fields else []


def suggest_calendar(answer: SourceResponse) -> list[SuggestionGroup]:
    events = list(islice(ical.parse_calendar(answer).walk("VEVENT"), MOST_SAMPLES))
    fields = [
        FieldSuggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(ical.EventPart)
        if (texts := [text for one in events if (text := ical.text_of_part(one, part)[:LONGEST_SAMPLE])])
    ]
    return [SuggestionGroup({}, fields, [])] if fields else []
