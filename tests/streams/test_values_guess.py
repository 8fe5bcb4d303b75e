"""What a field seems to be, and how its values are shown."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from tarantula.streams.kinds import Aggregation, Kind
from tarantula.streams.values import format_value, guess, read_text
from tarantula.streams.values.value import NotRead
from tests.support.stream_texts import HABITS, Habit

GUESSES: tuple[tuple[tuple[str, ...], Kind, str], ...] = (
    (("12",), Kind.INTEGER, ""),
    (("12.345",), Kind.INTEGER, ""),
    (("12,5",), Kind.DECIMAL, ""),
    (("12", "12,5"), Kind.DECIMAL, ""),
    (("1.859", "0.985"), Kind.DECIMAL, ""),
    (("1.234,56 €",), Kind.MONEY, "EUR"),
    (("$12",), Kind.MONEY, "USD"),
    (("12 M€", "n/a", "13 M€"), Kind.MONEY, "EUR"),
    (("−3,5 %",), Kind.PERCENTAGE, "%"),
    (("23 °C", "–", "24 °C"), Kind.QUANTITY, "°C"),
    (("23º",), Kind.QUANTITY, "°C"),
    (("Temperatura: 12,5 °C",), Kind.QUANTITY, "°C"),
    (("1.5 GB", "800 MB", "900 MB"), Kind.QUANTITY, "MB"),
    (("PM2.5: 12 µg/m³",), Kind.QUANTITY, "µg/m³"),
    (("12 345 leituras",), Kind.INTEGER, ""),
    (("Vitórias: 12",), Kind.INTEGER, ""),
    (("1,2 mil",), Kind.INTEGER, ""),
    (("12 de junho de 2026 às 22h30",), Kind.MOMENT, ""),
    (("há 5 minutos",), Kind.MOMENT, ""),
    (("2026-06-12",), Kind.MOMENT, ""),
    (("22:30",), Kind.MOMENT, ""),
    (("1:23:45",), Kind.DURATION, ""),
    (("12:34", "75:10"), Kind.DURATION, ""),
    (("2h 5m",), Kind.DURATION, ""),
    (("5 min",), Kind.DURATION, ""),
    (("https://example.pt/a?b=1",), Kind.URL, ""),
    (("3-1",), Kind.TEXT, ""),
    (("3.º",), Kind.TEXT, ""),
    (("007",), Kind.TEXT, ""),
    (("+351 912 345 678",), Kind.TEXT, ""),
    (("1.2.34",), Kind.TEXT, ""),
    (("03/10",), Kind.TEXT, ""),
    (("12 €", "13 $"), Kind.TEXT, ""),
    (("12", "ABC"), Kind.TEXT, ""),
    (("Artigo 12",), Kind.TEXT, ""),
    (("Lisboa",), Kind.TEXT, ""),
    (("–", "n/a", ""), Kind.TEXT, ""),
    ((), Kind.TEXT, ""),
    (("9" * 1_000_000,), Kind.TEXT, ""),
)


@pytest.mark.parametrize(("texts", "kind", "unit"), GUESSES, ids=lambda value: str(value)[:40])
def test_a_field_is_guessed_from_its_texts(texts: tuple[str, ...], kind: Kind, unit: str) -> None:
    assert guess(texts)[:2] == (kind, unit)


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.where)
def test_the_histories_of_the_table_are_guessed_as_a_kind_that_reads_them(habit: Habit) -> None:
    guessed = guess(habit.history)

    if habit.kind is Kind.INTEGER or "kB" in str(habit.history) or guessed.kind is not Kind.INTEGER:
        assert guessed.kind is habit.kind
    for text in habit.history:
        assert read_text(text, guessed.kind, guessed.unit, habit.history).number is not None


def test_values_are_averaged_and_words_are_not() -> None:
    assert guess(["12,5 °C"]).aggregation is Aggregation.AVERAGE
    assert guess(["Lisboa"]).aggregation is Aggregation.LAST


def test_addresses_are_absolute() -> None:
    def address(text: str) -> str:
        return read_text(text, Kind.URL, "", base_url="https://example.pt/a/b.html").text

    assert address("../c.html") == "https://example.pt/c.html"
    assert address("//cdn.example.pt/x") == "https://cdn.example.pt/x"
    assert address("www.example.org") == "https://www.example.org/"
    assert address("HTTP://EXAMPLE.org/á") == "http://example.org/%C3%A1"
    for text in ("", "olá mundo", "mailto:a@example.pt", "javascript:alert(1)", "x" * 10_000, "http://"):
        with pytest.raises(NotRead):
            address(text)
    with pytest.raises(NotRead):
        read_text("c.html", Kind.URL, "")


def test_words_are_kept_as_they_are_but_for_their_spaces() -> None:
    assert read_text("  olá \n  mundo–  ", Kind.TEXT, "").text == "olá mundo–"
    assert read_text("n/a", Kind.TEXT, "").text == "n/a"
    with pytest.raises(NotRead):
        read_text("  ", Kind.TEXT, "")


@pytest.mark.parametrize(
    ("text", "kind", "unit", "portuguese", "english"),
    [
        ("12345.6", Kind.MONEY, "EUR", "12 345,60 €", "€12,345.60"),
        ("-1.2345", Kind.MONEY, "EUR", "−1,2345 €", "−€1.2345"),
        ("1500", Kind.MONEY, "JPY", "1 500 JP¥", "JP¥1,500"),
        ("12", Kind.MONEY, "XYZ", "12 XYZ", "12 XYZ"),
        ("1234567", Kind.INTEGER, "", "1 234 567", "1,234,567"),
        ("-3.5", Kind.PERCENTAGE, "%", "−3,5 %", "−3.5 %"),
        ("23.5", Kind.QUANTITY, "°C", "23,5 °C", "23.5 °C"),
        ("5025", Kind.DURATION, "", "1 h 23 min 45 s", "1 h 23 min 45 s"),
        ("-90.5", Kind.DURATION, "", "−1 min 30,5 s", "−1 min 30.5 s"),
        ("0", Kind.DURATION, "", "0 s", "0 s"),
        ("3.33333333333333333333", Kind.DECIMAL, "", "3,3333333333", "3.3333333333"),
        ("0.000000000000012345", Kind.DECIMAL, "", "0,00000000000001234", "0.00000000000001234"),
        ("2026-06-12T22:00:00+00:00", Kind.MOMENT, "", "2026-06-12 23:00", "2026-06-12 23:00"),
        ("no number", Kind.INTEGER, "", "no number", "no number"),
        ("NaN", Kind.DECIMAL, "", "NaN", "NaN"),
        ("1e999999", Kind.DECIMAL, "", "1e999999", "1e999999"),
        ("olá", Kind.TEXT, "", "olá", "olá"),
    ],
)
def test_a_value_is_shown_in_the_language_of_the_reader(
    text: str, kind: Kind, unit: str, portuguese: str, english: str
) -> None:
    lisbon = ZoneInfo("Europe/Lisbon")

    assert format_value(text, kind, unit, "pt", zone=lisbon).replace("\u00a0", " ") == portuguese
    assert format_value(text, kind, unit, "en", zone=lisbon).replace("\u00a0", " ") == english


def test_an_unknown_language_is_shown_in_english() -> None:
    assert format_value("1234.5", Kind.DECIMAL, "", "xx-nonsense", zone=UTC) == "1,234.5"
