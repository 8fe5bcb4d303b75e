"""What there is in an answer that could be followed: for whoever picks, on a page or at a terminal."""

from __future__ import annotations

from tarantula.streams.adapters.base import Answer
from tarantula.streams.suggest.suggestions import of_json, of_xml
from tarantula.streams.suggest.suggestions_part_of_entries import of_calendar, of_feed
from tarantula.streams.suggest.suggestions_part_of_tables import of_csv, of_tables
from tarantula.streams.suggest.suggestions_part_suggestion import Suggestion, Suggestions, key_of

__all__ = ["Suggestion", "Suggestions", "key_of", "suggest"]

_WAYS = {
    "table": of_tables,
    "json": of_json,
    "xml": of_xml,
    "csv": of_csv,
    "feed": of_feed,
    "ical": of_calendar,
}


def suggest(answer: Answer, adapter: str) -> list[Suggestions]:
    """Return what an adapter could read of an answer, the likeliest first; raise `CannotRead` if it is not for it."""
    return _WAYS[adapter](answer) if adapter in _WAYS else []
