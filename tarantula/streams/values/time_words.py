"""Words of time in Portuguese, English, German and French: months, weekdays, units, counts and time zones."""

from __future__ import annotations

import re

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
