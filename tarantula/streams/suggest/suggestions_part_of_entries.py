"""Entries of feeds, and events of calendars."""

from __future__ import annotations

from itertools import islice
from typing import get_args

from tarantula.streams.adapters import feed, ical
from tarantula.streams.adapters.base import Answer
from tarantula.streams.suggest.suggestions_part_suggestion import LONGEST_SAMPLE, MOST_SAMPLES, Suggestion, Suggestions


def of_feed(answer: Answer) -> list[Suggestions]:
    entries = feed.entries_of(answer)[:MOST_SAMPLES]
    fields = [
        Suggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(feed.Part)
        if (texts := [text for one in entries if (text := feed.text_of_part(one, part, answer.url)[:LONGEST_SAMPLE])])
    ]
    return [Suggestions({}, fields, [])] if fields else []


def of_calendar(answer: Answer) -> list[Suggestions]:
    events = list(islice(ical.calendar_of(answer).walk("VEVENT"), MOST_SAMPLES))
    fields = [
        Suggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(ical.Part)
        if (texts := [text for one in events if (text := ical.text_of_part(one, part)[:LONGEST_SAMPLE])])
    ]
    return [Suggestions({}, fields, [])] if fields else []
