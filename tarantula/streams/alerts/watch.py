"""An alert at work: values and time go in, and it says when it fires. It knows no database and no clock.

It fires once when its condition becomes true, and may fire again after it was false. What is not known is
neither: it does not arm, and it does not fire. First values arm or disarm, and do not fire unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

from tarantula.streams.alerts.condition import AlertRule, SilenceCondition, condition_fields, leaf_conditions
from tarantula.streams.alerts.evaluate import (
    ZERO,
    EvaluationContext,
    RowField,
    TruthValue,
    TypedLiterals,
    evaluate_rule,
    silence_complete_at,
)
from tarantula.streams.alerts.memory import SeenValue, WatchMemory
from tarantula.streams.alerts.memory_part_following import HistoryNeed, advance_field, history_needs
from tarantula.streams.alerts.reasons import firing_reasons


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
