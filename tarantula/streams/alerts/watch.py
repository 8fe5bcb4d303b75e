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

from tarantula.streams.alerts.condition import AlertRule, RowScope, SilenceCondition, condition_fields, leaf_conditions
from tarantula.streams.alerts.config import AlertConfig, TypedLiteral
from tarantula.streams.alerts.evaluate import (
    ZERO,
    EvaluationContext,
    RowField,
    TruthValue,
    TypedLiterals,
    evaluate_rule,
    silence_complete_at,
)
from tarantula.streams.alerts.memory import (
    MICROSECONDS_PER_SECOND,
    HistoryNeed,
    SeenValue,
    WatchMemory,
    advance_field,
    history_needs,
)
from tarantula.streams.alerts.reasons import firing_reasons
from tarantula.streams.values.value import ValueParseError


class WatchFiring(NamedTuple):
    """That it fired."""

    at: int
    why: str
    """A sentence for each part of the condition that made it true, one a line."""


@dataclass(frozen=True, slots=True)
class AlertTerms:
    """What is watched, and on which terms."""

    rule: AlertRule
    meanings: TypedLiterals = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    """In which the values of a field are."""
    margin: Decimal = ZERO
    hold: int = 0
    """Microseconds for which it has to be true before it fires."""
    pause: int = 0
    """Microseconds between two firings, at least."""
    at_first: bool = False
    """Whether it fires also for first values."""
    each_event: bool = False
    """Whether each event is judged by itself, as the entries of a feed: one does not end what another began."""


class AlertWatch:
    """Judges what comes, for one row or for all of them together."""

    def __init__(self, terms: AlertTerms, memory: WatchMemory) -> None:
        self.memory = memory
        self._terms = terms
        self._needs = history_needs(terms.rule.when)
        self._fields = frozenset(condition_fields(terms.rule.when))
        self._silences = [leaf for leaf in leaf_conditions(terms.rule.when) if isinstance(leaf, SilenceCondition)]

    @property
    def due(self) -> int | None:
        """When time alone may make it fire, or end a silence that is counted; nothing if it never does."""
        memory, ends = self.memory, list[int]()
        for leaf in self._silences:
            rows = memory.rows if leaf.field is not None and memory.rows else ("",)
            ends += [silence_complete_at(leaf, row, memory) for row in rows]
        if memory.armed and memory.true_since is not None:
            paused_to = 0 if memory.fired_at is None else memory.fired_at + self._terms.pause
            ends.append(max(memory.true_since + self._terms.hold, paused_to))
        return min((end for end in ends if end > memory.clock), default=None)

    def pass_time(self, to: int) -> list[WatchFiring]:
        """Judge what time alone brings, up to a moment."""
        fired = list[WatchFiring]()
        while (due := self.due) is not None and due <= to:
            self.memory.clock = due
            fired += self._judge(replace(self._look(due), by_time=True), frozenset())
        self.memory.clock = max(self.memory.clock, to)
        return fired

    def begin(self, now: int) -> list[WatchFiring]:
        """Begin to watch with what is known: it fires at once only where that is asked for."""
        self.pass_time(now)
        self.memory.fired_at = None
        if self._terms.at_first:
            self.memory.armed, self.memory.true_since = True, None
        fired = self._judge(replace(self._look(now), by_time=True), frozenset())
        if not self._terms.at_first:
            self.memory.fired_at = None
            return []
        return fired

    def take(self, at: int, values: Mapping[RowField, SeenValue], is_first: bool = False) -> list[WatchFiring]:
        """Judge what came at a moment; *is_first* if nothing was known before, however many values came at once."""
        values = {place: seen for place, seen in values.items() if not self._is_past(place, at)}
        if not values:
            return []
        moment = max(at, self.memory.clock)
        fired = self.pass_time(moment)
        self._arm_before(moment)
        fresh = self._follow(at, moment, values)
        look = self._look(moment, fresh)
        unsure = fresh if is_first else frozenset(place for place in fresh if self._is_first(place))
        return fired + self._judge(look, look.unsure | unsure if unsure else unsure)

    def _is_past(self, place: RowField, at: int) -> bool:
        """Whether something later is known already; of entries of a feed each counts, whenever it comes."""
        row, key = place
        known = self.memory.rows.get(row, {}).get(key)
        return known is not None and known.at >= at and not self._terms.each_event

    def _follow(self, at: int, moment: int, values: Mapping[RowField, SeenValue]) -> frozenset[RowField]:
        self.memory.event_at = max(at, self.memory.event_at or at)
        fresh = {(row, key): seen for (row, key), seen in values.items() if key in self._fields}
        for (row, key), seen in fresh.items():
            known = self.memory.rows.setdefault(row, {})
            known[key] = advance_field(known.get(key), moment, seen, self._needs.get(key, HistoryNeed()))
            known[key].at = at
        return frozenset(fresh)

    def _arm_before(self, at: int) -> None:
        """Arm if it is false without what comes: a change is over when the next one comes, a window has moved on."""
        if self._terms.each_event or evaluate_rule(self._terms.rule, self._look(at)) is False:
            self.memory.armed, self.memory.true_since = True, None

    def _is_first(self, place: RowField) -> bool:
        row, key = place
        return self.memory.rows[row][key].before is None

    def _look(self, at: int, fresh: frozenset[RowField] = frozenset()) -> EvaluationContext:
        margin = ZERO if self.memory.armed else self._terms.margin
        stale = self._known() - fresh if self._terms.each_event else frozenset[RowField]()
        return EvaluationContext(self.memory, at, self._terms.meanings, fresh, stale, margin)

    def _known(self) -> frozenset[RowField]:
        return frozenset((row, key) for row, known in self.memory.rows.items() for key in known)

    def _judge(self, look: EvaluationContext, unsure: frozenset[RowField]) -> list[WatchFiring]:
        found = evaluate_rule(self._terms.rule, look)
        memory = self.memory
        if found is None:
            return []
        if not found:
            memory.armed, memory.true_since = True, None
            return []
        memory.true_since = look.at if memory.true_since is None else memory.true_since
        if not memory.armed:
            return []
        if unsure and not self._terms.at_first and not self._without(look, unsure):
            memory.armed = False
            return []
        return self._fire(look)

    def _without(self, look: EvaluationContext, unsure: frozenset[RowField]) -> TruthValue:
        """Say whether it would be true without what is not to count."""
        return evaluate_rule(self._terms.rule, replace(look, unsure=unsure))

    def _fire(self, look: EvaluationContext) -> list[WatchFiring]:
        memory, terms = self.memory, self._terms
        assert memory.true_since is not None
        if look.at < memory.true_since + terms.hold:
            return []
        if memory.fired_at is not None and look.at < memory.fired_at + terms.pause:
            return []
        memory.armed, memory.fired_at = False, look.at
        return [WatchFiring(look.at, "\n".join(firing_reasons(terms.rule, look, terms.units)))]


def terms_of(alert: Mapping[str, Any], source: Mapping[str, Any]) -> AlertTerms:
    """Return the terms of an alert, by its configuration and that of its source; they are read once."""
    return terms_of_json(json.dumps(alert), json.dumps(source))


@lru_cache(maxsize=5000)
def terms_of_json(alert: str, source: str) -> AlertTerms:
    """Return the same by what the database has."""
    return make_terms(AlertConfig.model_validate_json(alert), json.loads(source))


@lru_cache(maxsize=5000)
def has_recipients(alert: str) -> bool:
    """Whether somebody is told when it fires, by what the database has."""
    return bool(json.loads(alert).get("notify"))


def make_terms(alert: AlertConfig, source: Mapping[str, Any]) -> AlertTerms:
    """Return the terms of an alert that need not be stored."""
    units = {field["key"]: field.get("unit", "") for field in source.get("fields", ())}
    meanings = dict[tuple[str, str], SeenValue]()
    for key, meant in alert.understood.items():
        field, _, text = key.partition(" ")
        meanings[field, text] = _seen(meant, units.get(field, ""), is_amount=text.startswith("by "))
        units[field] = units.get(field) or meant.unit
    return AlertTerms(
        rule=alert.condition,
        meanings=meanings,
        units=units,
        margin=_margin(alert, units),
        hold=(alert.hold or 0) * MICROSECONDS_PER_SECOND,
        pause=(alert.pause or 0) * MICROSECONDS_PER_SECOND,
        at_first=alert.at_first,
        each_event=_is_news(source),
    )


def _margin(alert: AlertConfig, units: Mapping[str, str]) -> Decimal:
    """Return the margin in the unit that the first field of the condition has by now."""
    for key, meant in alert.understood.items():
        with suppress(ValueParseError):
            return _stretched(alert.margin, meant, units.get(key.partition(" ")[0], ""))
    return alert.margin


def single_group(terms: AlertTerms) -> str | None:
    """Return the one name under which everything is remembered; nothing if each row has its own."""
    rule = terms.rule
    if rule.rows == RowScope.ONE:
        return rule.row
    return "" if rule.rows == RowScope.ANY or terms.each_event or not condition_fields(rule.when) else None


def group_of_row(terms: AlertTerms, row: str) -> str | None:
    """Return under which name what a row does is remembered; nothing if the alert does not look at it."""
    group = single_group(terms)
    if terms.rule.rows == RowScope.ONE:
        return group if row == group else None
    return row if group is None else group


def _is_news(source: Mapping[str, Any]) -> bool:
    """Whether each row of a source is an event of its own, as an entry of a feed, and none is followed."""
    adapter, options = source.get("adapter", "page"), source.get("options", {})
    if adapter in ("csv", "ical"):
        return bool(options.get("rows") == "news")
    has_rows = adapter == "blocks" or (adapter in ("json", "xml") and bool(options.get("rows")))
    return adapter == "feed" or (has_rows and not options.get("key"))


def _seen(meant: TypedLiteral, unit: str, *, is_amount: bool) -> SeenValue:
    """Return a meaning in the unit that the field has by now."""
    if meant.number is None or not _is_other(meant, unit):
        return SeenValue(meant.text, meant.number)
    try:
        number = _stretched(meant.number, meant, unit) if is_amount else _converted(meant.number, meant.unit, unit)
    except ValueParseError:
        return SeenValue(meant.text)
    return SeenValue(str(number), number)


def _stretched(amount: Decimal, meant: TypedLiteral, unit: str) -> Decimal:
    """Return by how much values differ, in the unit that the field has by now: of ten degrees, not the tenth degree."""
    if not _is_other(meant, unit):
        return amount
    return _converted(amount, meant.unit, unit) - _converted(Decimal(0), meant.unit, unit)


def _is_other(meant: TypedLiteral, unit: str) -> bool:
    return bool(meant.unit and unit) and meant.unit != unit


def _converted(number: Decimal, from_: str, to: str) -> Decimal:
    from tarantula.streams.values import convert_unit

    return convert_unit(number, from_, to)
