"""Writes a condition as people read it; `reading` gives the same condition back."""

from __future__ import annotations

from tarantula.core.times import format_duration
from tarantula.streams.alerts.condition import (
    All,
    Changed,
    Compare,
    Condition,
    Either,
    Not,
    Record,
    Rows,
    Rule,
    Silent,
)
from tarantula.streams.alerts.condition_text_part_tokens import BROKEN, ENDS, Token, is_word, quoted, split

RESERVED = ENDS | {"silent", "row", "any", "each"}
"""What is no field unless it stands in quotes."""


def written(rule: Rule) -> str:
    """Return a condition in words."""
    return _rows(rule) + _condition(rule.when)


def _rows(rule: Rule) -> str:
    if rule.rows == Rows.ANY:
        return "any row: "
    return f"row {quoted(rule.row)}: " if rule.rows == Rows.ONE else ""


def _condition(condition: Condition) -> str:
    if isinstance(condition, Not):
        return f"not {_within(condition.of, All, Either)}"
    if isinstance(condition, All):
        return " and ".join(_within(part, All, Either) for part in condition.of)
    if isinstance(condition, Either):
        return " or ".join(_within(part, Either) for part in condition.of)
    if isinstance(condition, Compare):
        return f"{_field(condition.field)} {condition.sign} {_value(condition.value)}"
    if isinstance(condition, Silent):
        field = f"{_field(condition.field)} " if condition.field else ""
        return f"{field}silent for {format_duration(condition.seconds)}"
    return _in_time(condition)


def _in_time(condition: Changed | Record) -> str:
    within = f" in {format_duration(condition.within)}" if condition.within else ""
    if isinstance(condition, Record):
        return f"{_field(condition.field)} is record {'high' if condition.high else 'low'}{within}"
    much = f"{condition.percent}%" if condition.percent else _value(condition.amount) if condition.amount else ""
    return f"{_field(condition.field)} {condition.way}{f' by {much}' if much else ''}{within}"


def _within(part: Condition, *wrapped: type[Condition]) -> str:
    text = _condition(part)
    return f"({text})" if isinstance(part, wrapped) else text


def _field(key: str) -> str:
    return quoted(key) if key in RESERVED else key


def _value(text: str) -> str:
    """Quote what would be read as something else."""
    tokens = split(text)
    is_plain = text == " ".join(text.split()) and bool(tokens) and all(map(_is_plain, tokens))
    return text if is_plain else quoted(text)


def _is_plain(token: Token) -> bool:
    if token.is_word:
        return token.text not in BROKEN and not is_word(token, "and", "or", "in")
    return token.is_sign("(") or token.is_sign(":")
