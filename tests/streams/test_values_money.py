"""Amounts of money."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import check_unit, parse_value
from tarantula.streams.values.value import ValueParseError


@pytest.mark.parametrize("text", ["$12", "US$ 12", "12 £", "12,50 CHF", "R$ 5,00", "12 dollars", "5 USD", "GBP5"])
def test_another_currency_is_rejected(text: str) -> None:
    with pytest.raises(ValueParseError, match="and the field is in EUR"):
        parse_value(text, ValueKind.MONEY, "EUR", ("12,50 €", "13,50 €"))


@pytest.mark.parametrize("unit", ["USD", "CAD", "AUD", "MXN"])
def test_a_dollar_sign_is_the_dollar_of_the_field(unit: str) -> None:
    value = parse_value("$1,234.50", ValueKind.MONEY, unit)

    assert (value.number, value.unit) == (Decimal("1234.50"), unit)


def test_without_a_unit_the_history_determines_the_currency() -> None:
    assert parse_value("$5", ValueKind.MONEY, "").unit == "USD"
    assert parse_value("$5", ValueKind.MONEY, "", ("CA$ 4", "CA$ 3")).unit == "CAD"
    with pytest.raises(ValueParseError, match="another currency"):
        parse_value("$5", ValueKind.MONEY, "", ("4 €", "3 €"))


def test_a_text_that_names_no_currency_is_in_the_one_of_the_field() -> None:
    value = parse_value("12,50", ValueKind.MONEY, "EUR")

    assert (value.number, value.unit) == (Decimal("12.50"), "")


@pytest.mark.parametrize(
    "text",
    [
        "49,99 € 39,99 €",
        "10 € - 15 €",
        "12 km",
        "12 visitantes",
        "grátis",
        "12 EURUSD",
        "€ 5 USD",
        "1 € = 1,08 $",
        "3.º €",
        "€",
    ],
)
def test_texts_that_are_not_amounts_are_rejected(text: str) -> None:
    with pytest.raises(ValueParseError):
        parse_value(text, ValueKind.MONEY, "EUR")


def test_a_price_for_another_amount_is_rejected() -> None:
    history = ("12,50 €/kg", "12,90 €/kg")

    assert parse_value("13,10 €/kg", ValueKind.MONEY, "EUR", history).number == Decimal("13.10")
    with pytest.raises(ValueParseError, match="another amount"):
        parse_value("1,31 €/100 g", ValueKind.MONEY, "EUR", history)


@pytest.mark.parametrize("text", ["12 ₡", "₲ 12", "KSh 12", "Bs. 12", "12 KSh", "12 ден.", "Z$ 12", "12 Z$", "12 ¤"])
def test_an_unknown_currency_is_rejected(text: str) -> None:
    with pytest.raises(ValueParseError):
        parse_value(text, ValueKind.MONEY, "EUR", ("12 €", "13 €"))


def test_three_decimals_are_accepted_where_they_are_usual() -> None:
    assert parse_value("1.859 €", ValueKind.MONEY, "EUR").number == 1859
    assert parse_value("1.859 €/l", ValueKind.MONEY, "EUR").number == Decimal("1.859")
    assert parse_value("1.859 KWD", ValueKind.MONEY, "KWD").number == Decimal("1.859")


def test_a_currency_implies_the_number_format_of_its_country() -> None:
    assert parse_value("R$ 12.345", ValueKind.MONEY, "BRL").number == 12345
    assert parse_value("£12,345", ValueKind.MONEY, "GBP").number == 12345
    assert parse_value("CHF 12.345", ValueKind.MONEY, "CHF").number == Decimal("12.345")


@pytest.mark.parametrize("unit", ["EUR", "eur", "€", "euros"])
def test_a_unit_may_be_a_sign_code_or_word(unit: str) -> None:
    assert parse_value("12,50 €", ValueKind.MONEY, unit).number == Decimal("12.50")


def test_escudos_use_their_sign_as_decimal_mark() -> None:
    assert parse_value("1.234$50", ValueKind.MONEY, "CVE").number == Decimal("1234.50")


def test_the_unit_of_a_field_of_money_is_a_currency() -> None:
    assert [check_unit(unit, ValueKind.MONEY) for unit in ("EUR", "eur", "€", "euros", "R$", "CHF", "XOF")] == [
        "EUR", "EUR", "EUR", "EUR", "BRL", "CHF", "XOF",
    ]  # fmt: skip
    with pytest.raises(TarantulaError, match=r"not a currency\. Did you mean EUR"):
        check_unit("EUT", ValueKind.MONEY)
