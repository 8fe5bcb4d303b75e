"""What there is in an answer that could be followed: for whoever picks, on a page or at a terminal."""

from __future__ import annotations

from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.suggest.suggestions import (
    FieldSuggestion,
    SuggestionGroup,
    key_of,
    suggest_calendar,
    suggest_csv,
    suggest_feed,
    suggest_json,
    suggest_tables,
    suggest_xml,
)

__all__ = ["FieldSuggestion", "SuggestionGroup", "key_of", "suggest"]

_WAYS = {
    "table": suggest_tables,
    "json": suggest_json,
    "xml": suggest_xml,
    "csv": suggest_csv,
    "feed": suggest_feed,
    "ical": suggest_calendar,
}


def suggest(answer: SourceResponse, adapter: str) -> list[SuggestionGroup]:
    """Return suggestions of an adapter, the likeliest first; raise `UnreadableResponse` if it cannot read the
    response."""
    return _WAYS[adapter](answer) if adapter in _WAYS else []
