"""Units of quantities: their names and symbols, checks and conversions."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import currencies
from tarantula.streams.values.currencies import currency_code
from tarantula.streams.values.durations import UNIT_SECONDS
from tarantula.streams.values.value import ValueParseError

if TYPE_CHECKING:
    from pint import UnitRegistry

UNIT_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "temperature": {
        "°C": (
            "degC",
            "ºC; ° C; º C; C; degC; °c; ºc; graus; graus celsius; grau; grau celsius; degrees celsius; degrees; "
            "celsius; grad celsius; grad; degrés; degrés celsius; graus centígrados; °; º",
        ),
        "°F": (
            "degF",
            "ºF; ° F; º F; degF; °f; fahrenheit; graus fahrenheit; degrees fahrenheit; grad fahrenheit",
        ),
        "K": ("kelvin", "kelvins; kelvin"),
    },
    "length": {
        "nm": ("nanometer", "nanómetros; nanometros; nanometers; nanometres"),
        "µm": ("micrometer", "um; mícrons; microns; micrómetros; micrometers"),
        "mm": (
            "millimeter",
            "milímetro; milímetros; milimetros; millimeter; millimeters; millimetre; millimetres; millimètres",
        ),
        "cm": (
            "centimeter",
            "centímetro; centímetros; centimetros; centimeter; centimeters; centimetre; centimetres; "
            "zentimeter; centimètres",
        ),
        "m": ("meter", "mt; mts; metro; metros; meter; meters; metre; metres; mètre; mètres"),
        "km": (
            "kilometer",
            "Km; KM; kms; quilómetro; quilómetros; quilômetro; quilômetros; quilometros; kilometer; "
            "kilometers; kilometre; kilometres; kilomètre; kilomètres",
        ),
        "in": ("inch", "inch; inches; polegada; polegadas; zoll; pouces"),
        "ft": ("foot", "foot; feet; pé; pés; pieds; fuß"),
        "yd": ("yard", "yard; yards; jarda; jardas"),
        "mi": ("mile", "mile; miles; milha; milhas; meilen; milles"),
        "nmi": (
            "nautical_mile",
            "NM; milhas náuticas; milha náutica; nautical miles; nautical mile; seemeilen; sm; milles marins",
        ),
    },
    "area": {
        "cm²": ("centimeter**2", "cm2"),
        "m²": ("meter**2", "m2; metros quadrados; square meters; square metres; quadratmeter; mètres carrés"),
        "ha": ("hectare", "hectare; hectares; hektar"),
        "km²": (
            "kilometer**2",
            "km2; quilómetros quadrados; quilômetros quadrados; square kilometers; square kilometres; "
            "quadratkilometer; kilomètres carrés",
        ),
        "ft²": ("foot**2", "ft2; sq ft; square feet; pés quadrados"),
        "acre": ("acre", "acres; ac"),
        "mi²": ("mile**2", "mi2; sq mi; square miles"),
    },
    "volume": {
        "ml": ("milliliter", "mL; mililitros; milliliters; millilitres; milliliter"),
        "cl": ("centiliter", "cL; centilitros"),
        "l": ("liter", "L; ℓ; lt; litro; litros; liter; liters; litre; litres"),
        "hl": ("hectoliter", "hL; hectolitros"),
        "m³": (
            "meter**3",
            "m3; metros cúbicos; metro cúbico; cubic meters; cubic metres; kubikmeter; mètres cubes",
        ),
        "hm³": ("hectometer**3", "hm3; hectómetros cúbicos; hectômetros cúbicos"),
        "km³": ("kilometer**3", "km3; quilómetros cúbicos"),
        "gal": ("gallon", "gallon; gallons; galão; galões"),
        "bbl": ("oil_bbl", "barril; barris; barrel; barrels; barrils; fass"),
    },
    "mass": {
        "µg": ("microgram", "ug; mcg; microgramas; micrograms"),
        "mg": ("milligram", "miligramas; milligrams; milligramm"),
        "g": ("gram", "gr; grama; gramas; gram; grams; gramm; grammes"),
        "kg": (
            "kilogram",
            "Kg; KG; kgs; quilo; quilos; quilograma; quilogramas; kilogram; kilograms; kilo; kilos; kilogramm; "
            "kilogrammes",
        ),
        "t": ("metric_ton", "ton; tonelada; toneladas; tonne; tonnes; tonnen"),
        "oz": ("ounce", "ounce; ounces; onça; onças; unzen; onces"),
        "lb": ("pound", "lbs; pound; pounds"),
        "oz t": ("troy_ounce", "ozt; troy ounce; troy ounces; onça troy; onças troy; feinunze"),
    },
    "speed": {
        "m/s": ("meter/second", "mps; ms⁻¹; m s⁻¹; metros por segundo; meters per second; metres per second"),
        "km/h": (
            "kilometer/hour",
            "Km/h; KM/H; kmh; km/hr; km / h; km/hora; kph; kmph; km h⁻¹; quilómetros por hora; quilômetros por hora; "
            "kilometers per hour; kilometres per hour; stundenkilometer",
        ),
        "mph": ("mile/hour", "mi/h; miles per hour; milhas por hora"),
        "kn": ("knot", "kt; kts; nó; nós; knot; knots; knoten; nœuds; noeuds"),
    },
    "pressure": {
        "Pa": ("pascal", "pascal; pascals"),
        "hPa": ("hectopascal", "hpa; HPa; hectopascal; hectopascals; hektopascal"),
        "kPa": ("kilopascal", "kpa; quilopascal"),
        "mbar": ("millibar", "mb; mbars; milibar; milibares; millibar; millibars"),
        "bar": ("bar", "bars; bares"),
        "atm": ("standard_atmosphere", "atmosferas; atmospheres"),
        "mmHg": ("millimeter_Hg", "mm Hg"),
        "inHg": ("inch_Hg", "in Hg"),
        "psi": ("psi", "PSI"),
    },
    "energy": {
        "J": ("joule", "joule; joules"),
        "kJ": ("kilojoule", "KJ; quilojoules; kilojoules"),
        "MJ": ("megajoule", "megajoules"),
        "kcal": ("kilocalorie", "Kcal; quilocalorias; calorias; kilocalories; kilokalorien"),
        "Wh": ("watt*hour", "watt-hora"),
        "kWh": (
            "kilowatt*hour",
            "KWh; kwh; kW h; kW·h; quilowatt-hora; quilowatts-hora; kilowatt hours; kilowattstunden; kilowattheures",
        ),
        "MWh": ("megawatt*hour", "Mwh; megawatts-hora; megawattstunden"),
        "GWh": ("gigawatt*hour", "Gwh; gigawatts-hora; gigawattstunden"),
        "TWh": ("terawatt*hour", "terawatts-hora; terawattstunden"),
    },
    "power": {
        "mW": ("milliwatt", "miliwatts"),
        "W": ("watt", "watt; watts"),
        "kW": ("kilowatt", "KW; quilowatts; kilowatts; kilowatt"),
        "MW": ("megawatt", "megawatts; megawatt"),
        "GW": ("gigawatt", "gigawatts; gigawatt"),
        "cv": ("metric_horsepower", "PS; cavalos; ch"),
        "hp": ("horsepower", "HP; bhp; horsepower"),
    },
    "data": {
        "bit": ("bit", "bits"),
        "B": ("byte", "byte; bytes; octets"),
        "kB": ("kilobyte", "KB; quilobytes; kilobytes; ko; Ko"),
        "MB": ("megabyte", "megabyte; megabytes; Mo"),
        "GB": ("gigabyte", "gigabyte; gigabytes; Go"),
        "TB": ("terabyte", "terabyte; terabytes; To"),
        "KiB": ("kibibyte", "kibibytes"),
        "MiB": ("mebibyte", "mebibytes"),
        "GiB": ("gibibyte", "gibibytes"),
        "TiB": ("tebibyte", "tebibytes"),
    },
    "data rate": {
        "bit/s": ("bit/second", "bps; b/s"),
        "kbit/s": ("kilobit/second", "kbps; Kbps; kb/s; Kb/s; Kbit/s"),
        "Mbit/s": ("megabit/second", "Mbps; mbps; Mb/s; MBit/s; megabits per second; megabits por segundo"),
        "Gbit/s": ("gigabit/second", "Gbps; Gb/s; GBit/s"),
        "kB/s": ("kilobyte/second", "KB/s"),
        "MB/s": ("megabyte/second", "MBps; Mo/s"),
    },
    "time": {
        "ms": ("millisecond", "milissegundos; milliseconds; millisekunden; millisecondes"),
        "s": (
            "second",
            "sec; seg; secs; segs; segundo; segundos; second; seconds; sekunde; sekunden; seconde; secondes",
        ),
        "min": ("minute", "mins; minuto; minutos; minute; minutes; minuten"),
        "h": ("hour", "hr; hrs; hora; horas; hour; hours; stunde; stunden; std; heure; heures"),
        "d": ("day", "dia; dias; day; days; tag; tage; tagen; jour; jours"),
    },
    "frequency": {
        "Hz": ("hertz", "hertz"),
        "kHz": ("kilohertz", "KHz; khz"),
        "MHz": ("megahertz", "Mhz"),
        "GHz": ("gigahertz", "Ghz"),
    },
    "share": {
        "%": ("percent", "por cento; percent; per cent; prozent; pour cent"),
        "‰": ("permille", "por mil; per mille; promille"),
        "ppm": ("ppm", "PPM; partes por milhão; parts per million"),
        "ppb": ("ppb", "PPB"),
    },
    "concentration": {
        "ng/m³": ("nanogram/meter**3", "ng/m3"),
        "µg/m³": (
            "microgram/meter**3",
            "ug/m3; µg/m3; ug/m³; µg m⁻³; mcg/m3; µg/Nm³; microgramas por metro cúbico; "
            "micrograms per cubic meter; micrograms per cubic metre",
        ),
        "mg/m³": ("milligram/meter**3", "mg/m3"),
        "g/m³": ("gram/meter**3", "g/m3"),
        "mg/l": ("milligram/liter", "mg/L"),
        "g/l": ("gram/liter", "g/L"),
        "mg/dl": ("milligram/deciliter", "mg/dL"),
    },
    "rain": {
        "l/m²": ("liter/meter**2", "l/m2; L/m²; L/m2; litros por metro quadrado; liter pro quadratmeter"),
    },
    "rain rate": {
        "mm/h": ("millimeter/hour", "mm/hr; milímetros por hora"),
        "in/h": ("inch/hour", "in/hr"),
    },
    "flow": {
        "l/s": ("liter/second", "L/s; litros por segundo"),
        "l/min": ("liter/minute", "L/min; litros por minuto"),
        "m³/s": ("meter**3/second", "m3/s; m³ s⁻¹; metros cúbicos por segundo; cubic meters per second"),
        "m³/h": ("meter**3/hour", "m3/h"),
        "hm³/d": ("hectometer**3/day", "hm3/dia; hm³/dia"),
    },
    "irradiance": {
        "W/m²": ("watt/meter**2", "W/m2; w/m2; W m⁻²"),
    },
    "irradiation": {
        "kWh/m²": ("kilowatt*hour/meter**2", "kWh/m2"),
    },
    "dose rate": {
        "nSv/h": ("nanosievert/hour", "nsv/h"),
        "µSv/h": ("microsievert/hour", "uSv/h; usv/h"),
        "mSv/h": ("millisievert/hour", ""),
    },
    "activity": {
        "Bq/m³": ("becquerel/meter**3", "Bq/m3"),
        "Bq/l": ("becquerel/liter", "Bq/L"),
    },
    "voltage": {"mV": ("millivolt", ""), "V": ("volt", "volt; volts"), "kV": ("kilovolt", "KV")},
    "current": {"mA": ("milliampere", ""), "A": ("ampere", "amp; amps; ampere; amperes; ampères")},
    "charge": {"mAh": ("milliampere*hour", "mah"), "Ah": ("ampere*hour", "")},
    "light": {"lx": ("lux", "lux"), "klx": ("kilolux", "")},
    "density of people": {
        "/km²": ("1/kilometer**2", "hab/km²; hab/km2; hab./km²; hab./km2; habitantes/km²; inhabitants/km²"),
    },
    "carbon of transport": {
        "g/km": ("gram/kilometer", "g CO2/km; gCO2/km"),
    },
    "carbon of power": {
        "g/kWh": ("gram/(kilowatt*hour)", "gCO2/kWh; gCO₂eq/kWh; gCO2eq/kWh; g CO2/kWh"),
    },
}
TEMPERATURE_UNITS = frozenset(UNIT_GROUPS["temperature"])
UNCONVERTIBLE_UNITS: dict[str, str] = {
    "dB": "db; decibel; decibéis; decibels; dezibel",
    "dB(A)": "dBA; db(A); dBa",
    "rpm": "RPM; rot/min; r/min; U/min",
    "bpm": "BPM; batimentos por minuto",
    "fps": "FPS",
    "l/100 km": "l/100km; L/100km; L/100 km; litros aos 100",
    "pH": "",
}
"""Units without conversion."""
LONGEST_UNIT = 40
SIGNIFICANT_DIGITS = 18
"""Digits of a converted number that is not finite, such as a third of a metre."""
_SAFE_CHARACTERS = re.compile(r"[A-Za-zµΩÅ°%/·*^() ²³0-9_-]+")
_PINT_SYNTAX = str.maketrans({"²": "**2", "³": "**3", "·": "*", "^": "**", "µ": "u"})


_PINT_NAMES = {unit: name for group in UNIT_GROUPS.values() for unit, (name, _) in group.items()}


def _spellings() -> tuple[dict[str, str], dict[str, str]]:
    exact: dict[str, str] = {}
    words: dict[str, str] = {}
    listed = [(unit, others) for group in UNIT_GROUPS.values() for unit, (_, others) in group.items()]
    for unit, others in (*listed, *UNCONVERTIBLE_UNITS.items()):
        for spelling in (unit, *others.split("; ")):
            exact.setdefault(spelling, unit)
            if len(spelling) > 3:
                words.setdefault(spelling.casefold(), unit)
    exact.pop("", None)
    return exact, words


_EXACT, _WORDS = _spellings()
_ANY_SPELLING = "|".join(re.escape(spelling) for spelling in sorted({*_EXACT, *_WORDS}, key=len, reverse=True))
_LEADING = re.compile(rf"\s*(?:de |of )?({_ANY_SPELLING})(?![^\W_]|[/²³](?=\w))\.?", re.IGNORECASE)


def unit_named(spelling: str) -> str | None:
    """Return the canonical unit of a known spelling; None if unknown."""
    return _EXACT.get(spelling) or (_WORDS.get(spelling.casefold()) if len(spelling) > 3 else None)


def split_unit(after: str) -> tuple[str, str]:
    """Return the unit at the start of a text, and the remaining text; empty if there is none."""
    match = _LEADING.match(after)
    unit = unit_named(match[1]) if match else None
    return (unit, after[match.end() :]) if match and unit else ("", after)


def canonical_unit(unit: str) -> str:
    """Return the canonical form of a unit; raise `TarantulaError` with similar names if it is unknown."""
    spelling = " ".join(unit.split())
    if (usual := unit_named(spelling)) is not None:
        return usual
    if not spelling or len(spelling) > LONGEST_UNIT or _dimension(spelling) is None:
        near = did_you_mean(spelling[:LONGEST_UNIT], {*_EXACT, *_WORDS})
        raise TarantulaError(
            "{unit!r} is not a unit of measure.{hint} Examples: km/h, °C, µg/m³.", unit=unit[:LONGEST_UNIT], hint=near
        )
    return spelling


def convertible_units(unit: str) -> list[str]:
    """Return the common units that a unit can be converted to, including itself."""
    if unit not in _EXACT and (code := currency_code(unit)) is not None:
        return [code]  # Exchange rates are separate sources.
    usual = canonical_unit(unit)
    group = next((list(group) for group in UNIT_GROUPS.values() if usual in group), None)
    if usual in UNCONVERTIBLE_UNITS:
        return [usual]
    dimension = _dimension(usual)
    if group is None or len(group) == 1:
        fitting = [unit for units in UNIT_GROUPS.values() for unit in units if _dimension(unit) == dimension]
        return list(dict.fromkeys((usual, *fitting)))
    return group


def convert_unit(number: Decimal, from_: str, to: str) -> Decimal:
    """Convert a number between units, exactly if the result is finite; raise `ValueParseError` if they are
    incompatible."""
    try:
        source, end = canonical_unit(from_), canonical_unit(to)
    except TarantulaError as error:
        raise ValueParseError(str(error)) from None
    if source == end:
        return number
    conversion = _conversion(source, end)
    if conversion is None:
        raise ValueParseError(
            "{source} cannot be converted to {end}: they measure different things.", source=source, end=end
        )
    factor, offset = conversion
    return _decimal(Fraction(number) * factor + offset)


@lru_cache(2048)
def _conversion(source: str, end: str) -> tuple[Fraction, Fraction] | None:
    """Return factor and offset between two units; None if they are incompatible."""
    first = _dimension(source)
    if first is None or first != _dimension(end):
        return None
    zero, one = (
        Fraction(_registry().convert(Fraction(number), _pint_name(source), _pint_name(end))) for number in (0, 1)
    )
    return one - zero, zero


@lru_cache(2048)
def _dimension(unit: str) -> frozenset[tuple[str, Any]] | None:
    """Return the dimensions of a unit; None if it is unknown or cannot be converted."""
    if (
        unit in UNCONVERTIBLE_UNITS
        or not _SAFE_CHARACTERS.fullmatch(_pint_name(unit))
        or re.search(r"\d{2}|\*\*\s*\*|\(.*\(", _pint_name(unit))
    ):
        return None
    try:
        parsed: Any = _registry().parse_units(_pint_name(unit))
        _registry().convert(Fraction(1), parsed, parsed)
    except Exception:  # pint raises many exception types for invalid input
        return None
    if any(part.startswith(("decibel", "delta_", "neper")) for part in parsed._units):
        return None
    return frozenset(parsed.dimensionality.items())


def _pint_name(unit: str) -> str:
    return _PINT_NAMES.get(unit) or unit.translate(_PINT_SYNTAX)


@lru_cache(1)
def _registry() -> UnitRegistry[Any]:
    # Imported here: slow, and needed only if units differ.
    from pint import UnitRegistry

    registry: UnitRegistry[Any] = UnitRegistry(non_int_type=Fraction, autoconvert_offset_to_baseunit=True)
    registry.define("ppb = 1e-9")
    return registry


def _decimal(number: Fraction) -> Decimal:
    rest = number.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    context = Context(prec=400 if rest == 1 else SIGNIFICANT_DIGITS)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def check_unit(unit: str, kind: ValueKind = ValueKind.QUANTITY) -> str:
    """Return the canonical unit of a field; raise `TarantulaError` with similar names if it is unknown."""
    spelling = unit.strip()
    if not spelling:
        return ""
    if kind is ValueKind.QUANTITY:
        return canonical_unit(spelling)
    if kind is ValueKind.MONEY:
        return _currency(spelling)
    if kind is ValueKind.DURATION and spelling.casefold() not in UNIT_SECONDS:
        raise TarantulaError("{spelling!r} is not a unit of time. Write s, min, h or d.", spelling=spelling[:40])
    return spelling


def _currency(spelling: str) -> str:
    if (code := currencies.currency_code(spelling)) is not None:
        return code
    near = did_you_mean(spelling.upper()[:10], sorted(currencies.CURRENCY_CODES))
    raise TarantulaError(
        "{spelling!r} is not a currency.{hint} Use its code, such as EUR.", spelling=spelling[:40], hint=near
    )
