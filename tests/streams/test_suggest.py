"""Suggested fields of a response."""

from __future__ import annotations

import pytest

from tarantula.streams.adapters import adapter_named
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.suggestions import SuggestionGroup
from tests.streams.test_adapter_feed import item, rss
from tests.streams.test_adapter_ical import CALENDAR
from tests.streams.test_adapter_services import LINES, RATES, WEATHER
from tests.streams.test_adapter_table import LEAGUE
from tests.support.stream_answers import URL, reading, source

BODIES = {
    "table": LEAGUE,
    "json": WEATHER,
    "xml": RATES.replace("ISO-8859-1", "utf-8"),
    "csv": LINES,
    "feed": rss(item(1), item(2)),
    "ical": CALENDAR,
}


def suggested(adapter: str) -> list[SuggestionGroup]:
    return adapter_named(adapter).suggest(SourceResponse(URL, BODIES[adapter].encode()))


@pytest.mark.parametrize("adapter", BODIES)
def test_every_suggestion_can_be_read(adapter: str) -> None:
    for offer in suggested(adapter):
        assert offer.fields
        places = {field.key: field.place for field in offer.fields}
        assert len(places) == len(offer.fields)
        got = reading(source(adapter, places, **offer.options), BODIES[adapter])
        found = {key for row in got.rows for key in row.texts}
        assert found == places.keys() - (got.missing.keys() if adapter in ("csv", "ical") else set())


def test_titles_and_rows_of_the_largest_table_come_first() -> None:
    first = suggested("table")[0]
    assert [field.title for field in first.fields] == ["#", "Equipa", "Pts", "Golos Marcados", "Golos Sofridos"]
    assert [field.key for field in first.fields] == ["field", "equipa", "pts", "golos_marcados", "golos_sofridos"]
    assert first.fields[2].samples == ["31", "29", "28"]
    assert first.rows == ["Sporting", "Porto", "Benfica"]


def test_single_values_and_lists_of_json_are_both_offered() -> None:
    single, rows = suggested("json")
    assert [field.place["path"] for field in single.fields][:4] == ["main.temp", "main.wind", "main.note", "big"]
    assert rows.options == {"rows": "quotes"}
    assert [(field.key, field.samples) for field in rows.fields][:2] == [
        ("s", ["EDP", "GALP", "NOS"]),
        ("p", ["3.5", "17.25"]),
    ]


def test_json_keys_with_special_characters_are_quoted() -> None:
    answer = SourceResponse(URL, b'{"a b": {"c-d": 1}}')
    assert adapter_named("json").suggest(answer)[0].fields[0].place == {"path": '"a b"."c-d"'}


def test_suggestions_reject_other_formats() -> None:
    with pytest.raises(UnreadableResponse, match="not JSON"):
        adapter_named("json").suggest(SourceResponse(URL, b"<p>"))
    assert adapter_named("table").suggest(SourceResponse(URL, b"<p>no table</p>")) == []
