"""CPU time to parse one text as the type of its field, in microseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import cycle, islice
from random import Random
from typing import Any, NamedTuple

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import parse_value

TEXTS = 5000
"""Distinct texts of each kind."""
HISTORY = 20
NOW = datetime.fromisoformat("2026-06-14T12:00:00+01:00")
MONTHS = ("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho")


class Read(NamedTuple):
    """A workload: random texts of one kind."""

    kind: ValueKind
    unit: str
    text: Callable[[Random], str]


READ = {
    "plain_number": Read(
        ValueKind.DECIMAL, "", lambda dice: f"{dice.randrange(1, 9)}.{dice.randrange(100, 999)},{_two(dice)}"
    ),
    "money": Read(
        ValueKind.MONEY, "EUR", lambda dice: f"{dice.randrange(1, 9)}.{dice.randrange(100, 999)},{_two(dice)} €"
    ),
    "quantity": Read(ValueKind.QUANTITY, "km/h", lambda dice: f"{dice.randrange(100, 9999)},{_two(dice)} nós"),
    "date_in_digits": Read(
        ValueKind.MOMENT, "", lambda dice: f"{_day(dice)}/0{dice.randrange(1, 8)}/{_year(dice)} {_clock(dice)}"
    ),
    "date_in_words": Read(
        ValueKind.MOMENT, "", lambda dice: f"{_day(dice)} de {dice.choice(MONTHS)} de {_year(dice)} às {_clock(dice)}"
    ),
}


def measure() -> dict[str, Any]:
    """Parse texts with a constant history, and numbers with a changing one."""
    dice = Random(3)
    found = {}
    for name, one in READ.items():
        texts = list(dict.fromkeys(one.text(dice) for _ in range(2 * TEXTS)))[:TEXTS]
        found[f"{name}_us"] = _took(one, texts, [texts[:HISTORY]])
    numbers = READ["plain_number"]
    texts = list(dict.fromkeys(numbers.text(dice) for _ in range(2 * TEXTS)))[:TEXTS]
    moving = [texts[number : number + HISTORY] for number in range(len(texts) - HISTORY)]
    return {**found, "plain_number_with_a_history_that_changed_us": _took(numbers, texts, moving)}


def _took(one: Read, texts: Sequence[str], histories: Sequence[Sequence[str]]) -> float:
    parse_value(texts[0], one.kind, one.unit, histories[0], now=NOW)
    pairs = list(zip(texts[1:], islice(cycle(histories), len(texts) - 1), strict=True))
    began = time.process_time()
    for text, history in pairs:
        parse_value(text, one.kind, one.unit, history, now=NOW)
    return round((time.process_time() - began) / len(pairs) * 1e6, 1)


def _two(dice: Random) -> str:
    return f"{dice.randrange(100):02d}"


def _day(dice: Random) -> int:
    return dice.randrange(13, 29)


def _year(dice: Random) -> int:
    return dice.randrange(2000, 2027)


def _clock(dice: Random) -> str:
    return f"{dice.randrange(24):02d}:{dice.randrange(60):02d}"
