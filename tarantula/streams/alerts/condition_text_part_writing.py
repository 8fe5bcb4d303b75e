"""Writes a condition as people read it; `reading` gives the same condition back."""

from __future__ import annotations

from tarantula.core.times import format_duration
from tarantula.streams.alerts.condition import (
    AlertCondition,
    AlertRule,
    AllCondition,
    AnyCondition,
    ChangeCondition,
    CompareCondition,
    NotCondition,
    RecordCondition,
    RowScope,
    SilenceCondition,
)
from tarantula.streams.alerts.condition_text_part_tokens import (
    JOINING_WORDS,
    UNCLOSED_QUOTES,
    ConditionToken,
    is_word,
    quote_text,
    tokenize,
)

RESERVED_WORDS = JOINING_WORDS | {"silent", "row", "any", "each"}
"""What is no field unless it stands in quotes."""


def format_rule(rule: AlertRule) -> str:
    """Return a condition in words."""
    return _rows(rule) + _condition(rule.when)


def _rows(rule: AlertRule) -> str:
    if rule.rows == RowScope.ANY:
        return "any row: "
    return f"row {quote_text(rule.row)}: " if rule.rows == RowScope.ONE else ""


def _condition(condition: AlertCondition) -> str:
    if isinstance(condition, NotCondition):
        return f"not {_within(condition.of, AllCondition, AnyCondition)}"
    if isinstance(condition, AllCondition):
        return " and ".join(_within(part, AllCondition, AnyCondition) for part in condition.of)
    if isinstance(condition, AnyCondition):
        return " or ".join(_within(part, AnyCondition) for part in condition.of)
    if isinstance(condition, CompareCondition):
        return f"{_field(condition.field)} {condition.sign} {_value(condition.value)}"
    if isinstance(condition, SilenceCondition):
        field = f"{_field(condition.field)} " if condition.field else ""
        return f"{field}silent for {format_duration(condition.seconds)}"
    return _in_time(condition)


def _in_time(condition: ChangeCondition | RecordCondition) -> str:
    within = f" in {format_duration(condition.within)}" if condition.within else ""
    if isinstance(condition, RecordCondition):
        return f"{_field(condition.field)} is record {'high' if condition.high else 'low'}{within}"
    much = f"{condition.percent}%" if condition.percent else _value(condition.amount) if condition.amount else ""
    return f"{_field(condition.field)} {condition.way}{f' by {much}' if much else ''}{within}"


def _within(part: AlertCondition, *wrapped: type[AlertCondition]) -> str:
    text = _condition(part)
    return f"({text})" if isinstance(part, wrapped) else text


def _field(key: str) -> str:
    return quote_text(key) if key in RESERVED_WORDS else key


def _value(text: str) -> str:
    """Quote what would be read as something else."""
    tokens = tokenize(text)
    is_plain = text == " ".join(text.split()) and bool(tokens) and all(map(_is_plain, tokens))
    return text if is_plain else quote_text(text)


def _is_plain(token: ConditionToken) -> bool:
    if token.is_word:
        return token.text not in UNCLOSED_QUOTES and not is_word(token, "and", "or", "in")
    return token.is_sign("(") or token.is_sign(":")
