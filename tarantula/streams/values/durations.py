"""Parse durations, and the words of time units, months and weekdays in several languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values.numbers import canonical_number, numeral_value, shift_decimal
from tarantula.streams.values.numerals import find_numeral
from tarantula.streams.values.value import Value, ValueParseError, quote_text

_ISO = re.compile(
    r"([-+])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?(?<![PT])", re.IGNORECASE
)
_CLOCK = re.compile(
    r"([-+])?\s?(?:(\d{1,6})\s?(?:d|dias?|days?|tage?|jours?),?\s)?(\d{1,6}):([0-5]\d)(?::([0-5]\d))?([.,]\d{1,9})?"
    r"(?:\s?(h|min|s))?",
    re.IGNORECASE,
)
_PART = re.compile(r"""(?:,|e|and|und|et|\s)*(\d{1,12}(?:[.,]\d{1,9})?)\s?([^\W\d_]+\.?|''|'|"|$)""", re.IGNORECASE)
_TITLE = re.compile(r"^(?:[^\W\d_]+ ){0,3}[^\W\d_]+:\s")
_SMALLER_UNIT = {604800: 86400, 86400: 3600, 3600: 60, 60: 1}
_SIGNS = {"'": 60, "''": 1, '"': 1}
_MONTHS = (
    "janeiro january januar jänner janvier jan janv",
    "fevereiro february februar feber février fevrier fev feb févr fevr fév",
    "março marco march märz maerz mars mar mär mrz",
    "abril april avril abr apr avr",
    "maio may mai",
    "junho june juni juin jun",
    "julho july juli juillet jul juil",
    "agosto august août aout ago aug",
    "setembro september septembre set sep sept",
    "outubro october oktober octobre out oct okt",
    "novembro november novembre nov",
    "dezembro december dezember décembre decembre dez dec déc",
)


def parse_duration_text(text: str, unit: str, history: Sequence[str]) -> Value:
    """Parse a duration into seconds; a bare number is in the unit of the field."""
    text = count_to_digits(_TITLE.sub("", text))
    seconds = _iso_duration(text)
    if seconds is None:
        seconds = _clock_duration(text, unit)
    if seconds is None:
        seconds = _single_unit(text, unit, history)
    if seconds is None:
        seconds = sum_duration_parts(text)
    if seconds is None:
        raise ValueParseError("{text} is not a duration. Write it as 1:23:45, 2h 5m or 3 days.", text=quote_text(text))
    return Value(ValueKind.DURATION, canonical_number(seconds), seconds)


def count_to_digits(text: str) -> str:
    """Replace a number word at the start of a text by digits: two hours."""
    first, space, rest = text.partition(" ")
    return f"{COUNT_WORDS[first.casefold()]} {rest}" if space and first.casefold() in COUNT_WORDS else text


def _iso_duration(text: str) -> Decimal | None:
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    sign, weeks, days, hours, minutes, seconds = match.groups()
    whole = sum(int(part or 0) * size for part, size in zip((weeks, days, hours, minutes), _SMALLER_UNIT, strict=True))
    total = whole + Decimal((seconds or "0").replace(",", "."))
    return -total if sign == "-" else total


def _clock_duration(text: str, unit: str) -> Decimal | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    sign, days, first, second, third, fraction, written = match.groups()
    # Two parts are minutes and seconds, unless the text or the field has the unit h.
    in_hours = third is not None or (fraction is None and (days is not None or _is_hours(written or unit)))
    whole = int(first) * 3600 + int(second) * 60 if in_hours else int(first) * 60 + int(second)
    total = Decimal(whole + int(days or 0) * 86400 + int(third or 0))
    if fraction:
        total += Decimal(fraction.replace(",", "."))
    return -total if sign == "-" else total


def _is_hours(unit: str) -> bool:
    return UNIT_SECONDS.get(unit.casefold()) == 3600


def _single_unit(text: str, unit: str, history: Sequence[str]) -> Decimal | None:
    """Parse one number with one unit: 1,5 h."""
    try:
        found = find_numeral(text)
    except ValueParseError:
        return None
    word = found.after.strip(" .").casefold() or unit.casefold()
    if word in ("ms", "milissegundos", "milliseconds", "millisekunden", "millisecondes"):
        return shift_decimal(numeral_value(found, ValueKind.QUANTITY, history), -3)
    if word in UNIT_MONTHS:
        raise ValueParseError("{text} has no fixed length: months and years differ.", text=quote_text(text))
    if found.before or word not in UNIT_SECONDS:
        return None
    return numeral_value(found, ValueKind.QUANTITY, history) * UNIT_SECONDS[word]


def sum_duration_parts(text: str) -> Decimal | None:
    """Parse hours, minutes and so on, larger before smaller: 1 hora e 20 minutos, 2h05."""
    negative, rest = text.startswith("-"), text.lstrip("-+ ")
    total, smallest, place = Decimal(0), 0, 0
    while place < len(rest):
        match = _PART.match(rest, place)
        size = _unit_seconds(match[2], smallest) if match else None
        if match is None or size is None or (smallest and size >= smallest):
            return None
        total += Decimal(match[1].replace(",", ".")) * size
        smallest, place = size, match.end()
    return (-total if negative else total) if smallest else None


def _unit_seconds(written: str, before: int) -> int | None:
    if not written:
        return _SMALLER_UNIT.get(before)
    return _SIGNS.get(written) or UNIT_SECONDS.get(written.rstrip(".").casefold())


MONTHS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_WEEKDAYS = (
    "segunda segunda-feira seg monday mon montag mo lundi lun",
    "terça terça-feira terca-feira ter tuesday tue tues dienstag di mardi",
    "quarta quarta-feira qua wednesday wed mittwoch mi mercredi mer",
    "quinta quinta-feira qui thursday thu thur thurs donnerstag do jeudi jeu",
    "sexta sexta-feira sex friday fri freitag fr vendredi ven",
    "sábado sabado sáb sab saturday sat samstag sonnabend sa samedi sam",
    "domingo dom sunday sun sonntag so dimanche dim",
)
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAYS) for name in names.split()}
DATE_FILLERS = frozenset("de do da dos of the le den der am em no on dia at às as à um pelas pela a the this".split())
"""Words between the parts of a date; `mar` and `do` are also a month and a weekday, depending on position."""
DATE_LABELS = re.compile(
    r"(?:(?:última|ultima|last|letzte|dernière)\s+)?"
    r"(?:a[c]?tualiza(?:do|da|ção|cao)|modifica(?:do|da|ção)|publica(?:do|da|ção)|criado|updated?|modified|published|"
    r"posted|created|stand|aktualisiert|aktualisierung|veröffentlicht|mise?\s+à\s+jour|publiée?|data|date|datum|hora)"
    r"\s*(?:a|em|on|at|am|le|vom|de)?\s*:?\s+",
    re.IGNORECASE,
)
RELATIVE_DAYS = {
    **dict.fromkeys(("hoje", "today", "heute", "aujourd'hui"), 0),
    **dict.fromkeys(("ontem", "yesterday", "gestern", "hier"), -1),
    **dict.fromkeys(("anteontem", "vorgestern", "avant-hier"), -2),
    **dict.fromkeys(("amanhã", "amanha", "tomorrow", "demain", "morgen"), 1),
}
NOW_WORDS = frozenset(
    ("agora", "agora mesmo", "neste momento", "now", "just now", "jetzt", "gerade eben", "maintenant")
)
UNIT_SECONDS = {
    **dict.fromkeys(
        "s sec secs seg segs segundo segundos second seconds sek sekunde sekunden seconde secondes".split(), 1
    ),
    **dict.fromkeys("m min mins minuto minutos minute minutes minuten".split(), 60),
    **dict.fromkeys("h hr hrs hora horas hour hours std stunde stunden heure heures".split(), 3600),
    **dict.fromkeys("d dia dias day days tag tage tagen jour jours j".split(), 86400),
    **dict.fromkeys("w wk week weeks semana semanas woche wochen semaine semaines".split(), 604800),
}
UNIT_MONTHS = {
    **dict.fromkeys("mês mes meses month months mo monat monate monaten mois".split(), 1),
    **dict.fromkeys("ano anos year years yr yrs y jahr jahre jahren an ans année années".split(), 12),
}
_COUNTS = (
    "um uma a an one ein eine einer einem einen un une",
    "dois duas two zwei deux",
    "três tres three drei trois",
    "quatro four vier quatre",
    "cinco five fünf cinq",
    "seis six sechs",
    "sete seven sieben sept",
    "oito eight acht huit",
    "nove nine neun neuf",
    "dez ten zehn dix",
)
COUNT_WORDS = {word: number for number, words in enumerate(_COUNTS, 1) for word in words.split()}
ZONE_MINUTES = {
    "z": 0, "utc": 0, "gmt": 0, "ut": 0, "wet": 0, "west": 60, "cet": 60, "cest": 120, "mez": 60, "mesz": 120,
    "bst": 60, "eet": 120, "eest": 180, "msk": 180, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420,
    "mdt": -360, "pst": -480, "pdt": -420, "brt": -180, "azot": -60, "azost": 0, "cvt": -60, "wat": 60, "cat": 120,
}  # fmt: skip
"""Offsets from UTC in minutes, by abbreviation."""
