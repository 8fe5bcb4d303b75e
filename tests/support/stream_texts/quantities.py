"""Quantities and durations, as pages write them."""

from __future__ import annotations

from tarantula.streams.kinds import ValueKind
from tests.support.stream_texts.habit import Habit

QUANTITIES = (
    Habit(
        "weather in Portuguese",
        ValueKind.QUANTITY,
        "°C",
        ("12,5 °C", "9 °C", "−1,0 °C", "23,4 °C", "18 °C"),
        {
            "−3,5 °C": "-3.5",
            "23ºC": "23",
            "23º": "23",
            "17,2 ° C": "17.2",
            "20 graus": "20",
            "50 °F": "10",
            "300,15 K": "27",
            "Temperatura: 12,5 °C": "12.5",
            "-40 °F": "-40",
        },
    ),
    Habit(
        "wind in Portuguese",
        ValueKind.QUANTITY,
        "km/h",
        ("12 km/h", "9,5 km/h", "35 km/h", "101 km/h", "0 km/h"),
        {
            "15,5 km/h": "15.5",
            "10 m/s": "36",
            "10 nós": "18.52",
            "20 kmh": "20",
            "7 quilómetros por hora": "7",
            "10 mph": "16.09344",
            "NW 12 km/h": "12",
            "12 km / h": "12",
        },
    ),
    Habit(
        "pressure in Portuguese",
        ValueKind.QUANTITY,
        "hPa",
        ("1.013 hPa", "998 hPa", "1.021,5 hPa", "1.009 hPa", "987,0 hPa"),
        {"1.018 hPa": "1018", "1013,25 hPa": "1013.25", "1015 mb": "1015", "101,3 kPa": "1013", "1 bar": "1000"},
    ),
    Habit(
        "distances in English",
        ValueKind.QUANTITY,
        "km",
        ("1,204 km", "12.5 km", "987 km", "3.75 km", "12,000 km"),
        {
            "1,234.5 km": "1234.5",
            "500 m": "0.5",
            "10 miles": "16.09344",
            "1.5 thousand km": "1500",
            "12 kilometres": "12",
        },
    ),
    Habit(
        "air",
        ValueKind.QUANTITY,
        "µg/m³",
        ("12 µg/m³", "9,5 µg/m³", "35 µg/m³", "101 µg/m³", "7,25 µg/m³"),
        {"PM2.5: 12,5 µg/m³": "12.5", "13 ug/m3": "13", "0,5 mg/m³": "500", "8 μg/m³": "8"},
    ),
    Habit(
        "rain and reservoirs",
        ValueKind.QUANTITY,
        "mm",
        ("1,2 mm", "0 mm", "12,5 mm", "33,0 mm", "0,4 mm"),
        {"3,5 l/m²": "3.5", "1,5 cm": "15", "7 mm": "7", "2 milímetros": "2", "1 in": "25.4"},
    ),
    Habit(
        "files",
        ValueKind.QUANTITY,
        "MB",
        ("1.5 MB", "800 kB", "12 MB", "0.3 MB", "3.25 GB"),
        {"1.5 GB": "1500", "1 MiB": "1.048576", "512 KB": "0.512", "2048 bytes": "0.002048", "4 GiB": "4294.967296"},
    ),
    Habit(
        "electricity in German",
        ValueKind.QUANTITY,
        "MWh",
        ("1.204,5 MWh", "987,2 MWh", "12.004 MWh", "3,75 MWh", "45,0 MWh"),
        {"12.345 MWh": "12345", "1,5 GWh": "1500", "250 kWh": "0.25", "2 Mio. kWh": "2000", "3,6 TWh": "3600000"},
    ),
)

DURATIONS = (
    Habit(
        "lengths of films",
        ValueKind.DURATION,
        "",
        ("1:52:10", "58:03", "2:01:00", "3:15", "12:40"),
        {"1:23:45": "5025", "12:34": "754", "0:59": "59", "100:00": "6000"},
    ),
    Habit(
        "waiting in Portuguese",
        ValueKind.DURATION,
        "",
        ("5 minutos", "1 hora", "1 hora e 5 minutos", "45 minutos", "2 dias"),
        {
            "1 hora e 20 minutos": "4800",
            "3 dias": "259200",
            "2h05": "7500",
            "1,5 horas": "5400",
            "30 seg": "30",
            "1 semana": "604800",
            "uma hora": "3600",
            "2d 3h 4m": "183840",
            "atraso: 5 min": "300",
            "1 dia, 2 horas": "93600",
        },
    ),
    Habit(
        "travelling in English",
        ValueKind.DURATION,
        "",
        ("2h 5m", "45m", "1h", "3h 59m", "12m"),
        {
            "2h 35m": "9300",
            "PT5M": "300",
            "P1DT2H": "93600",
            "1 hour, 20 minutes": "4800",
            "90 min": "5400",
            "2 days": "172800",
            "1:05 h": "3900",
            "1h23m45s": "5025",
            "1 day, 2:03:04": "93784",
        },
    ),
    Habit(
        "travelling in German and French",
        ValueKind.DURATION,
        "",
        ("1 Std. 5 Min.", "45 Minuten", "2 Stunden", "1 heure", "3 jours"),
        {
            "1 Std. 20 Min.": "4800",
            "2 heures et 5 minutes": "7500",
            "1 Tag": "86400",
            "1,5 Stunden": "5400",
            "2 h 30": "9000",
        },
    ),
    Habit(
        "laps",
        ValueKind.DURATION,
        "",
        ("1:24.310", "1:25.002", "1:23.998", "1:24.555", "59.871 s"),
        {"1:23.456": "83.456", "1:23,4": "83.4", "58.5 s": "58.5", "350 ms": "0.35"},
    ),
)
