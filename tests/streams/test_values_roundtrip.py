"""Numbers and dates formatted by babel for many countries are parsed back exactly, with five earlier texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from babel.dates import format_date, format_datetime, format_time
from babel.numbers import format_currency, format_decimal, format_percent
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import format_value, parse_value
from tarantula.streams.values.numbers import canonical_number
from tarantula.streams.values.value import ValueParseError

LOCALES = (
    "pt pt_PT pt_AO en en_GB en_IN en_ZA de de_CH de_AT de_LI fr fr_CH fr_CA it it_CH es es_MX nl pl cs sv nb da fi hu "
    "ru uk tr el ro bg hr lt lv et sl sk ja zh ko hi ar_EG fa bn mr"
).split()
PLACES = ("pt_PT", "pt_BR", "en_US", "en_GB", "de_DE", "de_CH", "fr_FR", "fr_CH")
MOST = 30
NOW = datetime(2026, 6, 14, 12, 0, tzinfo=UTC)


def numbers(places: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**10), 10**10).map(lambda digits: Decimal(digits).scaleb(-places))


any_number = st.integers(0, 6).flatmap(numbers)
telling = st.lists(st.sampled_from((1, 2, 4)).flatmap(numbers).filter(lambda n: n % 1 != 0), min_size=5, max_size=5)
"""Histories with decimals, but not three of them, so that they determine the number format."""
moments = st.integers(31 * 525600, 79 * 525600).map(
    lambda minutes: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)
days_after_the_twelfth = st.dates(date(2001, 1, 1), date(2049, 12, 31)).filter(lambda day: day.day > 12)


def written(number: Decimal, locale: str) -> str:
    return format_decimal(number, locale=locale, decimal_quantization=False, numbering_system="default")


@given(any_number, telling, st.sampled_from(LOCALES))
@settings(max_examples=MOST)
def test_a_number_is_read_back_in_every_locale(number: Decimal, history: list[Decimal], locale: str) -> None:
    texts = [written(earlier, locale) for earlier in history]

    assert parse_value(written(number, locale), ValueKind.DECIMAL, "", texts).number == number


@given(st.integers(-(10**12), 10**12), telling, st.sampled_from(LOCALES))
@settings(max_examples=MOST)
def test_whole_numbers_among_decimals_keep_their_thousands(number: int, history: list[Decimal], locale: str) -> None:
    texts = [written(earlier, locale) for earlier in history]

    assert parse_value(written(Decimal(number), locale), ValueKind.INTEGER, "", texts).number == number


@given(any_number, telling, st.sampled_from(LOCALES))
@settings(max_examples=MOST)
def test_a_percentage_is_read_back_in_every_locale(number: Decimal, history: list[Decimal], locale: str) -> None:
    def share(one: Decimal) -> str:
        return format_percent(one.scaleb(-2), locale=locale, decimal_quantization=False, numbering_system="default")

    assert parse_value(share(number), ValueKind.PERCENTAGE, "", list(map(share, history))).number == number


@given(
    numbers(2),
    st.lists(numbers(2), min_size=5, max_size=5),
    st.sampled_from(LOCALES),
    st.sampled_from("EUR USD GBP CHF BRL CZK SEK PLN".split()),
)
@settings(max_examples=MOST)
def test_money_is_read_back_in_every_locale(
    number: Decimal, history: list[Decimal], locale: str, currency: str
) -> None:
    def price(one: Decimal) -> str:
        return format_currency(one, currency, locale=locale)

    value = parse_value(price(number), ValueKind.MONEY, currency, list(map(price, history)))

    assert (value.number, value.unit) == (number, currency)


@given(moments, st.lists(days_after_the_twelfth, min_size=5, max_size=5), st.sampled_from(PLACES))
@settings(max_examples=MOST)
def test_a_short_date_is_read_back_in_every_place(at: datetime, days: list[date], place: str) -> None:
    history = [format_date(day, "short", locale=place) for day in days]

    for text in (format_datetime(at, "short", locale=place), format_datetime(at, "medium", locale=place)):
        assert parse_value(text, ValueKind.MOMENT, "", history, now=NOW).text == at.isoformat()


@given(moments, st.sampled_from(PLACES), st.sampled_from(("medium", "long", "full")))
@settings(max_examples=MOST)
def test_a_date_in_words_is_read_back_without_a_history(at: datetime, place: str, length: str) -> None:
    day = format_date(at, length, locale=place)
    time = format_time(at, "short", locale=place)

    assert parse_value(f"{day}, {time}", ValueKind.MOMENT, "", now=NOW).text == at.isoformat()


@given(any_number, st.sampled_from(("pt", "en")), st.sampled_from((ValueKind.DECIMAL, ValueKind.PERCENTAGE)))
@settings(max_examples=MOST)
def test_what_is_shown_can_be_read_again(number: Decimal, language: str, kind: ValueKind) -> None:
    shown = format_value(canonical_number(number), kind, "", language)
    history = [format_value(earlier, kind, "", language) for earlier in ("1234.5", "-12345.25", "0.75", "7.5", "2.1")]

    assert parse_value(shown, kind, "", history).number == number


like_values = st.text(alphabet="0123456789.,' -−–+()%€$£kKMmnhsTPZeE×^⁵²°ºCFr/:\u00a0\n▼…½", max_size=24)


@given(st.text(max_size=60) | like_values, st.sampled_from(list(ValueKind)), st.lists(like_values, max_size=5))
@settings(max_examples=5 * MOST)
def test_every_text_yields_a_value_or_an_error_message(text: str, kind: ValueKind, history: list[str]) -> None:
    try:
        value = parse_value(text, kind, "", history, base_url="https://example.pt/", now=NOW)
    except ValueParseError:
        return
    assert value.text
    assert (value.number is None) == (kind in (ValueKind.TEXT, ValueKind.URL))


@given(st.timedeltas(timedelta(0), timedelta(days=900)))
def test_clocks_of_durations_are_read_back(length: timedelta) -> None:
    seconds = int(length.total_seconds())
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    assert parse_value(text, ValueKind.DURATION, "").number == seconds
