"""Adapters of an installation: by a name in the settings, or by import path."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tarantula.core.errors import TarantulaError
from tarantula.core.registry import ComponentError
from tarantula.streams.adapters import ADAPTERS, SETTING, adapter_named, adapter_names, has_news
from tarantula.streams.adapters.base import Adapter, AdapterMemory, ReadRow, SourceReading, SourceResponse
from tarantula.streams.picker.draft import adapter_for_response, offers_of
from tarantula.streams.sources.config import SourceConfig, parse_source
from tarantula.streams.suggestions import FieldSuggestion, RowChoice, SuggestionGroup
from tests.support.stream_answers import URL

PATH = f"{__name__}.LineAdapter"
RESPONSE = SourceResponse(URL, b"first\nsecond\n", "text/x-lines")


class LineOptions(BaseModel):
    """No options."""


class LinePlace(BaseModel):
    """Number of the line."""

    line: int = 1


class LineAdapter(Adapter):
    """Read lines of a text by number."""

    Options = LineOptions
    Place = LinePlace

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        lines = response.body.decode().splitlines()
        return SourceReading([ReadRow({one.key: lines[one.place.get("line", 1) - 1] for one in source.fields})])

    def suitability(self, response: SourceResponse) -> int:
        return 100 if response.content_type == "text/x-lines" else 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        lines = response.body.decode().splitlines()
        fields = [FieldSuggestion(f"line_{n}", line, {"line": n}, [line]) for n, line in enumerate(lines, 1)]
        return [SuggestionGroup({}, fields, [])]


def line_source(adapter: str) -> SourceConfig:
    field = {"key": "value", "place": {"line": 2}}
    return parse_source({"name": "test.lines", "url": URL, "adapter": adapter, "fields": [field]})


def read_value(config: SourceConfig) -> str:
    return adapter_named(config.adapter).read(RESPONSE, config, {}).rows[0].texts["value"]


def test_a_source_names_an_adapter_by_import_path() -> None:
    assert read_value(line_source(PATH)) == "second"


def test_an_adapter_has_a_name_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, f"lines={PATH}")

    assert adapter_names() == [*ADAPTERS, "lines"]
    assert read_value(line_source("lines")) == "second"
    assert adapter_named("page").has_elements


def test_the_picker_offers_what_a_registered_adapter_suggests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, f"lines={PATH}")

    assert adapter_for_response(RESPONSE) == "lines"
    (offer,) = offers_of(RESPONSE)
    assert (offer.adapter, offer.rows) == ("lines", RowChoice.ONE)
    assert [value.title for value in offer.values] == ["first", "second"]


def test_places_are_checked_by_the_adapter() -> None:
    with pytest.raises(TarantulaError, match="The place of value is invalid"):
        parse_source({**line_source(PATH).model_dump(), "fields": [{"key": "value", "place": {"line": "two"}}]})


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        ("lines", "There is no adapter lines"),
        ("no.such.Adapter", "There is no adapter no.such.Adapter"),
        ("pathlib.Path", "is not a subclass of"),
    ],
)
def test_an_adapter_that_cannot_be_used_is_named_when_a_source_is_saved(adapter: str, message: str) -> None:
    with pytest.raises(TarantulaError, match=message):
        line_source(adapter)


def test_a_setting_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, PATH)

    with pytest.raises(ComponentError, match="Write it as name="):
        adapter_names()


@pytest.mark.parametrize(
    ("adapter", "options", "expected"),
    [
        ("page", {}, False),
        ("table", {}, False),
        ("blocks", {}, True),
        ("blocks", {"key": "name"}, False),
        ("feed", {}, True),
        ("json", {}, False),
        ("json", {"rows": "list"}, True),
        ("json", {"rows": "list", "key": "name"}, False),
        ("xml", {"rows": "//row"}, True),
        ("csv", {}, False),
        ("csv", {"rows": "news"}, True),
        ("ical", {"rows": "news"}, True),
        ("ical", {}, False),
        ("no.longer.Installed", {}, False),
    ],
)
def test_adapters_declare_whether_their_rows_are_news(adapter: str, options: dict[str, str], expected: bool) -> None:
    assert has_news(adapter, options) is expected
