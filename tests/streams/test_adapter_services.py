"""The JSON, XML and CSV adapters."""

from __future__ import annotations

from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.adapters.base import UnreadableResponse
from tests.support.stream_answers import reading, source, texts

WEATHER = """{"main": {"temp": 21.40, "wind": 0, "rain": null, "note": "  dry  "}, "big": 12345678901234567890,
"quotes": [{"s": "EDP", "p": 3.5, "t": ["a", "b"]}, {"s": "GALP", "p": 17.25}, {"s": "NOS"}]}"""
RATES = """<?xml version="1.0" encoding="ISO-8859-1"?><g:Envelope xmlns:g="urn:g" xmlns="urn:r"><Cube>
<Cube currency="USD" rate="1.08"/><Cube currency="GBP" rate="0.85"/></Cube><note>Câmbio do dia</note></g:Envelope>"""
LINES = "Data;Preço (€);Volume\n2026-11-14;3,51;100\n2026-11-15;3,55;\n2026-11-16;3,60;300\n;;\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("main.temp", "21.4"),
        ("main.wind", "0"),
        ("main.note", "dry"),
        ("big", "12345678901234567890"),
        ("quotes[?s=='GALP'].p", "17.25"),
        ("length(quotes)", "3"),
        ("main.temp > `20`", "true"),
    ],
)
def test_a_json_value_is_read(path: str, text: str) -> None:
    assert texts(reading(source("json", {"value": {"path": path}}), WEATHER)) == {"": {"value": text}}


@pytest.mark.parametrize("path", ["main.rain", "main.none", "quotes[?s=='X'].p"])
def test_null_and_absent_values_are_missing_not_zero(path: str) -> None:
    got = reading(source("json", {"value": {"path": path}}), WEATHER)
    assert (got.rows, got.missing) == ([], {"value": "It was not found."})


@pytest.mark.parametrize(("path", "kind"), [("quotes[].p", "a list"), ("main", "an object")])
def test_several_values_are_doubtful(path: str, kind: str) -> None:
    got = reading(source("json", {"value": {"path": path}}), WEATHER)
    assert (got.rows, [kind in doubt.why for doubt in got.doubts]) == ([], [True])


def test_rows_of_json_are_followed_by_a_key() -> None:
    config = source(
        "json", {"name": {"path": "s"}, "price": {"path": "p"}}, rows="quotes", key="name", only=["EDP", "X"]
    )
    got = reading(config, WEATHER)
    assert texts(got) == {"EDP": {"name": "EDP", "price": "3.5"}}
    assert "“X”" in got.missing["price"]


def test_rows_of_json_without_a_key_are_news() -> None:
    config = source("json", {"name": {"path": "s"}}, rows="quotes")
    first = reading(config, WEATHER)
    assert (first.news, [row.texts["name"] for row in first.rows]) == (True, ["EDP", "GALP", "NOS"])
    assert reading(config, WEATHER.replace("NOS", "REN"), first.memory).rows[0].texts == {"name": "REN"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "empty"),
        ("<html>", "not JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ("1" * 1_000_000, "thousands of digits"),
        ("\x00\x01", "not JSON"),
    ],
)
def test_other_formats_are_not_json(body: str, words: str) -> None:
    with pytest.raises(UnreadableResponse, match=words):
        reading(source("json", {"value": {"path": "a"}}), body)


def test_deeply_nested_json_and_huge_numbers_are_harmless() -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    assert reading(source("json", {"value": {"path": "b"}}), deep).rows == []
    assert reading(source("json", {"value": {"path": "a"}}), '{"a": NaN}').rows == []
    assert reading(source("json", {"value": {"path": "abs(a)"}}), '{"a": "x"}').missing["value"].startswith("'abs(a)'")


@pytest.mark.parametrize(
    ("xpath", "text"),
    [
        ("//r:Cube[@currency='USD']/@rate", "1.08"),
        ("//r:note", "Câmbio do dia"),
        ("string(//r:note)", "Câmbio do dia"),
        ("count(//r:Cube[@rate])", "2"),
    ],
)
def test_an_xml_value_is_read(xpath: str, text: str) -> None:
    config = source("xml", {"value": {"xpath": xpath}}, namespaces={"r": "urn:r"})
    assert texts(reading(config, RATES.encode("latin-1"))) == {"": {"value": text}}


def test_rows_of_xml_are_followed_by_a_key() -> None:
    places = {"currency": {"xpath": "@currency"}, "rate": {"xpath": "@rate"}}
    config = source("xml", places, namespaces={"r": "urn:r"}, rows="//r:Cube[@rate]", key="currency")
    assert texts(reading(config, RATES.encode("latin-1"))) == {
        "USD": {"currency": "USD", "rate": "1.08"},
        "GBP": {"currency": "GBP", "rate": "0.85"},
    }


def test_several_xml_texts_are_doubtful() -> None:
    config = source("xml", {"value": {"xpath": "//r:Cube/@rate"}}, namespaces={"r": "urn:r"})
    assert "2 texts" in reading(config, RATES.encode("latin-1")).doubts[0].why


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(12))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "empty"),
        ("<a><b></a>", "not well-formed XML"),
        ("12345", "not well-formed XML"),
        (f"<!DOCTYPE a [{LAUGHS}]><a>&l11;</a>", "declares entities"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "declares entities"),
        ("<a>" * 10_000 + "</a>" * 10_000, "not well-formed XML"),
    ],
)
def test_malformed_and_malicious_xml_is_rejected(body: str, words: str) -> None:
    with pytest.raises(UnreadableResponse, match=words):
        reading(source("xml", {"value": {"xpath": "//a"}}), body)
    with pytest.raises(UnreadableResponse, match=words if "entities" in words else "."):
        reading(source("xml", {"value": {"xpath": "//a"}}), body.encode("utf-16") if body else b"")


def test_an_entity_bomb_in_another_encoding_is_rejected() -> None:
    with pytest.raises(UnreadableResponse, match="declares entities"):
        reading(source("xml", {"v": {"xpath": "//a"}}), f"<!DOCTYPE a [{LAUGHS}]><a>&l11;</a>".encode("utf-16"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"": {"price": "3,60", "volume": "300"}}),
        ({"rows": "first"}, {"": {"price": "3,51", "volume": "100"}}),
        ({"separator": ";", "charset": "utf-8"}, {"": {"price": "3,60", "volume": "300"}}),
    ],
)
def test_one_line_of_csv_is_read(options: dict[str, Any], expected: dict[str, Any]) -> None:
    config = source("csv", {"price": {"column": "preço (€)"}, "volume": {"number": 3}}, **options)
    assert texts(reading(config, LINES)) == expected


def test_lines_of_csv_are_followed_by_a_key() -> None:
    config = source("csv", {"day": {"column": "Data"}, "volume": {"column": "Volume"}}, rows="key", key="day")
    assert texts(reading(config, LINES)) == {
        "2026-11-14": {"day": "2026-11-14", "volume": "100"},
        "2026-11-15": {"day": "2026-11-15"},
        "2026-11-16": {"day": "2026-11-16", "volume": "300"},
    }


def test_a_column_of_csv_that_moved_is_found_and_one_that_is_gone_is_missing() -> None:
    config = source("csv", {"volume": {"column": "Volume"}})
    assert texts(reading(config, "Volume,Data\n5,x\n")) == {"": {"volume": "5"}}
    assert reading(config, "Data\nx\n").missing == {"volume": "No columns have the title “Volume”."}


def test_csv_in_another_charset_needs_the_charset_option() -> None:
    body = LINES.encode("windows-1252")
    config = source("csv", {"price": {"column": "Preço (€)"}})
    assert texts(reading(config, body)) == {"": {"price": "3,60"}}
    with pytest.raises(UnreadableResponse, match="not in UTF-8"):
        reading(source("csv", {"price": {"column": "Preço (€)"}}, charset="utf-8"), body)


@pytest.mark.parametrize("body", [b"", b"\x00\x01\x02\x00", b'a,"' + b"x" * 300_000 + b'"\n'])
def test_other_formats_are_not_csv(body: bytes) -> None:
    with pytest.raises(UnreadableResponse):
        reading(source("csv", {"value": {"column": "a"}}), body)


@pytest.mark.parametrize(
    ("adapter", "place", "options", "words"),
    [
        ("json", {}, {}, "Set path in the place"),
        ("json", {"path": "a["}, {}, "is not a JMESPath expression"),
        ("json", {"path": "a"}, {"key": "value"}, "set the option rows"),
        ("json", {"path": "a"}, {"rows": "a", "key": "none"}, "no field 'none'"),
        ("xml", {}, {}, "Set xpath in the place"),
        ("xml", {"xpath": "//r:x"}, {}, "is not an XPath expression"),
        ("xml", {"xpath": "//["}, {}, "is not an XPath expression"),
        ("csv", {}, {}, "Set column"),
        ("csv", {"column": "a"}, {"separator": ";;"}, "one character"),
        ("csv", {"column": "a"}, {"charset": "klingon"}, "no charset"),
        ("csv", {"column": "a"}, {"rows": "key"}, "follow rows by key"),
        ("feed", {"part": "titel"}, {}, "titel"),
        ("ical", {"part": "summary"}, {"days": 0}, "days"),
        ("nosuch", {}, {}, "There is no adapter nosuch"),
    ],
)
def test_invalid_options_and_places_are_rejected_when_saved(
    adapter: str, place: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TarantulaError) as refused:
        source(adapter, {"value": place}, **options)
    assert words in str(refused.value)
