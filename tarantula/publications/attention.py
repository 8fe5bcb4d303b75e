"""Attention rules of a publication on indicators (``errors > 20%``, ``base-missing``, ``404
> 10%``), and which fired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from tarantula.core.messages import did_you_mean
from tarantula.core.states import ItemState, Validation
from tarantula.models import Item


class IndicatorUnit(Enum):
    """What an indicator is measured in."""

    PERCENT = "%"
    NUMBER = ""
    FLAG = "yes or no"


class RuleEffect(StrEnum):
    """What follows when a rule fires."""

    ATTENTION = "attention"
    """Somebody should look at the item."""
    INCOMPLETE = "incomplete"
    """The item is not called complete."""


class IndicatorMeasure(NamedTuple):
    """An indicator that rules can speak of."""

    unit: IndicatorUnit
    sentence: str


MEASURES = {
    "errors": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the documents that were asked for could not be had"),
    "waiting": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the documents still wait"),
    "collected": IndicatorMeasure(IndicatorUnit.NUMBER, "{} documents were collected"),
    "documents": IndicatorMeasure(IndicatorUnit.PERCENT, "The number of documents changed by {}"),
    "bytes": IndicatorMeasure(IndicatorUnit.PERCENT, "The bytes changed by {}"),
    "missing-requisites": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of what pages are made of could not be had"),
    "vanished-servers": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the servers of the item before are gone"),
    "vanished-types": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the types of the item before are gone"),
    "base-missing": IndicatorMeasure(IndicatorUnit.FLAG, "The base document was not collected"),
    "base-changed": IndicatorMeasure(IndicatorUnit.FLAG, "The base document changed"),
}
STATE_MEASURE = IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the documents have that state")

IndicatorValues = Mapping[str, float | None]
"""The value of every indicator; none where it cannot be told. A state that is not there has no documents."""

_RULE = re.compile(r"([a-z-]+|-?\d{1,3})(?:\s*([<>])\s*([+-]?\d{1,12}(?:\.\d{1,6})?)\s*(%?))?")


@dataclass(frozen=True, slots=True)
class AttentionRule:
    """An indicator, and where it must not be: over a limit, under it, or true at all."""

    indicator: str
    sign: str = ""
    limit: float = 0.0

    def __str__(self) -> str:
        if not self.sign:
            return self.indicator
        return f"{self.indicator} {self.sign} {_decimal(self.limit, 6)}{self.measure.unit.value}"

    @property
    def measure(self) -> IndicatorMeasure:
        """What it speaks of."""
        return MEASURES.get(self.indicator, STATE_MEASURE)

    def fires(self, values: IndicatorValues) -> bool:
        """Whether the item is as it should not be; what cannot be told fires nothing."""
        value = self.value(values)
        if value is None:
            return False
        if not self.sign:
            return bool(value)
        return value > self.limit if self.sign == ">" else value < self.limit

    def value(self, values: IndicatorValues) -> float | None:
        """Return the value that it looks at."""
        return values.get(self.indicator, None if self.indicator in MEASURES else 0.0)


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that an item breaks."""

    rule: str
    effect: str
    value: float
    reason: str


def parse_rule(text: str) -> AttentionRule:
    """Read a rule, or say in one sentence what is wrong with it."""
    found = _RULE.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{text[:80]!r} is not a rule. Write it as 'errors > 20%', '404 > 10%' or base-missing.")
    name, sign, limit, percent = found.groups()
    if name not in MEASURES and not name.lstrip("-").isdigit():
        raise ValueError(
            f"There is no indicator {name!r}.{did_you_mean(name, MEASURES)} There are {', '.join(MEASURES)}, "
            "and the numbers of states."
        )
    unit = MEASURES.get(name, STATE_MEASURE).unit
    if (unit is IndicatorUnit.FLAG) != (sign is None) or (sign and (unit is IndicatorUnit.PERCENT) != bool(percent)):
        raise ValueError(f"{text[:80]!r} is not a rule: {_how_to_write(name, unit)}.")
    return AttentionRule(name, sign or "", float(limit or 0))


def check_rule(text: str) -> str:
    """Return a rule in its canonical form."""
    return str(parse_rule(text))


def evaluate_rules(values: IndicatorValues, attention: list[str], incomplete: list[str]) -> list[FiredRule]:
    """Return the rules that an item breaks, the grave ones first."""
    rules = [(rule, RuleEffect.INCOMPLETE) for rule in incomplete] + [
        (rule, RuleEffect.ATTENTION) for rule in attention
    ]
    return [_fired(rule, effect, values) for text, effect in rules if (rule := parse_rule(text)).fires(values)]


def _fired(rule: AttentionRule, effect: RuleEffect, values: IndicatorValues) -> FiredRule:
    value = rule.value(values) or 0.0
    said = rule.measure.sentence.format(_decimal(value, 1) + rule.measure.unit.value)
    return FiredRule(str(rule), effect, round(value, 2), f"{said} ({rule}).")


def _how_to_write(name: str, unit: IndicatorUnit) -> str:
    if unit is IndicatorUnit.FLAG:
        return f"{name} is true or not, and stands alone"
    example = "20%" if unit is IndicatorUnit.PERCENT else "20"
    return f"{name} is a {'percentage' if unit is IndicatorUnit.PERCENT else 'number'}, as in '{name} > {example}'"


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def attention_reasons(item: Item) -> list[str]:
    """Return why somebody should look at an item, one sentence a rule; nothing once somebody has decided."""
    if item.validation != Validation.PENDING:
        return []
    return [fired["reason"] for fired in item.attention or ()]


def is_complete(state: str, effects: Iterable[str]) -> bool:
    """Whether an item of that state is called complete: archived, and no rule that fired stands against it."""
    return state == ItemState.ARCHIVED and RuleEffect.INCOMPLETE not in effects


def fired_effects(item: Item) -> list[str]:
    """Return the effects of the rules that an item broke when it ended."""
    return [fired["effect"] for fired in item.attention or ()]
