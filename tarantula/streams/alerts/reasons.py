"""Reasons of a firing: one sentence with values for each part that made the condition true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from tarantula.core.messages import Message
from tarantula.core.times import format_duration
from tarantula.streams.alerts.condition import (
    AlertCondition,
    AlertRule,
    AllCondition,
    AnyCondition,
    ChangeCondition,
    CompareCondition,
    ComparisonSign,
    LeafCondition,
    NotCondition,
    RecordCondition,
    SilenceCondition,
)
from tarantula.streams.alerts.evaluate import (
    EvaluationContext,
    FieldMemory,
    SeenValue,
    change_base,
    compare_values,
    evaluate_row,
    record_to_beat,
)

MAX_SHOWN_CHARS = 120
NEGATED_SIGNS = {
    ComparisonSign.EQUAL: ComparisonSign.OTHER,
    ComparisonSign.OTHER: ComparisonSign.EQUAL,
    ComparisonSign.LESS: ComparisonSign.AT_LEAST,
    ComparisonSign.AT_MOST: ComparisonSign.MORE,
    ComparisonSign.MORE: ComparisonSign.AT_MOST,
    ComparisonSign.AT_LEAST: ComparisonSign.LESS,
    ComparisonSign.CONTAINS: ComparisonSign.LACKS,
    ComparisonSign.LACKS: ComparisonSign.CONTAINS,
}


def firing_reasons(rule: AlertRule, context: EvaluationContext, units: Mapping[str, str]) -> list[str]:
    """Return the sentences that explain why a rule is true."""
    rows = [row for row in context.memory.rows or ("",) if evaluate_row(rule.when, row, context)]
    sentences = [sentence for row in rows for sentence in _sentences(rule.when, row, context, units, True)]
    return list(dict.fromkeys(sentences))


def _sentences(
    condition: AlertCondition, row: str, context: EvaluationContext, units: Mapping[str, str], wanted: bool
) -> Iterator[str]:
    """Yield a sentence for each part that made a condition true (or false, if not *wanted*)."""
    if isinstance(condition, NotCondition):
        yield from _sentences(condition.of, row, context, units, not wanted)
    elif isinstance(condition, AllCondition | AnyCondition):
        for part in condition.of:
            if evaluate_row(part, row, context, not wanted) is wanted:
                yield from _sentences(part, row, context, units, wanted)
    else:
        yield _leaf(condition, row, context, units.get(condition.field or "", ""), wanted)


def _leaf(leaf: LeafCondition, row: str, context: EvaluationContext, unit: str, wanted: bool) -> str:
    if isinstance(leaf, SilenceCondition):
        return _silent(leaf, row, wanted)
    known = context.field_memory(row, leaf.field)
    name = f"{leaf.field} ({row})" if row else leaf.field
    if known is None:
        return Message("Nothing is known of {name}.", name=name)
    if isinstance(leaf, CompareCondition):
        is_new = (row, leaf.field) in context.fresh
        return _compared(leaf, name, known, context, unit, wanted, is_new)
    if isinstance(leaf, RecordCondition):
        return _record(leaf, name, known, record_to_beat(leaf, known, context.at), unit, wanted)
    return _changed(leaf, name, change_base(leaf, known, context.at), known.now, unit, wanted)


def _silent(leaf: SilenceCondition, row: str, wanted: bool) -> str:
    time = format_duration(leaf.seconds)
    if leaf.field is not None:
        name = f"{leaf.field} ({row})" if row else leaf.field
        return (
            Message("{name} did not change for {time}.", name=name, time=time)
            if wanted
            else Message("{name} changed in the last {time}.", name=name, time=time)
        )
    return (
        Message("Nothing happened for {time}.", time=time)
        if wanted
        else Message("Something happened in the last {time}.", time=time)
    )


def _compared(
    leaf: CompareCondition,
    name: str,
    known: FieldMemory,
    context: EvaluationContext,
    unit: str,
    wanted: bool,
    is_new: bool,
) -> str:
    limit, now = context.literal(leaf.field, leaf.value), shown_value(known.now, unit)
    if not wanted and leaf.sign == ComparisonSign.MATCHES:
        return Message("{name} does not match {value}: it is {now}.", name=name, value=leaf.value, now=now)
    sign = leaf.sign if wanted else NEGATED_SIGNS[leaf.sign]
    if is_new and known.before is not None and compare_values(known.before, sign, limit) is False:
        return _became(name, sign, shown_value(limit, unit), shown_value(known.before, unit), now)
    return _is(name, sign, shown_value(limit, unit), now)


def _became(name: str, sign: ComparisonSign, limit: str, before: str, now: str) -> str:
    if sign == ComparisonSign.MORE:
        return Message(
            "{name} rose above {limit}: it was {before}, it is {now}.", name=name, limit=limit, before=before, now=now
        )
    if sign == ComparisonSign.AT_LEAST:
        return Message(
            "{name} rose to {limit} or more: it was {before}, it is {now}.",
            name=name,
            limit=limit,
            before=before,
            now=now,
        )
    if sign == ComparisonSign.LESS:
        return Message(
            "{name} fell below {limit}: it was {before}, it is {now}.", name=name, limit=limit, before=before, now=now
        )
    if sign == ComparisonSign.AT_MOST:
        return Message(
            "{name} fell to {limit} or less: it was {before}, it is {now}.",
            name=name,
            limit=limit,
            before=before,
            now=now,
        )
    if sign == ComparisonSign.EQUAL:
        return Message("{name} became {now}: it was {before}.", name=name, now=now, before=before)
    if sign == ComparisonSign.OTHER:
        return Message("{name} is no longer {before}: it is {now}.", name=name, before=before, now=now)
    return _is(name, sign, limit, now)


def _is(name: str, sign: ComparisonSign, limit: str, now: str) -> str:
    if sign == ComparisonSign.MORE:
        return Message("{name} is above {limit}: it is {now}.", name=name, limit=limit, now=now)
    if sign == ComparisonSign.AT_LEAST:
        return Message("{name} is {limit} or more: it is {now}.", name=name, limit=limit, now=now)
    if sign == ComparisonSign.LESS:
        return Message("{name} is below {limit}: it is {now}.", name=name, limit=limit, now=now)
    if sign == ComparisonSign.AT_MOST:
        return Message("{name} is {limit} or less: it is {now}.", name=name, limit=limit, now=now)
    if sign == ComparisonSign.EQUAL:
        return Message("{name} has the value {now}.", name=name, now=now)
    if sign == ComparisonSign.OTHER:
        return Message("{name} is not {limit}: it is {now}.", name=name, limit=limit, now=now)
    if sign == ComparisonSign.CONTAINS:
        return Message("{name} contains {limit}: it is {now}.", name=name, limit=limit, now=now)
    if sign == ComparisonSign.LACKS:
        return Message("{name} does not contain {limit}: it is {now}.", name=name, limit=limit, now=now)
    return Message("{name} matches {limit}: it is {now}.", name=name, limit=limit, now=now)


def _changed(leaf: ChangeCondition, name: str, base: SeenValue | None, now: SeenValue, unit: str, wanted: bool) -> str:
    before, after = shown_value(base, unit), shown_value(now, unit)
    if not wanted:
        return Message(
            "{name} did not change as much: it was {before}, it is {after}.", name=name, before=before, after=after
        )
    if base is None or base.number is None or now.number is None:
        return Message("{name} changed: it was {before}, it is {after}.", name=name, before=before, after=after)
    moved = now.number - base.number
    much = _percent(moved, base.number) if leaf.percent else shown_value(SeenValue(str(abs(moved)), abs(moved)), unit)
    if leaf.within:
        much = Message("{much} in {time}", much=much, time=format_duration(leaf.within))
    if moved > 0:
        return Message(
            "{name} rose by {much}: it was {before}, it is {after}.", name=name, much=much, before=before, after=after
        )
    return Message(
        "{name} fell by {much}: it was {before}, it is {after}.", name=name, much=much, before=before, after=after
    )


def _record(
    leaf: RecordCondition, name: str, known: FieldMemory, best: SeenValue | None, unit: str, wanted: bool
) -> str:
    now, before = shown_value(known.now, unit), shown_value(best, unit)
    time = format_duration(leaf.within) if leaf.within else ""
    if not wanted:
        return Message("{name} is no record: it is {now}.", name=name, now=now)
    if leaf.high:
        ever = Message(
            "{name} is higher than ever: it is {now}, and the highest before was {before}.",
            name=name,
            now=now,
            before=before,
        )
        return (
            Message(
                "{name} is the highest in {time}: it is {now}, and was {before} at most.",
                name=name,
                time=time,
                now=now,
                before=before,
            )
            if time
            else ever
        )
    ever = Message(
        "{name} is lower than ever: it is {now}, and the lowest before was {before}.", name=name, now=now, before=before
    )
    return (
        Message(
            "{name} is the lowest in {time}: it is {now}, and was {before} at least.",
            name=name,
            time=time,
            now=now,
            before=before,
        )
        if time
        else ever
    )


def shown_value(seen: SeenValue | None, unit: str) -> str:
    """Return a value with its unit; long texts are truncated."""
    if seen is None:
        return "–"
    if seen.number is not None:
        return f"{seen.text} {unit}".rstrip()
    text = " ".join(seen.text.split())
    return f"“{text}”" if len(text) <= MAX_SHOWN_CHARS else f"“{text[:MAX_SHOWN_CHARS]}…”"


def _percent(moved: Decimal, base: Decimal) -> str:
    share = f"{round(abs(moved / base) * 100, 1).normalize():f}" if base else "∞"
    return f"{share} %"
