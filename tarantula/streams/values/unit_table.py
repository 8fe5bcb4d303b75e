"""Table of the known units of measure, by what they measure, with the spellings that pages use."""

from __future__ import annotations

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
