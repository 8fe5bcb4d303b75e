"""Attention rules of a publication on indicators: ``errors > 20%``, ``base-missing``, ``404 > 10%``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from tarantula.core.messages import Message, did_you_mean
from tarantula.core.reasons import Reason, reason_fields


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


MEASURES = {
    "errors": IndicatorUnit.PERCENT,
    "waiting": IndicatorUnit.PERCENT,
    "collected": IndicatorUnit.NUMBER,
    "documents": IndicatorUnit.PERCENT,
    "bytes": IndicatorUnit.PERCENT,
    "missing-requisites": IndicatorUnit.PERCENT,
    "vanished-servers": IndicatorUnit.PERCENT,
    "vanished-types": IndicatorUnit.PERCENT,
    "base-missing": IndicatorUnit.FLAG,
    "base-changed": IndicatorUnit.FLAG,
    "mirror-missing": IndicatorUnit.PERCENT,
    "missing-bodies": IndicatorUnit.NUMBER,
    "damaged-files": IndicatorUnit.NUMBER,
}
"""Indicators that rules can refer to, with their units; the reasons of fired rules are in `tarantula.core.reasons`."""
FIXITY_REASONS = frozenset({"indicator_missing_bodies", "indicator_damaged_files"})
"""Codes of reasons that later checks of stored files change."""
ALWAYS_INCOMPLETE = ("missing-bodies > 0", "mirror-missing > 0%")
ALWAYS_ATTENTION = ("damaged-files > 0",)
"""Rules that apply to every item: what cannot be read is not complete, whatever the publication says."""
STATE_UNIT = IndicatorUnit.PERCENT
"""Unit of the share of a state."""

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
        return f"{self.indicator} {self.sign} {_decimal(self.limit, 6)}{self.unit.value}"

    @property
    def unit(self) -> IndicatorUnit:
        """The unit of its indicator."""
        return MEASURES.get(self.indicator, STATE_UNIT)

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
    """English sentence of the reason."""
    reason_code: str
    reason_parameters: dict[str, Any]


def parse_rule(text: str) -> AttentionRule:
    """Parse a rule; raise ValueError with a message for people."""
    found = _RULE.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(
            Message("{text!r} is not a rule. Write it as 'errors > 20%', '404 > 10%' or base-missing.", text=text[:80])
        )
    name, sign, limit, percent = found.groups()
    if name not in MEASURES and not name.lstrip("-").isdigit():
        raise ValueError(
            Message(
                "There is no indicator {name!r}.{hint} There are {indicators}, and the numbers of states.",
                name=name,
                hint=did_you_mean(name, MEASURES),
                indicators=", ".join(MEASURES),
            )
        )
    unit = MEASURES.get(name, STATE_UNIT)
    if (unit is IndicatorUnit.FLAG) != (sign is None) or (sign and (unit is IndicatorUnit.PERCENT) != bool(percent)):
        raise ValueError(Message("{text!r} is not a rule: {how}.", text=text[:80], how=_how_to_write(name, unit)))
    return AttentionRule(name, sign or "", float(limit or 0))


def check_rule(text: str) -> str:
    """Return a rule in its canonical form."""
    return str(parse_rule(text))


def evaluate_rules(values: IndicatorValues, attention: list[str], incomplete: list[str]) -> list[FiredRule]:
    """Return the rules that fire, with those of all publications: those of *incomplete* first."""
    rules = [(rule, RuleEffect.INCOMPLETE) for rule in dict.fromkeys((*ALWAYS_INCOMPLETE, *incomplete))] + [
        (rule, RuleEffect.ATTENTION) for rule in dict.fromkeys((*ALWAYS_ATTENTION, *attention))
    ]
    return [_fired(rule, effect, values) for text, effect in rules if (rule := parse_rule(text)).fires(values)]


def _fired(rule: AttentionRule, effect: RuleEffect, values: IndicatorValues) -> FiredRule:
    value = rule.value(values) or 0.0
    return FiredRule(str(rule), effect, round(value, 2), **reason_fields(_reason(rule, value)))


def _reason(rule: AttentionRule, value: float) -> Reason:
    indicator = rule.indicator.replace("-", "_") if rule.indicator in MEASURES else "state"
    if rule.unit is IndicatorUnit.FLAG:
        return Reason.of(f"indicator_{indicator}", rule=str(rule))
    return Reason.of(f"indicator_{indicator}", value=_decimal(value, 1) + rule.unit.value, rule=str(rule))


def _how_to_write(name: str, unit: IndicatorUnit) -> str:
    if unit is IndicatorUnit.FLAG:
        return f"{name} is a yes-or-no indicator and takes no limit"
    example = "20%" if unit is IndicatorUnit.PERCENT else "20"
    return f"{name} is a {'percentage' if unit is IndicatorUnit.PERCENT else 'number'}, as in '{name} > {example}'"


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")
