"""The kind of a field is guessed from its texts."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.values import format_value, guess_field, parse_value
from tarantula.streams.values.value import ValueParseError
from tests.support.stream_texts import HABITS, Habit

GUESSES: tuple[tuple[tuple[str, ...], ValueKind, str], ...] = (
    (("12",), ValueKind.INTEGER, ""),
    (("12.345",), ValueKind.INTEGER, ""),
    (("12,5",), ValueKind.DECIMAL, ""),
    (("12", "12,5"), ValueKind.DECIMAL, ""),
    (("1.859", "0.985"), ValueKind.DECIMAL, ""),
    (("1.234,56 €",), ValueKind.MONEY, "EUR"),
    (("$12",), ValueKind.MONEY, "USD"),
    (("12 M€", "n/a", "13 M€"), ValueKind.MONEY, "EUR"),
    (("−3,5 %",), ValueKind.PERCENTAGE, "%"),
    (("23 °C", "–", "24 °C"), ValueKind.QUANTITY, "°C"),
    (("23º",), ValueKind.QUANTITY, "°C"),
    (("Temperatura: 12,5 °C",), ValueKind.QUANTITY, "°C"),
    (("1.5 GB", "800 MB", "900 MB"), ValueKind.QUANTITY, "MB"),
    (("PM2.5: 12 µg/m³",), ValueKind.QUANTITY, "µg/m³"),
    (("12 345 leituras",), ValueKind.INTEGER, ""),
    (("Vitórias: 12",), ValueKind.INTEGER, ""),
    (("1,2 mil",), ValueKind.INTEGER, ""),
    (("12 de junho de 2026 às 22h30",), ValueKind.MOMENT, ""),
    (("há 5 minutos",), ValueKind.MOMENT, ""),
    (("2026-06-12",), ValueKind.MOMENT, ""),
    (("22:30",), ValueKind.MOMENT, ""),
    (("1:23:45",), ValueKind.DURATION, ""),
    (("12:34", "75:10"), ValueKind.DURATION, ""),
    (("2h 5m",), ValueKind.DURATION, ""),
    (("5 min",), ValueKind.DURATION, ""),
    (("https://example.pt/a?b=1",), ValueKind.URL, ""),
    (("3-1",), ValueKind.TEXT, ""),
    (("3.º",), ValueKind.TEXT, ""),
    (("007",), ValueKind.TEXT, ""),
    (("+351 912 345 678",), ValueKind.TEXT, ""),
    (("1.2.34",), ValueKind.TEXT, ""),
    (("03/10",), ValueKind.TEXT, ""),
    (("12 €", "13 $"), ValueKind.TEXT, ""),
    (("12", "ABC"), ValueKind.TEXT, ""),
    (("Artigo 12",), ValueKind.TEXT, ""),
    (("Lisboa",), ValueKind.TEXT, ""),
    (("–", "n/a", ""), ValueKind.TEXT, ""),
    ((), ValueKind.TEXT, ""),
    (("9" * 1_000_000,), ValueKind.TEXT, ""),
)


@pytest.mark.parametrize(("texts", "kind", "unit"), GUESSES, ids=lambda value: str(value)[:40])
def test_a_field_is_guessed_from_its_texts(texts: tuple[str, ...], kind: ValueKind, unit: str) -> None:
    assert guess_field(texts)[:2] == (kind, unit)


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.where)
def test_sample_histories_are_guessed_as_a_kind_that_parses_them(habit: Habit) -> None:
    guessed = guess_field(habit.history)

    if habit.kind is ValueKind.INTEGER or "kB" in str(habit.history) or guessed.kind is not ValueKind.INTEGER:
        assert guessed.kind is habit.kind
    for text in habit.history:
        assert parse_value(text, guessed.kind, guessed.unit, habit.history).number is not None


def test_numbers_are_averaged_and_texts_are_not() -> None:
    assert guess_field(["12,5 °C"]).aggregation is Aggregation.AVERAGE
    assert guess_field(["Lisboa"]).aggregation is Aggregation.LAST


def test_urls_are_absolute() -> None:
    def address(text: str) -> str:
        return parse_value(text, ValueKind.URL, "", base_url="https://example.pt/a/b.html").text

    assert address("../c.html") == "https://example.pt/c.html"
    assert address("//cdn.example.pt/x") == "https://cdn.example.pt/x"
    assert address("www.example.org") == "https://www.example.org/"
    assert address("HTTP://EXAMPLE.org/á") == "http://example.org/%C3%A1"
    for text in ("", "olá mundo", "mailto:a@example.pt", "javascript:alert(1)", "x" * 10_000, "http://"):
        with pytest.raises(ValueParseError):
            address(text)
    with pytest.raises(ValueParseError):
        parse_value("c.html", ValueKind.URL, "")


def test_texts_keep_everything_but_extra_spaces() -> None:
    assert parse_value("  olá \n  mundo–  ", ValueKind.TEXT, "").text == "olá mundo–"
    assert parse_value("n/a", ValueKind.TEXT, "").text == "n/a"
    with pytest.raises(ValueParseError):
        parse_value("  ", ValueKind.TEXT, "")


@pytest.mark.parametrize(
    ("text", "kind", "unit", "portuguese", "english"),
    [
        ("12345.6", ValueKind.MONEY, "EUR", "12 345,60 €", "€12,345.60"),
        ("-1.2345", ValueKind.MONEY, "EUR", "−1,2345 €", "−€1.2345"),
        ("1500", ValueKind.MONEY, "JPY", "1 500 JP¥", "JP¥1,500"),
        ("12", ValueKind.MONEY, "XYZ", "12 XYZ", "12 XYZ"),
        ("1234567", ValueKind.INTEGER, "", "1 234 567", "1,234,567"),
        ("-3.5", ValueKind.PERCENTAGE, "%", "−3,5 %", "−3.5 %"),
        ("23.5", ValueKind.QUANTITY, "°C", "23,5 °C", "23.5 °C"),
        ("5025", ValueKind.DURATION, "", "1 h 23 min 45 s", "1 h 23 min 45 s"),
        ("-90.5", ValueKind.DURATION, "", "−1 min 30,5 s", "−1 min 30.5 s"),
        ("0", ValueKind.DURATION, "", "0 s", "0 s"),
        ("3.33333333333333333333", ValueKind.DECIMAL, "", "3,3333333333", "3.3333333333"),
        ("0.000000000000012345", ValueKind.DECIMAL, "", "0,00000000000001234", "0.00000000000001234"),
        ("2026-06-12T22:00:00+00:00", ValueKind.MOMENT, "", "2026-06-12 23:00", "2026-06-12 23:00"),
        ("no number", ValueKind.INTEGER, "", "no number", "no number"),
        ("NaN", ValueKind.DECIMAL, "", "NaN", "NaN"),
        ("1e999999", ValueKind.DECIMAL, "", "1e999999", "1e999999"),
        ("olá", ValueKind.TEXT, "", "olá", "olá"),
    ],
)
def test_a_value_is_shown_in_the_language_of_the_reader(
    text: str, kind: ValueKind, unit: str, portuguese: str, english: str
) -> None:
    lisbon = ZoneInfo("Europe/Lisbon")

    assert format_value(text, kind, unit, "pt", zone=lisbon).replace("\u00a0", " ") == portuguese
    assert format_value(text, kind, unit, "en", zone=lisbon).replace("\u00a0", " ") == english


def test_an_unknown_language_is_shown_in_english() -> None:
    assert format_value("1234.5", ValueKind.DECIMAL, "", "xx-nonsense", zone=UTC) == "1,234.5"
