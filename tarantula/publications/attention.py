"""Attention rules of a publication on indicators: ``errors > 20%``, ``base-missing``, ``404 > 10%``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from tarantula.core.messages import did_you_mean


class IndicatorUnit(Enum):
    """Unit of an indicator."""

    PERCENT = "%"
    NUMBER = ""
    FLAG = "yes or no"


class RuleEffect(StrEnum):
    """Effect of a rule that fires."""

    ATTENTION = "attention"
    """The item needs attention."""
    INCOMPLETE = "incomplete"
    """The item is not complete."""


class IndicatorMeasure(NamedTuple):
    """An indicator that rules can refer to, with the sentence that reports its value."""

    unit: IndicatorUnit
    sentence: str


MEASURES = {
    "errors": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the requested documents failed"),
    "waiting": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the documents are still waiting"),
    "collected": IndicatorMeasure(IndicatorUnit.NUMBER, "{} documents were collected"),
    "documents": IndicatorMeasure(IndicatorUnit.PERCENT, "The number of documents changed by {}"),
    "bytes": IndicatorMeasure(IndicatorUnit.PERCENT, "The bytes changed by {}"),
    "missing-requisites": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the page requisites are missing"),
    "vanished-servers": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the servers of the previous item are gone"),
    "vanished-types": IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the types of the previous item are gone"),
    "base-missing": IndicatorMeasure(IndicatorUnit.FLAG, "The base document was not collected"),
    "base-changed": IndicatorMeasure(IndicatorUnit.FLAG, "The base document changed"),
}
STATE_MEASURE = IndicatorMeasure(IndicatorUnit.PERCENT, "{} of the documents have that state")

IndicatorValues = Mapping[str, float | None]
"""Values of the indicators; None if unknown. A state without a value has no documents."""

_RULE = re.compile(r"([a-z-]+|-?\d{1,3})(?:\s*([<>])\s*([+-]?\d{1,12}(?:\.\d{1,6})?)\s*(%?))?")


@dataclass(frozen=True, slots=True)
class AttentionRule:
    """An indicator with a limit that it must not exceed or fall below, or a yes-or-no indicator."""

    indicator: str
    sign: str = ""
    limit: float = 0.0

    def __str__(self) -> str:
        if not self.sign:
            return self.indicator
        return f"{self.indicator} {self.sign} {_decimal(self.limit, 6)}{self.measure.unit.value}"

    @property
    def measure(self) -> IndicatorMeasure:
        """The measure of its indicator."""
        return MEASURES.get(self.indicator, STATE_MEASURE)

    def fires(self, values: IndicatorValues) -> bool:
        """Whether the rule is violated; an unknown value never fires."""
        value = self.value(values)
        if value is None:
            return False
        if not self.sign:
            return bool(value)
        return value > self.limit if self.sign == ">" else value < self.limit

    def value(self, values: IndicatorValues) -> float | None:
        """Return the value of its indicator."""
        return values.get(self.indicator, None if self.indicator in MEASURES else 0.0)


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that an item violates."""

    rule: str
    effect: str
    value: float
    reason: str


def parse_rule(text: str) -> AttentionRule:
    """Parse a rule; raise ValueError with a message for people."""
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
    """Return the rules that fire, those of *incomplete* first."""
    rules = [(rule, RuleEffect.INCOMPLETE) for rule in incomplete] + [
        (rule, RuleEffect.ATTENTION) for rule in attention
    ]
    return [_fired(rule, effect, values) for text, effect in rules if (rule := parse_rule(text)).fires(values)]


def fired_sentence(rule: AttentionRule, value: float) -> str:
    """Return the sentence that reports a fired rule with the value of its indicator."""
    sentence = rule.measure.sentence.format(_decimal(value, 1) + rule.measure.unit.value)
    return f"{sentence} ({rule})."


def _fired(rule: AttentionRule, effect: RuleEffect, values: IndicatorValues) -> FiredRule:
    value = rule.value(values) or 0.0
    return FiredRule(str(rule), effect, round(value, 2), fired_sentence(rule, value))


def _how_to_write(name: str, unit: IndicatorUnit) -> str:
    if unit is IndicatorUnit.FLAG:
        return f"{name} is a yes-or-no indicator and takes no limit"
    example = "20%" if unit is IndicatorUnit.PERCENT else "20"
    return f"{name} is a {'percentage' if unit is IndicatorUnit.PERCENT else 'number'}, as in '{name} > {example}'"


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")
