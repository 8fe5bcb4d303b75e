"""Units of measure and conversion."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import SourceConfig, parse_source
from tarantula.streams.values import check_unit, convert_unit, convertible_units, parse_value
from tarantula.streams.values.units import UNCONVERTIBLE_UNITS, UNIT_GROUPS
from tarantula.streams.values.value import ValueParseError

CONVERSIONS = (
    ("50", "°F", "°C", "10"),
    ("-40", "°C", "°F", "-40"),
    ("0", "°C", "K", "273.15"),
    ("36", "km/h", "m/s", "10"),
    ("1", "kn", "km/h", "1.852"),
    ("1", "mi", "km", "1.609344"),
    ("1013.25", "hPa", "atm", "1"),
    ("1", "kWh", "MJ", "3.6"),
    ("3", "l/m²", "mm", "3"),
    ("1", "GiB", "MB", "1073.741824"),
    ("8", "Mbit/s", "MB/s", "1"),
    ("1", "hm³", "m³", "1000000"),
    ("1", "µg/m³", "mg/m³", "0.001"),
    ("1", "%", "ppm", "10000"),
    ("1", "lb", "kg", "0.45359237"),
    ("100", "km²", "ha", "10000"),
    ("1", "d", "h", "24"),
    ("0.1", "m", "cm", "10"),
)
WRITINGS = {
    "°C": ("°C", "ºC", "° C", "℃", "graus", "graus Celsius", "C", "°c"),
    "km/h": ("km/h", "Km/h", "kmh", "kph", "quilómetros por hora", "Quilômetros por hora"),
    "km": ("km", "Km", "quilómetros", "quilômetros", "kilometres"),
    "µg/m³": ("µg/m³", "μg/m³", "ug/m3", "µg/m3"),
    "kn": ("kn", "nós", "nó", "knots", "kt"),
    "mbar": ("mbar", "mb", "milibares"),
    "l/m²": ("l/m²", "l/m2", "L/m²"),
    "kWh": ("kWh", "kwh", "KWh"),
    "%": ("%", "por cento", "percent"),
    "kB": ("kB", "KB", "kilobytes"),
    "KiB": ("KiB",),
}


@pytest.mark.parametrize(("number", "begin", "end", "meant"), CONVERSIONS)
def test_units_are_converted_exactly_and_back(number: str, begin: str, end: str, meant: str) -> None:
    assert convert_unit(Decimal(number), begin, end) == Decimal(meant)
    assert convert_unit(Decimal(meant), end, begin) == Decimal(number)


def test_infinite_results_have_eighteen_digits() -> None:
    assert convert_unit(Decimal(1), "km/h", "m/s") == Decimal("0.277777777777777778")


@pytest.mark.parametrize(("unit", "written"), [(unit, text) for unit, texts in WRITINGS.items() for text in texts])
def test_every_spelling_of_a_unit_is_recognised(unit: str, written: str) -> None:
    value = parse_value(f"12,5 {written}", ValueKind.QUANTITY, unit)

    assert (value.number, value.unit) == (Decimal("12.5"), unit)
    assert check_unit(written.replace("℃", "°C").replace("μ", "µ")) == unit


def test_incompatible_units_are_not_converted() -> None:
    for text in (
        "12 kg",
        "12 €",
        "12 visitantes",
        "12 Mb",
        "12″",
        "12 '",
        "12 Ω",
        "10 h",
        "12 kmx",
        "12-13 km",
        "5 km 3 m",
    ):
        with pytest.raises(ValueParseError):
            parse_value(text, ValueKind.QUANTITY, "km")


def test_a_degree_sign_alone_is_in_the_degrees_of_the_field() -> None:
    assert parse_value("74°", ValueKind.QUANTITY, "°F").number == 74
    assert parse_value("23º", ValueKind.QUANTITY, "°C").number == 23
    assert parse_value("23 º C", ValueKind.QUANTITY, "°F").number == Decimal("73.4")


def test_a_field_without_a_unit_keeps_to_the_one_of_its_history() -> None:
    assert parse_value("12 km", ValueKind.QUANTITY, "").unit == "km"
    with pytest.raises(ValueParseError, match="It is in m, and earlier texts are in km"):
        parse_value("500 m", ValueKind.QUANTITY, "", ("12 km", "13 km"))


@pytest.mark.parametrize(
    "unit", ["kmm", "blorg", "km/", "", "m**99", "(((m", "__import__('os')", "x" * 1000, "1e9", "delta_degC"]
)
def test_an_unknown_unit_is_an_error_message(unit: str) -> None:
    with pytest.raises(TarantulaError, match="is not a unit of measure") as caught:
        convertible_units(unit)
    assert len(str(caught.value)) < 300
    with pytest.raises(ValueParseError):
        convert_unit(Decimal(1), unit, "km")


def test_a_source_with_an_unknown_unit_is_rejected() -> None:
    def source(kind: str, unit: str) -> SourceConfig:
        field = {"key": "value", "kind": kind, "unit": unit, "place": {"css": "b"}}
        return parse_source({"name": "weather.lisboa", "url": "https://example.pt/", "fields": [field]})

    for kind, unit in (("quantity", "blorg"), ("money", "blorg"), ("duration", "km")):
        with pytest.raises(TarantulaError, match="is not a"):
            source(kind, unit)
    assert source("quantity", "km/h").fields[0].unit == "km/h"
    assert source("money", "€").fields[0].unit == "€"


def test_similar_units_are_suggested() -> None:
    with pytest.raises(TarantulaError, match=r"Did you mean .*km/h"):
        check_unit("km/hx")
    with pytest.raises(TarantulaError, match="quilómetros"):
        check_unit("quilometrs")


def test_a_field_with_an_unknown_unit_fails_with_a_reason() -> None:
    with pytest.raises(ValueParseError, match="'blorg' is not a unit"):
        parse_value("12 km", ValueKind.QUANTITY, "blorg")


def test_equivalent_units_are_few_and_can_all_be_converted_to() -> None:
    assert convertible_units("km/h") == ["m/s", "km/h", "mph", "kn"]
    assert convertible_units("ºC") == ["°C", "°F", "K"]
    assert convertible_units("EUR") == ["EUR"]
    assert convertible_units("dB") == ["dB"]
    assert "kWh" in convertible_units("kN*m")
    for unit in [unit for group in UNIT_GROUPS.values() for unit in group]:
        others = convertible_units(unit)
        assert unit in others
        assert len(others) <= 13
        for other in others:
            assert convert_unit(convert_unit(Decimal(7), unit, other), other, unit).quantize(Decimal("1.000")) == 7


def test_no_spelling_means_two_units() -> None:
    seen: dict[str, str] = {}
    listed = [(unit, others) for group in UNIT_GROUPS.values() for unit, (_, others) in group.items()]
    for unit, others in (*listed, *UNCONVERTIBLE_UNITS.items()):
        for written in {unit, *others.split("; ")} - {""}:
            assert seen.setdefault(written, unit) == unit, written
