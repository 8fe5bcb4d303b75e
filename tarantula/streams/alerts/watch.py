"""State machine of one alert: takes values and time, returns firings; uses no database and no clock.

It fires once when its condition becomes true, and can fire again after the condition was false. An unknown condition
neither arms nor fires. First values arm or disarm it, and fire only with `at_first`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from tarantula.core.messages import join_messages
from tarantula.streams.adapters import has_news
from tarantula.streams.alerts.condition import AlertRule, RowScope, SilenceCondition, condition_fields, leaf_conditions
from tarantula.streams.alerts.config import AlertConfig, TypedLiteral
from tarantula.streams.alerts.evaluate import (
    ZERO,
    EvaluationContext,
    HistoryNeed,
    RowField,
    SeenValue,
    TruthValue,
    TypedLiterals,
    WatchMemory,
    advance_field,
    evaluate_rule,
    history_needs,
    silence_complete_at,
)
from tarantula.streams.alerts.reasons import firing_reasons
from tarantula.streams.history.levels import SECOND
from tarantula.streams.values.value import ValueParseError


class WatchFiring(NamedTuple):
    at: int
    why: str
    """Reasons, one sentence a line."""


@dataclass(frozen=True, slots=True)
class AlertTerms:
    """Rule of an alert with all parameters of its evaluation."""

    rule: AlertRule
    literals: TypedLiterals = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    """Unit of each field."""
    margin: Decimal = ZERO
    hold: int = 0
    """Time for which the condition must be true before it fires, microseconds."""
    pause: int = 0
    """Minimum time between two firings, microseconds."""
    at_first: bool = False
    """Whether it fires for first values too."""
    each_event: bool = False
    """Whether each event is judged separately, like entries of a feed: one does not end the condition of another."""


class AlertWatch:
    """Judges values and time, for one row or for all rows together."""

    def __init__(self, terms: AlertTerms, memory: WatchMemory) -> None:
        self.memory = memory
        self._terms = terms
        self._needs = history_needs(terms.rule.when)
        self._used_fields = frozenset(condition_fields(terms.rule.when))
        self._silences = [leaf for leaf in leaf_conditions(terms.rule.when) if isinstance(leaf, SilenceCondition)]

    @property
    def due(self) -> int | None:
        """Return when time alone may change the result (a silence or a hold ends); ``None`` if it cannot."""
        memory, ends = self.memory, list[int]()
        for leaf in self._silences:
            rows = memory.rows if leaf.field is not None and memory.rows else ("",)
            ends += [silence_complete_at(leaf, row, memory) for row in rows]
        if memory.armed and memory.true_since is not None:
            paused_to = 0 if memory.fired_at is None else memory.fired_at + self._terms.pause
            ends.append(max(memory.true_since + self._terms.hold, paused_to))
        return min((end for end in ends if end > memory.clock), default=None)

    def pass_time(self, to: int) -> list[WatchFiring]:
        """Judge the passing of time up to *to*; return the firings."""
        fired = list[WatchFiring]()
        while (due := self.due) is not None and due <= to:
            self.memory.clock = due
            fired += self._judge(replace(self._context(due), by_time=True), frozenset())
        self.memory.clock = max(self.memory.clock, to)
        return fired

    def start(self, now: int) -> list[WatchFiring]:
        """Start watching with the current state; fires at once only with `at_first`."""
        self.pass_time(now)
        self.memory.fired_at = None
        if self._terms.at_first:
            self.memory.armed, self.memory.true_since = True, None
        fired = self._judge(replace(self._context(now), by_time=True), frozenset())
        if not self._terms.at_first:
            self.memory.fired_at = None
            return []
        return fired

    def judge_values(self, at: int, values: Mapping[RowField, SeenValue], is_first: bool = False) -> list[WatchFiring]:
        """Judge the values of one moment; *is_first* if no value was known before."""
        values = {place: seen for place, seen in values.items() if not self._is_past(place, at)}
        if not values:
            return []
        moment = max(at, self.memory.clock)
        fired = self.pass_time(moment)
        self._arm_before(moment)
        fresh = self._remember(at, moment, values)
        context = self._context(moment, fresh)
        uncertain = fresh if is_first else frozenset(place for place in fresh if self._is_first(place))
        return fired + self._judge(context, context.uncertain | uncertain if uncertain else uncertain)

    def _is_past(self, place: RowField, at: int) -> bool:
        """Whether a later value is known already; entries of a feed all count, in any order."""
        row, key = place
        known = self.memory.rows.get(row, {}).get(key)
        return known is not None and known.at >= at and not self._terms.each_event

    def _remember(self, at: int, moment: int, values: Mapping[RowField, SeenValue]) -> frozenset[RowField]:
        self.memory.event_at = max(at, self.memory.event_at or at)
        fresh = {(row, key): seen for (row, key), seen in values.items() if key in self._used_fields}
        for (row, key), seen in fresh.items():
            known = self.memory.rows.setdefault(row, {})
            known[key] = advance_field(known.get(key), moment, seen, self._needs.get(key, HistoryNeed()))
            known[key].at = at
        return frozenset(fresh)

    def _arm_before(self, at: int) -> None:
        """Arm if the condition is false before the new values: a change ends, and a window moves on."""
        if self._terms.each_event or evaluate_rule(self._terms.rule, self._context(at)) is False:
            self.memory.armed, self.memory.true_since = True, None

    def _is_first(self, place: RowField) -> bool:
        row, key = place
        return self.memory.rows[row][key].before is None

    def _context(self, at: int, fresh: frozenset[RowField] = frozenset()) -> EvaluationContext:
        margin = ZERO if self.memory.armed else self._terms.margin
        stale = self._known_fields() - fresh if self._terms.each_event else frozenset[RowField]()
        return EvaluationContext(self.memory, at, self._terms.literals, fresh, stale, margin)

    def _known_fields(self) -> frozenset[RowField]:
        return frozenset((row, key) for row, known in self.memory.rows.items() for key in known)

    def _judge(self, context: EvaluationContext, uncertain: frozenset[RowField]) -> list[WatchFiring]:
        truth = evaluate_rule(self._terms.rule, context)
        memory = self.memory
        if truth is None:
            return []
        if not truth:
            memory.armed, memory.true_since = True, None
            return []
        memory.true_since = context.at if memory.true_since is None else memory.true_since
        if not memory.armed:
            return []
        if uncertain and not self._terms.at_first and not self._evaluate_without(context, uncertain):
            memory.armed = False
            return []
        return self._fire(context)

    def _evaluate_without(self, context: EvaluationContext, uncertain: frozenset[RowField]) -> TruthValue:
        """Evaluate with uncertain values as unknown."""
        return evaluate_rule(self._terms.rule, replace(context, uncertain=uncertain))

    def _fire(self, context: EvaluationContext) -> list[WatchFiring]:
        memory, terms = self.memory, self._terms
        assert memory.true_since is not None
        if context.at < memory.true_since + terms.hold:
            return []
        if memory.fired_at is not None and context.at < memory.fired_at + terms.pause:
            return []
        memory.armed, memory.fired_at = False, context.at
        return [WatchFiring(context.at, join_messages(firing_reasons(terms.rule, context, terms.units)))]


def terms_of(alert: Mapping[str, Any], source: Mapping[str, Any]) -> AlertTerms:
    """Return the terms of an alert from the configurations of alert and source; cached."""
    return terms_of_json(json.dumps(alert), json.dumps(source))


@lru_cache(maxsize=5000)
def terms_of_json(alert: str, source: str) -> AlertTerms:
    """Return the terms from JSON as stored in the database; cached."""
    return make_terms(AlertConfig.model_validate_json(alert), json.loads(source))


@lru_cache(maxsize=5000)
def has_recipients(alert: str) -> bool:
    """Whether an alert, given as stored JSON, has recipients."""
    return bool(json.loads(alert).get("notify"))


def make_terms(alert: AlertConfig, source: Mapping[str, Any]) -> AlertTerms:
    """Return the terms of an alert that need not be stored."""
    units = {field["key"]: field.get("unit", "") for field in source.get("fields", ())}
    literals = dict[tuple[str, str], SeenValue]()
    for key, literal in alert.understood.items():
        field, _, text = key.partition(" ")
        literals[field, text] = _literal_value(literal, units.get(field, ""), is_amount=text.startswith("by "))
        units[field] = units.get(field) or literal.unit
    return AlertTerms(
        rule=alert.condition,
        literals=literals,
        units=units,
        margin=_margin(alert, units),
        hold=(alert.hold or 0) * SECOND,
        pause=(alert.pause or 0) * SECOND,
        at_first=alert.at_first,
        each_event=has_news(source.get("adapter", "page"), source.get("options", {})),
    )


def _margin(alert: AlertConfig, units: Mapping[str, str]) -> Decimal:
    """Return the margin in the current unit of the first field."""
    for key, literal in alert.understood.items():
        with suppress(ValueParseError):
            return _convert_difference(alert.margin, literal, units.get(key.partition(" ")[0], ""))
    return alert.margin


def single_group(terms: AlertTerms) -> str | None:
    """Return the row under which the only state is stored; ``None`` if each row has its own."""
    rule = terms.rule
    if rule.rows == RowScope.ONE:
        return rule.row
    return "" if rule.rows == RowScope.ANY or terms.each_event or not condition_fields(rule.when) else None


def group_of_row(terms: AlertTerms, row: str) -> str | None:
    """Return the row under which the state of *row* is stored; ``None`` if the alert ignores the row."""
    group = single_group(terms)
    if terms.rule.rows == RowScope.ONE:
        return group if row == group else None
    return row if group is None else group


def _literal_value(literal: TypedLiteral, unit: str, *, is_amount: bool) -> SeenValue:
    """Return a literal in the current unit of the field."""
    if literal.number is None or not _has_other_unit(literal, unit):
        return SeenValue(literal.text, literal.number)
    try:
        number = (
            _convert_difference(literal.number, literal, unit)
            if is_amount
            else _converted(literal.number, literal.unit, unit)
        )
    except ValueParseError:
        return SeenValue(literal.text)
    return SeenValue(str(number), number)


def _convert_difference(amount: Decimal, literal: TypedLiteral, unit: str) -> Decimal:
    """Convert a difference of values to the current unit of the field (without the offset of the scale)."""
    if not _has_other_unit(literal, unit):
        return amount
    return _converted(amount, literal.unit, unit) - _converted(Decimal(0), literal.unit, unit)


def _has_other_unit(literal: TypedLiteral, unit: str) -> bool:
    return bool(literal.unit and unit) and literal.unit != unit


def _converted(number: Decimal, from_: str, to: str) -> Decimal:
    from tarantula.streams.values import convert_unit

    return convert_unit(number, from_, to)
