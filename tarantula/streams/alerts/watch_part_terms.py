"""Makes of a stored alert, and of the source that it watches, what is judged by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from typing import Any

from tarantula.streams.alerts.condition import RowScope, condition_fields
from tarantula.streams.alerts.config_part_alert import AlertConfig, TypedLiteral
from tarantula.streams.alerts.memory import SeenValue
from tarantula.streams.alerts.memory_part_following import MICROSECONDS_PER_SECOND
from tarantula.streams.alerts.watch import AlertTerms
from tarantula.streams.values.value import ValueParseError


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
